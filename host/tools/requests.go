package tools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// prepareTimeout bounds the time in which a third-party tool lists the permissions of a call.
const prepareTimeout = 10 * time.Second

// Requests asks the tool for the permissions that a call requires; the default is one for its id. prepared is data of a compiled-in tool for
// Execute.
func (t *Tool) Requests(ctx context.Context, log *slog.Logger, call *sdk.ToolCall) (list []sdk.PermissionRequest, prepared any, err error) {
	p, ok := t.Tool.(sdk.ToolPreparer)
	if !ok {
		return []sdk.PermissionRequest{t.ownRequest()}, nil, nil
	}
	prepare := func(ctx context.Context) ([]sdk.PermissionRequest, error) { return p.Prepare(ctx, call) }
	if t.builtin() {
		list, err = hooks.RecoverPanic(ctx, log, prepare)
		prepared = call.Prepared
	} else {
		list, err = hooks.WithDeadline(ctx, log, prepareTimeout, prepare)
	}
	if errors.Is(err, hooks.ErrPanic) || errors.Is(err, hooks.ErrNoAnswer) {
		err = fmt.Errorf("tool %s: %w", call.Tool, err)
	}
	if err == nil && !t.builtin() {
		list = t.limit(list)
	}
	return list, prepared, err
}

func (t *Tool) ownRequest() sdk.PermissionRequest {
	return sdk.PermissionRequest{Permission: t.Def.ID, Patterns: []string{"*"}, Always: []string{"*"}}
}

// limit adds to the requests of a third-party tool: it always requires permission for its id.
func (t *Tool) limit(list []sdk.PermissionRequest) []sdk.PermissionRequest {
	if slices.ContainsFunc(list, func(r sdk.PermissionRequest) bool { return r.Permission == t.Def.ID }) {
		return list
	}
	return append([]sdk.PermissionRequest{t.ownRequest()}, list...)
}

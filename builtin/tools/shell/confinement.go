package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/sdk"
)

// confinement completes the requests of a call: it sets in each whether the command runs confined. It adds a request for permission
// to run unconfined if the call asks for it or the project cannot be confined.
func (t *bash) confinement(ctx context.Context, call *sdk.ToolCall, args *bashArgs, requests []sdk.PermissionRequest) ([]sdk.PermissionRequest, error) {
	err := t.box.open(ctx)
	if err != nil && !free(err) {
		return nil, err
	}
	text, asks := "confined: writes only the project, its own temporary directory and caches; reads no secrets", false
	var conflict *confine.ConflictError
	switch {
	case errors.As(err, &conflict):
		text, asks = fmt.Sprintf("NOT confined: the project contains %s, which confined commands must not read", conflict.Hidden), true
	case err != nil:
		text = "NOT confined: " + err.Error()
	case args.Unconfined:
		text = "NOT confined: the model asks for it"
	default:
		call.Prepared = confinedCall{}
	}
	if asks || args.Unconfined {
		requests = append(requests, unconfinedRequest(args))
	}
	for i := range requests {
		requests[i].Metadata["sandbox"] = text
	}
	return together(requests), nil
}

// together reverses requests, so that the widest comes first and one question covers them: the metadata of each tells what those after it are
// about.
func together(requests []sdk.PermissionRequest) []sdk.PermissionRequest {
	slices.Reverse(requests)
	agreed, covers, verbatim := new(bool), sdk.Object{}, any(nil)
	for i := range slices.Backward(requests) {
		r := &requests[i]
		if r.Agreed = agreed; len(covers) > 0 {
			r.Metadata["covers"] = maps.Clone(covers)
		}
		covers[r.Permission] = r.Patterns
		if verbatim = cmp.Or(r.Metadata["verbatim"], verbatim); verbatim != nil {
			r.Metadata["verbatim"] = verbatim
		}
	}
	return requests
}

// unconfinedRequest returns the request for permission to run the command outside the sandbox. "Always" applies to exactly this text, if a
// pattern can express it.
func unconfinedRequest(args *bashArgs) sdk.PermissionRequest {
	r := sdk.PermissionRequest{
		Permission: sdk.PermissionUnconfined, Patterns: []string{args.Command},
		Metadata: sdk.Object{"command": args.Command, "description": args.Description},
	}
	if !strings.ContainsAny(args.Command, `*?\`) {
		r.Always = []string{args.Command}
	}
	return r
}

package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
)

// call calls a method of the process on behalf of a caller. params returns its parameters for the token of the call.
func (s *supervisor) call(ctx context.Context, on ability.Caller, method string, params func(token string) any, notify func(*note) error) ([]byte, error) {
	in, err := s.instance(ctx)
	if err != nil {
		return nil, err
	}
	ctx, token, done := in.calls.begin(ctx, runningCall{Caller: on})
	defer done()
	result, err := in.api.call(ctx, method, params(token), notify)
	if f, ok := errors.AsType[*failure](err); ok && f.refused {
		return nil, &sdk.Refusal{Halt: f.halt, Reason: f.message, By: "plugin " + s.Description.Name}
	}
	return result, in.explain(err)
}

// RunTool runs a call of tool n in the process.
func (s *supervisor) RunTool(ctx context.Context, n int, call *sdk.ToolCall, body []byte) ([]byte, error) {
	on := ability.Caller{SessionID: call.SessionID, Tool: call.Host}
	result, err := s.call(ctx, on, "tool", func(token string) any {
		return toolParams{uint32(n), body, token, timeLeft(ctx)}
	}, func(progress *note) error {
		if s.Broker == nil || call.Host == nil {
			return nil
		}
		if body, err := json.Marshal(progress); err == nil {
			s.Broker.Do(ctx, on, "progress", body) // it limits the rate
		}
		return nil
	})
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: the tool %s ended without a result", sdk.ErrWire, s.Description.Tools[n].ID)
	}
	return result, err
}

// PrepareTool asks the process which permissions a call of tool n requires.
func (s *supervisor) PrepareTool(ctx context.Context, n int, call *sdk.ToolCall, body []byte) ([]byte, error) {
	requests, err := s.call(ctx, ability.Caller{SessionID: call.SessionID}, "prepare", func(token string) any {
		return prepareParams{uint32(n), body, token, timeLeft(ctx)}
	}, nil)
	if err == nil && len(requests) == 0 { // the call must not run without permission
		err = fmt.Errorf("%w: the tool %s returned no permissions", sdk.ErrWire, s.Description.Tools[n].ID)
	}
	return requests, err
}

// Auth calls a sign-in method in the process.
func (s *supervisor) Auth(ctx context.Context, request []byte, user sdk.AuthUser) ([]byte, error) {
	return s.call(ctx, ability.Caller{User: user}, "auth", func(token string) any {
		return authParams{request, token, timeLeft(ctx)}
	}, nil)
}

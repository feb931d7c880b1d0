package interceptor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// chain contains the interceptors of a server at a hook point. For the engine they are one hook, so that a failed mutation also
// reverts the previous ones.
type chain struct {
	server *Server
	point  *interception
	specs  []Spec // in order
}

var _ sdk.RemoteHandler = (*chain)(nil)

// refused is the blocking verdict of validations.
type refused struct{ reason string }

// Error returns the names of the interceptors and their reasons.
func (r *refused) Error() string { return r.reason }

// HandleRemote calls the interceptors: for a request first the mutations, for a response first the validations.
func (c *chain) HandleRemote(ctx context.Context, call *sdk.RemoteCall) (sdk.Answer, error) {
	payload, err := c.point.payload(call)
	if err != nil || payload == nil {
		return sdk.Answer{}, err
	}
	after := payload
	if c.point.phase == phaseResponse {
		err = c.validate(ctx, call, payload)
	}
	if err == nil {
		after, err = c.mutate(ctx, call, payload)
	}
	if err == nil && c.point.phase == phaseRequest {
		err = c.validate(ctx, call, after)
	}
	if no, ok := errors.AsType[*refused](err); ok {
		return c.point.block(no.reason)
	}
	if err != nil {
		return sdk.Answer{}, err
	}
	if c.point.changes == nil || bytes.Equal(payload, after) {
		return sdk.Answer{}, nil
	}
	changes, err := c.point.changes(call, after)
	if err != nil {
		return sdk.Answer{}, fmt.Errorf("the interceptors of MCP server %q returned an invalid payload: %w", c.server.Name, err)
	}
	return sdk.Answer{Changes: changes}, nil
}

// mutate calls the mutations one after the other, each with the payload of the previous one.
func (c *chain) mutate(ctx context.Context, call *sdk.RemoteCall, payload json.RawMessage) (json.RawMessage, error) {
	for n := range c.specs {
		i := &c.specs[n]
		if i.Type != mutation {
			continue
		}
		changed, err := invoke(ctx, c, call, i, payload, decodeMutation)
		if err != nil {
			return nil, err
		}
		switch {
		case changed == nil:
		case i.Audit: // without the payload, which may contain secrets
			c.server.Logger.Info("an interceptor would have changed the payload", "server", c.server.Name, "interceptor", i.Name, "event", c.point.event)
		default:
			payload = changed
		}
	}
	return payload, nil
}

// validate calls the validations in parallel and joins their refusals.
func (c *chain) validate(ctx context.Context, call *sdk.RemoteCall, payload json.RawMessage) error {
	verdicts := make([]verdict, len(c.specs))
	problems := make([]error, len(c.specs))
	var running sync.WaitGroup
	for n := range c.specs {
		if i := &c.specs[n]; i.Type == validation {
			running.Go(func() { verdicts[n], problems[n] = c.judge(ctx, call, i, payload) }) // bounded by ctx, waited for below
		}
	}
	running.Wait()
	var reasons []string
	for n, v := range verdicts {
		if v.blocks {
			reasons = append(reasons, c.specs[n].Name+": "+v.reason)
		}
	}
	if len(reasons) > 0 {
		return &refused{strings.Join(reasons, "; ")}
	}
	return errors.Join(problems...)
}

func (c *chain) judge(ctx context.Context, call *sdk.RemoteCall, i *Spec, payload json.RawMessage) (verdict, error) {
	v, err := invoke(ctx, c, call, i, payload, decodeValidation)
	switch {
	case v.blocks && i.Audit:
		c.server.Logger.Info("an interceptor would have refused", "server", c.server.Name, "interceptor", i.Name, "reason", v.reason)
		return verdict{}, nil
	case !v.blocks && v.reason != "":
		c.server.Logger.Info("an interceptor remarks", "server", c.server.Name, "interceptor", i.Name, "remark", v.reason)
	}
	return v, err
}

// mustNotFail reports whether the failure of one of the interceptors cannot be ignored.
func (c *chain) mustNotFail() bool {
	return slices.ContainsFunc(c.specs, func(i Spec) bool { return !i.FailOpen && !i.Audit })
}

// invoke calls an interceptor and decodes its answer, which is the zero value after a failure. It logs failures that have no effect
// instead of returning them.
func invoke[T any](ctx context.Context, c *chain, call *sdk.RemoteCall, i *Spec, payload json.RawMessage, decode func(json.RawMessage) (T, error)) (out T, err error) {
	raw, err := c.server.Invoke(ctx, call, Invocation{i.Name, c.point.event, c.point.phase, payload})
	if err == nil {
		out, err = decode(raw)
	}
	switch {
	case err != nil && (i.FailOpen || i.Audit):
		c.server.Logger.Warn("failed interceptor skipped", "server", c.server.Name, "interceptor", i.Name, "err", err)
		return out, nil
	case err != nil:
		return out, fmt.Errorf("interceptor %q: %w", i.Name, err)
	}
	return out, nil
}

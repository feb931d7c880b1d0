package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// chain is the interceptors of a server at one of our hook points. To the engine they are one hook, so that a mutation that fails
// takes back those before it.
type chain struct {
	plugin      *Plugin
	point       *interception
	mutations   []Interceptor // in order
	validations []Interceptor
}

var _ sdk.RemoteHandler = (*chain)(nil)

// refused is the verdict of a validation that blocks.
type refused struct{ reason string }

// Error returns who refused and why.
func (r *refused) Error() string { return r.reason }

// HandleRemote calls the interceptors. A request is changed first and then judged, a response the other way round.
func (c *chain) HandleRemote(ctx context.Context, call *sdk.RemoteCall) (sdk.Answer, error) {
	payload, err := c.point.payload(c.plugin, call)
	if err != nil || payload == nil {
		return sdk.Answer{}, err
	}
	in := invocation{plugin: c.plugin, event: c.point.event, phase: c.point.phase, session: sessionOf(call.Input)}
	after := payload
	steps := []func() error{
		func() (err error) { after, err = c.mutate(ctx, &in, payload); return err },
		func() error { return c.validate(ctx, &in, after) },
	}
	if c.point.phase == phaseResponse {
		steps[0], steps[1] = steps[1], steps[0]
	}
	for _, step := range steps {
		var no *refused
		switch err := step(); {
		case errors.As(err, &no):
			return c.point.block(no.reason)
		case err != nil:
			return sdk.Answer{}, err
		}
	}
	if c.point.changes == nil || sameBytes(payload, after) {
		return sdk.Answer{}, nil
	}
	changes, err := c.point.changes(call, payload, after)
	if err != nil {
		return sdk.Answer{}, fmt.Errorf("what the interceptors of MCP server %q made of it does not fit: %w", c.plugin.server.Name, err)
	}
	return sdk.Answer{Changes: changes}, nil
}

// mutate calls the mutations one after the other, each with what the one before it made.
func (c *chain) mutate(ctx context.Context, in *invocation, payload json.RawMessage) (json.RawMessage, error) {
	for n := range c.mutations {
		i := &c.mutations[n]
		raw, err := in.invoke(ctx, i.Name, payload)
		var changed json.RawMessage
		if err == nil {
			changed, err = decodeMutation(raw)
		}
		switch {
		case err != nil && (i.FailOpen || i.Audit):
			c.plugin.logger.Warn("an interceptor failed and is passed over", "server", c.plugin.server.Name, "interceptor", i.Name, "err", err)
		case err != nil:
			return nil, fmt.Errorf("interceptor %q: %w", i.Name, err)
		case changed != nil && !i.Audit:
			payload = changed
		}
	}
	return payload, nil
}

// validate calls the validations side by side and gathers what they refuse.
func (c *chain) validate(ctx context.Context, in *invocation, payload json.RawMessage) error {
	verdicts := make([]verdict, len(c.validations))
	problems := make([]error, len(c.validations))
	var running sync.WaitGroup
	for n := range c.validations {
		one := func() { verdicts[n], problems[n] = c.judge(ctx, in, &c.validations[n], payload) }
		if n == len(c.validations)-1 {
			one() // the last one needs no goroutine
			break
		}
		running.Go(one) // bounded by ctx, waited for below
	}
	running.Wait()
	var reasons []string
	for n, v := range verdicts {
		if v.blocks {
			reasons = append(reasons, c.validations[n].Name+": "+v.reason)
		}
	}
	if len(reasons) > 0 {
		return &refused{strings.Join(reasons, "; ")}
	}
	return errors.Join(problems...)
}

func (c *chain) judge(ctx context.Context, in *invocation, i *Interceptor, payload json.RawMessage) (verdict, error) {
	raw, err := in.invoke(ctx, i.Name, payload)
	var v verdict
	if err == nil {
		v, err = decodeValidation(raw)
	}
	switch {
	case err != nil && (i.FailOpen || i.Audit):
		c.plugin.logger.Warn("an interceptor failed and is passed over", "server", c.plugin.server.Name, "interceptor", i.Name, "err", err)
		return verdict{}, nil
	case err != nil:
		return verdict{}, fmt.Errorf("interceptor %q: %w", i.Name, err)
	case v.blocks && i.Audit:
		c.plugin.logger.Info("an interceptor would have refused", "server", c.plugin.server.Name, "interceptor", i.Name, "reason", v.reason)
		return verdict{}, nil
	case !v.blocks && v.reason != "":
		c.plugin.logger.Info("an interceptor remarks", "server", c.plugin.server.Name, "interceptor", i.Name, "remark", v.reason)
	}
	return v, nil
}

// mustNotFail reports whether the failure of one of the interceptors must not be passed over.
func (c *chain) mustNotFail() bool {
	for _, list := range [][]Interceptor{c.mutations, c.validations} {
		for _, i := range list {
			if !i.FailOpen && !i.Audit {
				return true
			}
		}
	}
	return false
}

// invocation is what the calls of one event have in common.
type invocation struct {
	plugin       *Plugin
	event, phase string
	session      string
}

// invoke calls one interceptor. Interceptors have no effects of their own, so one whose connection broke is called again.
func (in *invocation) invoke(ctx context.Context, name string, payload json.RawMessage) (json.RawMessage, error) {
	p := in.plugin
	limit := p.server.timeout()
	left := limit
	if end, ok := ctx.Deadline(); ok {
		left = min(limit, time.Until(end))
	}
	params := map[string]any{
		"name": name, "event": in.event, "phase": in.phase, "payload": payload, "timeoutMs": max(left.Milliseconds(), 1),
		"context": map[string]any{"sessionId": in.session, "timestamp": time.Now().UTC().Format(time.RFC3339Nano)},
	}
	var raw json.RawMessage
	err := p.ask(ctx, true, func(c *conn) (err error) {
		if err := p.mayCall(c, "interceptor", name); err != nil {
			return err
		}
		raw, err = c.raw(ctx, &call{session: in.session}, limit, "interceptor/invoke", params)
		return err
	})
	return raw, err
}

// sessionOf finds the session in the input of a hook.
func sessionOf(input json.RawMessage) string {
	var in struct {
		SessionID string `json:"sessionID"`
	}
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	return in.SessionID
}

func sameBytes(a, b json.RawMessage) bool { return string(a) == string(b) }

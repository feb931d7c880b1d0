package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// pipe is a carrier as small as one can be: what goes to the guest and comes back is bytes, and the guest is in the same process. It
// shows that the wire's JSON loses nothing, whatever a real carrier does with it.
type pipe struct {
	description sdk.Description
	guest       *guest.Guest
	broker      *ability.Broker
}

func openPipe(t *testing.T, c Case) sdk.Plugin {
	return &pipe{description: c.Description, guest: guest.New(conformance.New(sdk.CarrierProcess)), broker: brokerOf(t, c)}
}

// brokerOf returns a broker that grants what the case's description asks for.
func brokerOf(t *testing.T, c Case) *ability.Broker {
	return ability.New(ability.Options{
		Plugin: c.Description.Name, Grants: c.Description.Capabilities, DataDir: t.TempDir(),
		Secret: func(name string) (string, bool) { value, ok := c.Secrets[name]; return value, ok },
	})
}

func (p *pipe) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: p.description.Name, Version: p.description.Version, Carrier: sdk.CarrierProcess}
}

func (p *pipe) Start(ctx context.Context, h sdk.Host) error {
	p.broker.Bind(h)
	req := guest.StartRequest{Options: h.Options(), Project: h.Project()}
	for _, d := range p.description.Hooks {
		hook, err := hookpoint.Hook(&d, "hook", nil)
		if err != nil {
			return err
		}
		req.Hooks = append(req.Hooks, guest.HookRef{Point: hook.Point, Name: hook.Name})
	}
	for _, d := range p.description.Tools {
		req.Tools = append(req.Tools, d.ID)
	}
	raw, err := json.Marshal(req)
	if err != nil {
		return err
	}
	var arrived guest.StartRequest
	if err := json.Unmarshal(raw, &arrived); err != nil {
		return err
	}
	return p.guest.Start(ctx, &arrived, guest.NewHost(&arrived, slog.New(slog.DiscardHandler), p.caller))
}

func (p *pipe) Close(ctx context.Context) error { return p.broker.Close(ctx) }

// callerKey is under which a context holds the ability.Caller of the call that is answered.
type callerKey struct{}

func (p *pipe) caller(ctx context.Context, op string, request []byte) (guest.Status, []byte, error) {
	c, _ := ctx.Value(callerKey{}).(ability.Caller)
	status, answer := p.broker.Do(ctx, c, op, request)
	return guest.Status(status), answer, nil
}

// lost returns an error as it comes over a wire: its text, or that the time is over.
func lost(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.New(err.Error())
}

func (p *pipe) Hooks() []sdk.Hook {
	var out []sdk.Hook
	for i, d := range p.description.Hooks {
		hook, err := hookpoint.Hook(&d, "hook", pipeHook{p, i})
		if err == nil {
			out = append(out, hook)
		}
	}
	return out
}

type pipeHook struct {
	pipe *pipe
	n    int
}

func (h pipeHook) HandleRemote(ctx context.Context, call *sdk.RemoteCall) (sdk.Answer, error) {
	raw, err := json.Marshal(guest.HookRequest{Input: call.Input, Value: call.Value})
	if err != nil {
		return sdk.Answer{}, err
	}
	answer, err := h.pipe.guest.Hook(ctx, h.n, raw)
	if err != nil {
		return sdk.Answer{}, lost(ctx, err)
	}
	var arrived sdk.Answer
	if raw, err = value.AppendJSON(nil, answer); err == nil {
		err = json.Unmarshal(raw, &arrived)
	}
	return arrived, err
}

func (p *pipe) Tools() []sdk.Tool {
	var out []sdk.Tool
	for i, d := range p.description.Tools {
		out = append(out, &pipeTool{p, i, d})
	}
	return out
}

type pipeTool struct {
	pipe        *pipe
	n           int
	description sdk.ToolDescription
}

func (t *pipeTool) Definition() sdk.ToolDefinition { return t.description.ToolDefinition }
func (t *pipeTool) Permission() string {
	if t.description.Permission != "" {
		return t.description.Permission
	}
	return t.description.ID
}

func (t *pipeTool) Deadline() time.Duration {
	if t.description.TimeoutMS > 0 {
		return time.Duration(t.description.TimeoutMS) * time.Millisecond
	}
	return sdk.DefaultToolTimeout
}

func (t *pipeTool) Prepare(ctx context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	if !t.description.Prepares {
		return []sdk.PermissionRequest{{Permission: t.Permission(), Patterns: []string{"*"}, Always: []string{"*"}}}, nil
	}
	r, err := t.pipe.guest.Prepare(ctx, t.n, t.copied(call))
	if err != nil {
		return nil, lost(ctx, err)
	}
	return r.Requests, nil
}

func (t *pipeTool) Execute(ctx context.Context, call *sdk.ToolCall) (result *sdk.ToolResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	ctx = context.WithValue(ctx, callerKey{}, ability.Caller{SessionID: call.SessionID, Tool: call.Host})
	result, err = t.pipe.guest.Tool(ctx, t.n, t.copied(call))
	if err != nil {
		return nil, lost(ctx, err)
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	var arrived sdk.ToolResult
	return &arrived, json.Unmarshal(raw, &arrived)
}

// copied returns the call as the guest gets it.
func (t *pipeTool) copied(call *sdk.ToolCall) *sdk.ToolCall {
	c := *call
	// Progress has no context that names its call.
	on := ability.Caller{SessionID: call.SessionID, Tool: call.Host}
	c.Host = guest.NewToolHost(func(ctx context.Context, op string, request []byte) (guest.Status, []byte, error) {
		return t.pipe.caller(context.WithValue(ctx, callerKey{}, on), op, request)
	}, slog.New(slog.DiscardHandler))
	return &c
}

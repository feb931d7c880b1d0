package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp/interceptor"
	"github.com/tenonhq/tenon/mcp/protocol"
	"github.com/tenonhq/tenon/sdk"
)

// makeHooks returns the plugin's hooks, from the approved definition of the server and from its configuration. They do not change until
// the host restarts the plugin.
func (p *Plugin) makeHooks() []sdk.Hook {
	p.mu.Lock()
	defer p.mu.Unlock()
	var hooks []sdk.Hook
	if p.pin == nil || p.pin.Definition.Instructions != "" || p.pin.Definition.Resources {
		h := sdk.OnChatSystem(p.addInstructions)
		h.Name, h.Reads, h.Writes = "instructions", []string{"/system"}, []string{"/system"}
		hooks = append(hooks, h)
	}
	for i := range p.server.Hooks {
		c := &p.server.Hooks[i]
		h, _ := hookpoint.Hook(&c.HookDescription, "", &toolHook{p, c.Tool}) // Validate refuses all others
		if c.Name == "" {
			h.Name = c.Tool
		}
		hooks = append(hooks, h)
	}
	return append(hooks, interceptor.Hooks(p.offer.Interceptors, &interceptor.Server{Name: p.server.Name, Logger: p.logger, Invoke: p.invoke})...)
}

// invoke calls one interceptor. Interceptors have no side effects, so a call whose connection broke is repeated.
func (p *Plugin) invoke(ctx context.Context, on *sdk.RemoteCall, in interceptor.Invocation) (json.RawMessage, error) {
	request, left := hookCall(on), p.server.Limit()
	if end, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(end))
	}
	params := map[string]any{
		"name": in.Name, "event": in.Event, "phase": in.Phase, "payload": in.Payload, "timeoutMs": max(left.Milliseconds(), 1),
		"context": map[string]any{"sessionId": request.Session, "timestamp": time.Now().UTC().Format(time.RFC3339Nano)},
	}
	return p.ask(ctx, true, func(c *connection) (json.RawMessage, error) {
		if err := p.mayCall(c, "interceptor", in.Name); err != nil {
			return nil, err
		}
		return c.Extension(ctx, request, "interceptor/invoke", params)
	})
}

// hookCall returns a request on behalf of a hook, for the session in the hook's input.
func hookCall(c *sdk.RemoteCall) *protocol.Call {
	return &protocol.Call{Session: hookpoint.SessionOf(c.Input)}
}

// addInstructions adds the approved instructions of the server to the system prompt.
func (p *Plugin) addInstructions(_ context.Context, in *sdk.ChatInput, v *sdk.ChatSystemValue) error {
	p.mu.Lock()
	text, outdated := strings.TrimSpace(p.offer.Instructions), p.outdated()
	p.mu.Unlock()
	if in.Purpose != sdk.PurposeTurn && in.Purpose != sdk.PurposeSubtask {
		return nil
	}
	if outdated != "" {
		v.System = append(v.System, outdated)
	}
	if text == "" {
		return nil
	}
	v.System = append(v.System, fmt.Sprintf("The MCP server %s says about its tools:\n\n%s", visible.Strip(p.server.Name), text))
	return nil
}

// toolHook is a tool of the server that the configuration uses as a hook. Its arguments are {"point", "input", "value"}. It returns
// the answer of a hook, or {"value": …} with the new value.
type toolHook struct {
	plugin *Plugin
	name   string
}

// HandleRemote calls the tool.
func (h *toolHook) HandleRemote(ctx context.Context, call *sdk.RemoteCall) (sdk.Answer, error) {
	p := h.plugin
	args, err := json.Marshal(struct {
		Point sdk.Point       `json:"point"`
		Input json.RawMessage `json:"input"`
		Value json.RawMessage `json:"value,omitempty"`
	}{call.Point, call.Input, call.Value})
	if err != nil {
		return sdk.Answer{}, err
	}
	var t Tool
	if _, pin := p.approved(); pin != nil {
		t, _ = pin.Definition.tool(h.name)
	}
	t.Name = h.name
	raw, err := p.callTool(ctx, t, args, hookCall(call))
	if err != nil {
		return sdk.Answer{}, err
	}
	answer, err := decodeHookAnswer(call.Point, raw, call.Value)
	if err != nil && !errors.As(err, new(toolError)) { // the engine adds the name of the tool
		err = fmt.Errorf("tool %q: %w", h.name, err)
	}
	return answer, err
}

// onlyResult returns the member of an object whose only member is result: the official SDK for Python puts what is not an object there.
func onlyResult(text []byte) (inner []byte, only bool) {
	members := 0
	jsontext.EachField(text, func(_, _ []byte) bool { members++; return true })
	inner = jsontext.Field(text, "result")
	return inner, members == 1 && inner != nil && json.Valid(text)
}

// decodeHookAnswer decodes the answer of a tool that is used as a hook.
func decodeHookAnswer(point sdk.Point, raw, value json.RawMessage) (sdk.Answer, error) {
	b, text, err := collect(raw)
	if err != nil {
		return sdk.Answer{}, err
	}
	if len(text) == 0 {
		text = json.RawMessage(b.String())
	}
	if inner, only := onlyResult(text); only {
		text = inner
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return sdk.Answer{}, nil
	}
	var answer struct {
		sdk.Answer
		Value *json.RawMessage `json:"value"` // nil for null, too: libraries write it for a field that is not set
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return sdk.Answer{}, fmt.Errorf("its answer is not a JSON object with a hook's answer: %w", jsontext.Mismatch(err))
	}
	if answer.Value == nil {
		return answer.Answer, hookpoint.CheckMembers(point, &answer.Answer, text, "value")
	}
	if len(answer.Changes) > 0 {
		return sdk.Answer{}, errors.New("its answer has both changes and value")
	}
	if len(value) == 0 {
		return sdk.Answer{}, errors.New("its answer has a value, but the hook point has none")
	}
	answer.Changes, err = interceptor.DiffValue(point, value, *answer.Value)
	return answer.Answer, err
}

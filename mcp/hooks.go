package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// makeHooks makes the plugin's hooks from what was approved of the server and from its configuration. They stay as they are until the
// host starts the plugin anew.
func (p *Plugin) makeHooks() []sdk.Hook {
	p.mu.Lock()
	defer p.mu.Unlock()
	var hooks []sdk.Hook
	if p.pin == nil || p.pin.Definition.Instructions != "" {
		h := sdk.OnChatSystem(p.addInstructions)
		h.Name, h.Reads, h.Writes = "instructions", []string{"/system"}, []string{"/system"}
		hooks = append(hooks, h)
	}
	for i := range p.server.Hooks {
		c := &p.server.Hooks[i]
		d := c.Description()
		h, err := hookpoint.Hook(&d, "", &toolHook{p, c.Tool})
		if err != nil {
			continue // Validate refused it
		}
		if c.Name == "" {
			h.Name = c.Tool
		}
		hooks = append(hooks, h)
	}
	if p.pin != nil {
		hooks = append(hooks, p.interceptorHooks(p.offer.interceptors)...)
	}
	return hooks
}

// interceptorHooks makes one hook for each point at which interceptors are called. A hook's priority is that of its first interceptor.
func (p *Plugin) interceptorHooks(list []Interceptor) []sdk.Hook {
	var hooks []sdk.Hook
	notes := false
	called := map[string]bool{}
	for _, at := range interceptions() {
		c := &chain{plugin: p, point: at}
		for _, kind := range at.kinds {
			if kind == mutation {
				c.mutations = inOrder(list, mutation, at.event, at.phase)
			} else {
				c.validations = inOrder(list, validation, at.event, at.phase)
			}
		}
		all := append(append([]Interceptor{}, c.mutations...), c.validations...)
		if len(all) == 0 {
			continue
		}
		h := sdk.Hook{
			Point: at.point, Name: "interceptors " + at.event, Reads: at.reads, Writes: at.writes,
			OnError: at.onError(c.mustNotFail()), Priority: all[0].priority(at.phase), Remote: c,
		}
		for _, i := range all {
			h.Priority = min(h.Priority, i.priority(at.phase))
			called[i.Name] = true
		}
		hooks = append(hooks, h)
		notes = notes || at.point == sdk.PointPermissionAsk
	}
	for _, i := range list {
		if !called[i.Name] {
			p.logger.Warn("an interceptor is never called: what it listens to does not happen here", "server", p.server.Name, "interceptor", visible.Strip(i.Name), "hooks", i.Hooks)
		}
	}
	if notes {
		hooks = append(hooks, sdk.Hook{Point: sdk.PointToolBefore, Name: "interceptors note", Remote: &noteCall{&p.names}})
	}
	return hooks
}

// noteCall notes which tool a call is of.
type noteCall struct{ names *toolNames }

// HandleRemote notes it.
func (n *noteCall) HandleRemote(_ context.Context, call *sdk.RemoteCall) (sdk.Answer, error) {
	var in struct {
		Tool   string `json:"tool"`
		CallID string `json:"callID"`
	}
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return sdk.Answer{}, err
	}
	n.names.note(in.CallID, in.Tool)
	return sdk.Answer{}, nil
}

// addInstructions adds what the server wants the model to know, as far as it was approved.
func (p *Plugin) addInstructions(_ context.Context, in *sdk.ChatInput, v *sdk.ChatSystemValue) error {
	p.mu.Lock()
	text := strings.TrimSpace(p.offer.instructions)
	p.mu.Unlock()
	if text == "" || in.Purpose != sdk.PurposeTurn && in.Purpose != sdk.PurposeSubtask {
		return nil
	}
	v.System = append(v.System, fmt.Sprintf("The MCP server %s says about its tools:\n\n%s", visible.Strip(p.server.Name), text))
	return nil
}

// toolHook is a tool of the server that the configuration made a hook. It is called with {"point", "input", "value"} and answers with
// an answer as hooks give it, or with {"value": …}, the value as it is to be.
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
	p.mu.Lock()
	t := Tool{Name: h.name}
	if p.pin != nil {
		if known, ok := p.pin.Definition.tool(h.name); ok {
			t = known
		}
	}
	p.mu.Unlock()
	raw, err := p.callTool(ctx, t, args, hookCall(call))
	if err != nil {
		return sdk.Answer{}, err
	}
	answer, err := decodeHookAnswer(call.Point, raw, call.Value)
	if err != nil && !errors.Is(err, errTool) { // the tool's own words need no addition: the engine says whose they are
		err = fmt.Errorf("tool %q: %w", h.name, err)
	}
	return answer, err
}

// decodeHookAnswer reads what a tool answered to a hook.
func decodeHookAnswer(point sdk.Point, raw, value json.RawMessage) (sdk.Answer, error) {
	var r callResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return sdk.Answer{}, fmt.Errorf("its result cannot be read: %w", err)
	}
	var b builder
	for _, one := range r.Content {
		b.add(one)
	}
	text := []byte(b.String())
	if r.IsError {
		return sdk.Answer{}, toolError(visible.Cut(b.String(), 4<<10, " …"))
	}
	if len(r.Structured) > 0 && !bytes.Equal(r.Structured, []byte("null")) {
		text = r.Structured
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return sdk.Answer{}, nil
	}
	var answer struct {
		sdk.Answer
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return sdk.Answer{}, fmt.Errorf("its answer is no JSON object of a hook's answer: %w", err)
	}
	if len(answer.Value) == 0 {
		return answer.Answer, nil
	}
	if len(answer.Changes) > 0 {
		return sdk.Answer{}, errors.New("its answer has both changes and value")
	}
	if len(value) == 0 {
		return sdk.Answer{}, errors.New("its answer has a value where there is none")
	}
	var err error
	answer.Changes, err = diffValue(point, value, answer.Value)
	return answer.Answer, err
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// hookTool is the prefix of the tools that are hooks; the number of the hook follows.
const hookTool = "hook_"

func (s *server) toolList() []map[string]any {
	var out []map[string]any
	for _, t := range s.plugin.Tools() {
		d := t.Definition()
		out = append(out, map[string]any{"name": d.ID, "description": d.Description, "inputSchema": d.Parameters})
	}
	if s.Interceptors {
		return out
	}
	for i, ref := range s.Hooks {
		out = append(out, map[string]any{
			"name": hookTool + strconv.Itoa(i), "description": "The hook at " + string(ref.Point) + ".", "inputSchema": map[string]string{"type": "object"},
		})
	}
	return out
}

// result is the result of a tool call.
type result struct {
	Content []map[string]any `json:"content"`
	IsError bool             `json:"isError,omitempty"`
}

func text(text string) result {
	return result{Content: []map[string]any{{"type": "text", "text": text}}}
}

// callTool runs a hook or a tool. As the protocol requires, errors become results.
func (s *server) callTool(ctx context.Context, params json.RawMessage) (r result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if err != nil {
			r, err = text(err.Error()), nil
			r.IsError = true
		}
	}()
	var call struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(params, &call); err != nil {
		return result{}, err
	}
	if number, ok := strings.CutPrefix(call.Name, hookTool); ok {
		return s.callHook(ctx, number, call.Arguments)
	}
	for i, t := range s.plugin.Tools() {
		if t.Definition().ID != call.Name {
			continue
		}
		host := &toolHost{s, call.Meta.ProgressToken, 0}
		out, err := s.guest.Tool(ctx, i, &sdk.ToolCall{Tool: call.Name, Args: call.Arguments, Host: host})
		if err != nil {
			return result{}, err
		}
		return text(out.Output), nil
	}
	return result{}, fmt.Errorf("tool %q not found", call.Name)
}

func (s *server) callHook(ctx context.Context, number string, args json.RawMessage) (result, error) {
	n, err := strconv.Atoi(number)
	if err != nil {
		return result{}, err
	}
	answer, err := s.guest.Hook(ctx, n, args)
	if err != nil {
		return result{}, err
	}
	body, err := value.AppendJSON(nil, answer)
	return text(string(body)), err
}

// toolHost is the host of a tool call. MCP supports only progress.
type toolHost struct {
	server *server
	token  json.RawMessage
	count  int
}

// Progress sends a notification.
func (h *toolHost) Progress(title string, _ sdk.Object) {
	h.count++
	if len(h.token) > 0 { // at worst, no progress is shown
		_ = h.server.conn.Notify("notifications/progress", map[string]any{"progressToken": h.token, "progress": h.count, "message": title})
	}
}

// Ask fails: the protocol has no such request.
func (h *toolHost) Ask(context.Context, sdk.PermissionRequest) error {
	return errors.New("an MCP server cannot ask for permission")
}

// interceptorList offers each hook as an interceptor.
func (s *server) interceptorList() []map[string]any {
	var out []map[string]any
	for i, ref := range s.Hooks {
		kind := "mutation"
		if info, ok := hookpoint.Of(string(ref.Point)); ok && info.NewValue == nil {
			kind = "validation"
		}
		out = append(out, map[string]any{
			"name": hookTool + strconv.Itoa(i), "type": kind,
			"hook": map[string]any{"events": []string{"tenon/" + string(ref.Point)}, "phase": "request"},
		})
	}
	return out
}

// invoke runs a hook as an interceptor. A payload is {"input", "value"}.
func (s *server) invoke(ctx context.Context, params json.RawMessage) (any, error) {
	var call struct {
		Name    string          `json:"name"`
		Payload json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(params, &call); err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimPrefix(call.Name, hookTool))
	if err != nil || n < 0 || n >= len(s.Hooks) {
		return nil, fmt.Errorf("interceptor %q not found", call.Name)
	}
	answer, err := s.guest.Hook(ctx, n, call.Payload)
	if err != nil {
		return nil, err
	}
	info, _ := hookpoint.Of(string(s.Hooks[n].Point))
	if info.NewValue == nil {
		refuses := answer.Verdict == sdk.VerdictDeny || answer.Verdict == sdk.VerdictHalt
		messages := []map[string]string{}
		if refuses {
			messages = append(messages, map[string]string{"message": answer.Reason, "severity": "error"})
		}
		return map[string]any{"valid": !refuses, "severity": map[bool]string{true: "error", false: "info"}[refuses], "messages": messages}, nil
	}
	var payload guest.HookRequest
	if err := json.Unmarshal(call.Payload, &payload); err != nil {
		return nil, err
	}
	v := info.NewValue()
	if err := value.Decode(payload.Value, v); err != nil {
		return nil, err
	}
	if err := value.Apply(v, answer.Changes); err != nil {
		return nil, err
	}
	changed, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"modified": len(answer.Changes) > 0, "payload": guest.HookRequest{Input: payload.Input, Value: changed},
	}, nil
}

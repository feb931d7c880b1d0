package main

import (
	"context"
	"encoding/json"
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
func (s *server) callTool(ctx context.Context, params json.RawMessage) result {
	output, err := guest.Guard(logger, func() (string, error) { return s.call(ctx, params) })
	if err == nil {
		return text(output)
	}
	r := text(err.Error())
	r.IsError = true
	return r
}

func (s *server) call(ctx context.Context, params json.RawMessage) (string, error) {
	var call struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(params, &call); err != nil {
		return "", err
	}
	if number, ok := strings.CutPrefix(call.Name, hookTool); ok {
		n, err := strconv.Atoi(number)
		if err != nil {
			return "", err
		}
		answer, err := s.guest.Hook(ctx, n, call.Arguments)
		if err != nil {
			return "", err
		}
		body, err := value.AppendJSON(nil, answer)
		return string(body), err
	}
	for i, t := range s.plugin.Tools() {
		if t.Definition().ID != call.Name {
			continue
		}
		out, err := s.guest.Tool(ctx, i, &sdk.ToolCall{Tool: call.Name, Args: call.Arguments, Host: s.toolHost(call.Meta.ProgressToken)})
		if err != nil {
			return "", err
		}
		return out.Output, nil
	}
	return "", fmt.Errorf("tool %q not found", call.Name)
}

// toolHost returns the host of a tool call, for which MCP supports only progress.
func (s *server) toolHost(token json.RawMessage) sdk.ToolHost {
	count := 0
	return guest.NewToolHost(func(_ context.Context, op string, request []byte) (guest.Status, []byte, error) {
		var shown guest.ProgressRequest
		if op != "progress" || json.Unmarshal(request, &shown) != nil {
			return guest.StatusUnknown, nil, nil
		}
		count++
		if len(token) > 0 { // at worst, no progress is shown
			_ = s.conn.Notify("notifications/progress", map[string]any{"progressToken": token, "progress": count, "message": shown.Title})
		}
		return guest.StatusOK, nil, nil
	}, logger())
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

package conformance_test

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

func (s *mcpGuest) toolList() []map[string]any {
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

// callTool runs a hook or a tool.
func (s *mcpGuest) callTool(ctx context.Context, params json.RawMessage) (output string, err error) {
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
	if strings.HasPrefix(call.Name, hookTool) {
		_, answer, err := s.hook(ctx, call.Name, call.Arguments)
		if err != nil {
			return "", err
		}
		body, err := value.AppendJSON(nil, answer)
		return string(body), err
	}
	for i, t := range s.plugin.Tools() {
		if t.Definition().ID == call.Name {
			out, err := s.guest.Tool(ctx, i, &sdk.ToolCall{Tool: call.Name, Args: call.Arguments, Host: s.toolHost(call.Meta.ProgressToken)})
			if err != nil {
				return "", err
			}
			return out.Output, nil
		}
	}
	return "", fmt.Errorf("tool %q not found", call.Name)
}

// hook runs the hook of a tool or an interceptor.
func (s *mcpGuest) hook(ctx context.Context, name string, args json.RawMessage) (hookpoint.Info, sdk.Answer, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(name, hookTool))
	if err != nil || n < 0 || n >= len(s.Hooks) {
		return hookpoint.Info{}, sdk.Answer{}, fmt.Errorf("hook %q not found", name)
	}
	info, _ := hookpoint.Of(string(s.Hooks[n].Point))
	answer, err := s.guest.Hook(ctx, n, args)
	return info, answer, err
}

// toolHost returns the host of a tool call, for which MCP supports only progress.
func (s *mcpGuest) toolHost(token json.RawMessage) sdk.ToolHost {
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
	}, panicLog())
}

// interceptorList offers each hook as an interceptor.
func (s *mcpGuest) interceptorList() []map[string]any {
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
func (s *mcpGuest) invoke(ctx context.Context, params json.RawMessage) (any, error) {
	var call struct {
		Name    string          `json:"name"`
		Payload json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(params, &call); err != nil {
		return nil, err
	}
	info, answer, err := s.hook(ctx, call.Name, call.Payload)
	if err != nil {
		return nil, err
	}
	if info.NewValue == nil {
		if answer.Verdict == sdk.VerdictDeny || answer.Verdict == sdk.VerdictHalt {
			return map[string]any{"valid": false, "severity": "error", "messages": []map[string]string{{"message": answer.Reason}}}, nil
		}
		return map[string]any{"valid": true}, nil
	}
	var payload guest.HookRequest
	err = json.Unmarshal(call.Payload, &payload)
	v := info.NewValue()
	if err == nil {
		err = value.Decode(payload.Value, v)
	}
	if err == nil {
		err = value.Apply(v, answer.Changes)
	}
	if err == nil {
		payload.Value, err = json.Marshal(v)
	}
	return map[string]any{"modified": len(answer.Changes) > 0, "payload": payload}, err
}

package sdktest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// Values of tool calls.
const (
	SessionID = "ses_test"
	MessageID = "msg_test"
	CallID    = "call_test"
)

// Call calls a tool of the plugin with arguments that encode to a JSON object. It first requests the permissions that the tool requires from
// Options.Ask, and then runs the tool with its deadline. It does not check the arguments against the tool's schema.
func (h *Host) Call(ctx context.Context, tool string, args any) (*sdk.ToolResult, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", tool, err)
	}
	return h.CallWith(ctx, &sdk.ToolCall{Tool: tool, Args: raw})
}

// CallWith is Call with more fields. It sets Host and the fields that are empty.
func (h *Host) CallWith(ctx context.Context, call *sdk.ToolCall) (result *sdk.ToolResult, err error) {
	t, err := h.tool(call.Tool)
	if err != nil {
		return nil, err
	}
	call = h.fill(call)
	ctx, cancel := context.WithTimeout(ctx, deadlineOf(t))
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("plugin %s: tool %s: %w: %v", h.plugin.Manifest().Name, call.Tool, ErrPanic, p)
		}
	}()
	requests, err := prepare(ctx, t, call)
	if err != nil {
		return nil, err
	}
	for _, req := range requests {
		req.SessionID, req.Agent, req.Args = call.SessionID, call.Agent, call.Args
		req.Tool = &sdk.CallRef{MessageID: call.MessageID, CallID: call.CallID, ID: call.Tool}
		if err := h.AskPermission(ctx, req); err != nil {
			return nil, err
		}
	}
	result, err = t.Execute(ctx, call)
	if err == nil && result == nil {
		return nil, errors.New("the tool returned neither a result nor an error")
	}
	return result, err
}

// prepare returns the permissions that a call requires; by default, its permission key.
func prepare(ctx context.Context, t sdk.Tool, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	if p, ok := t.(sdk.ToolPreparer); ok {
		return p.Prepare(ctx, call)
	}
	key := call.Tool
	if p, ok := t.(sdk.ToolPermission); ok {
		key = p.Permission()
	}
	return []sdk.PermissionRequest{{Permission: key, Patterns: []string{"*"}, Always: []string{"*"}}}, nil
}

func (h *Host) tool(id string) (sdk.Tool, error) {
	if source, ok := h.plugin.(sdk.ToolSource); ok {
		for _, t := range source.Tools() {
			if t.Definition().ID == id {
				return t, nil
			}
		}
	}
	return nil, fmt.Errorf("plugin %s has no tool %q", h.plugin.Manifest().Name, id)
}

func (h *Host) fill(call *sdk.ToolCall) *sdk.ToolCall {
	filled := *call
	for _, field := range []struct {
		at    *string
		value string
	}{
		{&filled.SessionID, SessionID}, {&filled.MessageID, MessageID}, {&filled.CallID, CallID}, {&filled.Agent, sdk.AgentBuild},
		{&filled.Directory, h.options.Project.Directory}, {&filled.Worktree, h.options.Project.Worktree},
	} {
		*field.at = cmp.Or(*field.at, field.value)
	}
	if len(filled.Args) == 0 {
		filled.Args = json.RawMessage("{}")
	}
	filled.Host = &toolHost{host: h, session: filled.SessionID}
	return &filled
}

func deadlineOf(t sdk.Tool) time.Duration {
	if d, ok := t.(sdk.ToolDeadline); ok && d.Deadline() > 0 {
		return d.Deadline()
	}
	return sdk.DefaultToolTimeout
}

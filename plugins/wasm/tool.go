package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// tool is one tool of a plugin.
type tool struct {
	plugin      *plugin
	number      uint32
	description *sdk.ToolDescription
}

// preparingTool is a tool that says itself what it needs leave for.
type preparingTool struct{ *tool }

var (
	_ sdk.Tool           = (*tool)(nil)
	_ sdk.ToolPermission = (*tool)(nil)
	_ sdk.ToolDeadline   = (*tool)(nil)
	_ sdk.ToolPreparer   = preparingTool{}
)

func newTool(p *plugin, n int) (sdk.Tool, error) {
	d := &p.unit.Description.Tools[n]
	if d.ID == "" {
		return nil, fmt.Errorf("%w: tools[%d].id: a tool needs one", sdk.ErrManifest, n)
	}
	if most := sdk.DefaultToolTimeout.Milliseconds(); d.TimeoutMS < 0 || d.TimeoutMS > most {
		return nil, fmt.Errorf("%w: tools[%d].timeout: %d is not between 0 and %d milliseconds", sdk.ErrManifest, n, d.TimeoutMS, most)
	}
	t := &tool{plugin: p, number: uint32(n), description: d}
	if d.Prepares {
		return preparingTool{t}, nil
	}
	return t, nil
}

// Definition returns what the model gets to know.
func (t *tool) Definition() sdk.ToolDefinition { return t.description.ToolDefinition }

// Permission returns the permission key.
func (t *tool) Permission() string {
	if t.description.Permission == "" {
		return t.description.ID
	}
	return t.description.Permission
}

// Deadline returns how long a call may take.
func (t *tool) Deadline() time.Duration {
	if t.description.TimeoutMS == 0 {
		return sdk.DefaultToolTimeout
	}
	return time.Duration(t.description.TimeoutMS) * time.Millisecond
}

// Execute runs the call in the guest.
func (t *tool) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	var result sdk.ToolResult
	found, err := t.call(ctx, guest.ToolOp, call, &result)
	if err == nil && !found {
		err = errors.New("the tool returned nothing")
	}
	if err != nil {
		return nil, err
	}
	return &result, nil
}

// Prepare asks the guest what the call needs leave for.
func (t preparingTool) Prepare(ctx context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	var response guest.PrepareResponse
	if _, err := t.call(ctx, guest.PrepareOp, call, &response); err != nil {
		return nil, err
	}
	return response.Requests, nil
}

// call decodes the answer into v; found is false when there is none.
func (t *tool) call(ctx context.Context, base uint32, call *sdk.ToolCall, v any) (found bool, err error) {
	input, err := json.Marshal(call)
	if err != nil {
		return false, fmt.Errorf("tool %s: %w", t.description.ID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, t.Deadline())
	defer cancel()
	j := job{op: base + t.number, session: call.SessionID, tool: call.Host, whole: input}
	output, err := t.plugin.do(ctx, j)
	if err != nil || len(output) == 0 {
		return false, err
	}
	if err := json.Unmarshal(output, v); err != nil {
		return false, badAnswer("tool "+t.description.ID, output, err)
	}
	return true, nil
}

package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Execute runs a call of tool n in the guest.
func (p *plugin) Execute(ctx context.Context, n int, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	var result sdk.ToolResult
	found, err := p.callTool(ctx, guest.ToolOp, n, call, &result)
	if err == nil && !found {
		err = errors.New("the tool returned nothing")
	}
	if err != nil {
		return nil, err
	}
	return &result, nil
}

// Prepare asks the guest which permissions a call of tool n requires.
func (p *plugin) Prepare(ctx context.Context, n int, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	var response guest.PrepareResponse
	if _, err := p.callTool(ctx, guest.PrepareOp, n, call, &response); err != nil {
		return nil, err
	}
	return response.Requests, nil
}

// callTool decodes the answer into v; found is false if there is none.
func (p *plugin) callTool(ctx context.Context, base uint32, n int, call *sdk.ToolCall, v any) (found bool, err error) {
	id := p.Description.Tools[n].ID
	input, err := json.Marshal(call)
	if err != nil {
		return false, fmt.Errorf("tool %s: %w", id, err)
	}
	output, err := p.do(ctx, &job{op: base + uint32(n), session: call.SessionID, tool: call.Host, input: pieces{input}})
	if err != nil || len(output) == 0 {
		return false, err
	}
	if err := json.Unmarshal(output, v); err != nil {
		return false, badAnswer("tool "+id, output, err)
	}
	return true, nil
}

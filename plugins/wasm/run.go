package wasm

import (
	"context"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Ready returns ErrCompiling while the module is compiled.
func (p *plugin) Ready() error {
	if p.program.compiling() {
		return ErrCompiling
	}
	return nil
}

// RunHook runs hook n in the guest.
func (p *plugin) RunHook(ctx context.Context, n int, call *sdk.RemoteCall) ([]byte, error) {
	return p.do(ctx, &job{
		op: guest.HookOp + uint32(n), session: remote.SessionOf(call.Input), input: hookRequest(call), last: call.Point == sdk.PointSessionEnd,
	})
}

// hookRequest returns a guest.HookRequest as JSON.
func hookRequest(call *sdk.RemoteCall) pieces {
	if len(call.Value) == 0 {
		return pieces{[]byte(`{"input":`), call.Input, []byte(`}`)}
	}
	return pieces{[]byte(`{"input":`), call.Input, []byte(`,"value":`), call.Value, []byte(`}`)}
}

// RunTool runs a call of tool n in the guest.
func (p *plugin) RunTool(ctx context.Context, n int, call *sdk.ToolCall, body []byte) ([]byte, error) {
	return p.do(ctx, &job{op: guest.ToolOp + uint32(n), session: call.SessionID, tool: call.Host, input: pieces{body}})
}

// PrepareTool asks the guest which permissions a call of tool n requires.
func (p *plugin) PrepareTool(ctx context.Context, n int, call *sdk.ToolCall, body []byte) ([]byte, error) {
	return p.do(ctx, &job{op: guest.PrepareOp + uint32(n), session: call.SessionID, tool: call.Host, input: pieces{body}})
}

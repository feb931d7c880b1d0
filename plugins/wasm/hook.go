package wasm

import (
	"context"
	"encoding/json"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// hook runs one hook of a plugin in one of its instances.
type hook struct {
	plugin *plugin
	op     uint32
	point  sdk.Point
}

var (
	_ sdk.RemoteHandler   = (*hook)(nil)
	_ hooks.RemoteReadier = (*hook)(nil)
)

// Hook returns the handler of hook n.
func (p *plugin) Hook(n int, point sdk.Point) sdk.RemoteHandler {
	return &hook{plugin: p, op: guest.HookOp + uint32(n), point: point}
}

// Ready returns ErrCompiling while the module is compiled.
func (h *hook) Ready() error {
	if h.plugin.program.compiling() {
		return ErrCompiling
	}
	return nil
}

// HandleRemote calls the guest.
func (h *hook) HandleRemote(ctx context.Context, call *sdk.RemoteCall) (sdk.Answer, error) {
	var answer sdk.Answer
	j := job{op: h.op, session: remote.SessionOf(call.Input), input: hookRequest(call), last: h.point == sdk.PointSessionEnd}
	output, err := h.plugin.do(ctx, &j)
	if err != nil || len(output) == 0 {
		return answer, err
	}
	if err := json.Unmarshal(output, &answer); err != nil {
		return sdk.Answer{}, badAnswer("hook "+call.Hook, output, err)
	}
	return answer, nil
}

// hookRequest returns a guest.HookRequest as JSON.
func hookRequest(call *sdk.RemoteCall) pieces {
	if len(call.Value) == 0 {
		return pieces{[]byte(`{"input":`), call.Input, []byte(`}`)}
	}
	return pieces{[]byte(`{"input":`), call.Input, []byte(`,"value":`), call.Value, []byte(`}`)}
}

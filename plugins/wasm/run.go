package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Ready returns ErrCompiling while the module is compiled.
func (p *plugin) Ready() (began time.Time, err error) {
	if p.program.compiling() {
		err = ErrCompiling
	}
	return began, err
}

// RunHook runs hook n in the guest.
func (p *plugin) RunHook(ctx context.Context, n int, call *sdk.RemoteCall) ([]byte, error) {
	by := ability.Caller{SessionID: hookpoint.SessionOf(call.Input)}
	return p.do(ctx, &job{op: guest.HookOp + uint32(n), by: by, input: hookRequest(call)})
}

// hookRequest returns a guest.HookRequest as JSON.
func hookRequest(call *sdk.RemoteCall) pieces {
	if len(call.Value) == 0 {
		return pieces{[]byte(`{"input":`), call.Input, []byte(`}`)}
	}
	return pieces{[]byte(`{"input":`), call.Input, []byte(`,"value":`), call.Value, []byte(`}`)}
}

// operations are the numbers of the methods.
var operations = map[string]uint32{
	"tool": guest.ToolOp, "prepare": guest.PrepareOp, "auth": guest.AuthOp, "stream": guest.StreamOp, "list_models": guest.ModelsOp,
}

// Call makes another call of the guest, which sends the events of a model's answer by guest.EventOperation.
func (p *plugin) Call(ctx context.Context, c *remote.Call) ([]byte, error) {
	j := &job{op: operations[c.Method] + uint32(c.Tool), by: c.By, event: c.Event, input: pieces{c.Body}}
	if j.op != guest.StreamOp && j.op != guest.ModelsOp {
		return p.do(ctx, j)
	}
	input, err := json.Marshal(guest.StreamRequest{Connection: c.Connection, Request: c.Body})
	if err != nil {
		return nil, err
	}
	j.input = pieces{input}
	output, err := p.do(ctx, j)
	if err == nil && len(output) == 0 && j.op == guest.ModelsOp {
		err = fmt.Errorf("%w: the plugin does not list models", errors.ErrUnsupported)
	}
	if err != nil || len(output) == 0 {
		return nil, err
	}
	var end struct { // a guest.StreamFailure or a guest.ModelList
		Models json.RawMessage      `json:"models"`
		Error  *guest.ProviderError `json:"error"`
	}
	if err := remote.Decode("answer to a model request", output, &end); err != nil {
		return nil, err
	}
	if end.Error != nil {
		return nil, end.Error.Err("")
	}
	return end.Models, nil
}

// streamEvent passes on an event of a model's answer. The rate limit of operations does not apply: the model determines the speed, and the
// host bounds the answer.
func (c *call) streamEvent(event []byte) (guest.Status, []byte) {
	if c.event == nil {
		return guest.StatusFailed, []byte("only a model request has events")
	}
	if err := c.event(event); err != nil {
		return guest.StatusFailed, []byte(err.Error())
	}
	return guest.StatusOK, []byte("{}")
}

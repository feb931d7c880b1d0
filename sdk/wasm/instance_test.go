package wasm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/wasm"
)

// counter counts its tool calls in the host's key-value store.
func counter() *sdk.Bundle {
	var kv sdk.KeyValue
	count := func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		call.Host.Progress("counting", nil)
		if err := kv.Set(ctx, "n", []byte("1")); err != nil {
			return nil, err
		}
		return &sdk.ToolResult{Title: "counted", Output: "1"}, nil
	}
	return &sdk.Bundle{
		Info: sdk.Manifest{Name: "counter", Carrier: sdk.CarrierWASM},
		HookList: []sdk.Hook{
			sdk.OnTextComplete(func(_ context.Context, in *sdk.TextCompleteInput, v *sdk.TextCompleteValue) error {
				switch v.Text {
				case "panic":
					panic("no more")
				case "error":
					return errors.New("not today")
				case "keep":
					return nil
				}
				v.Text += "!"
				return nil
			}),
			sdk.OnTurnStop(func(_ context.Context, in *sdk.TurnStopInput) (sdk.StopDecision, error) {
				return sdk.StopDecision{Continue: true, Message: "go on"}, nil
			}),
		},
		ToolList: []sdk.Tool{sdk.FuncTool(sdk.ToolDefinition{ID: "count", Parameters: json.RawMessage(`{"type":"object"}`)}, count)},
		OnStart: func(_ context.Context, h sdk.Host) error {
			if string(h.Options()) == `"bad"` {
				return errors.New("options: want an object")
			}
			kv = h.(sdk.KeyValue)
			h.Logger().Info("ready", "project", h.Project().ID)
			return nil
		},
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	var asked, logged []string
	call := wasm.NewCall(counter(), func(_ context.Context, op string, request []byte) (guest.Status, []byte, error) {
		asked = append(asked, op+string(request))
		return guest.StatusOK, []byte("{}"), nil
	}, func(level int32, text []byte) { logged = append(logged, fmt.Sprint(level, " ", string(text))) })

	steps := []struct {
		op     int32
		input  string
		result int32
		output string // a part of it
	}{
		{guest.DescribeOp, "", 0, `"name":"counter"`},
		{guest.HookOp, `{"input":{},"value":{"text":"early"}}`, 1, "hook number 0 not found"},
		{guest.StartOp, `{"options":"bad"}`, 1, "want an object"},
		{guest.StartOp, `no`, 1, "start request: "},
		{
			guest.StartOp, `{"options":null,"project":{"ID":"p 1"},"hooks":[{"point":"text.complete","name":"text.complete"},{"point":"turn.stop","name":"turn.stop"}],"tools":["count"]}`,
			2, "",
		},
		{guest.HookOp, `{"input":{},"value":{"text":"hi"}}`, 0, `{"changes":[{"pointer":"/text","value":"hi!"}]}`},
		{guest.HookOp, `{"input":{},"value":{"text":"keep"}}`, 2, ""},
		{guest.HookOp, `{"input":{},"value":{"text":"error"}}`, 1, "not today"},
		{guest.HookOp, `{"input":{},"value":{"text":"panic"}}`, 1, "panic: no more"},
		{guest.HookOp, `{"input":{},"value":{"text":"after"}}`, 0, `after!`},
		{guest.HookOp + 1, `{"input":{"sessionID":"s"}}`, 0, `{"verdict":"continue","message":"go on"}`},
		{guest.ToolOp, `{"tool":"count","callID":"c","args":{}}`, 0, `"output":"1"`},
		{guest.ToolOp, `[]`, 1, "tool call"},
		{guest.PrepareOp, `{"tool":"count"}`, 1, "does not list"},
		{guest.PrepareOp, `[]`, 1, "tool call"},
		{7, ``, 1, "no operation 0x7"},
		{0x7000, ``, 1, "no operation"},
	}
	for _, s := range steps {
		result, output := call(s.op, []byte(s.input))
		if result != s.result || !strings.Contains(string(output), s.output) {
			t.Errorf("call(%#x, %s) = %d, %s, want %d, %s", s.op, s.input, result, output, s.result, s.output)
		}
	}
	if got := strings.Join(asked, " "); got != `progress{"title":"counting"} kv.set{"key":"n","value":"1"}` {
		t.Errorf("asked of the host: %s", got)
	}
	if got := strings.Join(logged, "\n"); !strings.Contains(got, `0 ready project="p 1"`) || !strings.Contains(got, "-4 panic err=") {
		t.Errorf("logged: %s", got)
	}
	if wasm.Version != 1<<16|1 {
		t.Errorf("version %#x", wasm.Version)
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	got := ""
	log := wasm.NewLogger(func(level int32, text []byte) { got = fmt.Sprint(level, " ", string(text)) })
	log.With("a", 1).WithGroup("g").With("b", "x y").Warn("look out", "c", "d\ne", "empty", "", "in", struct{ A int }{2})
	if want := `4 look out a=1 g.b="x y" g.c="d\ne" g.empty="" g.in={A:2}`; got != want {
		t.Errorf("logged %s, want %s", got, want)
	}
}

// TestServe checks that a plugin's main package can be tested outside of a module.
func TestServe(t *testing.T) {
	t.Parallel()
	wasm.Serve(&sdk.Bundle{OnStart: func(context.Context, sdk.Host) error {
		t.Error("Serve started the plugin")
		return nil
	}})
}

// FuzzCall checks that no input makes a module trap.
func FuzzCall(f *testing.F) {
	call := wasm.NewCall(counter(), func(context.Context, string, []byte) (guest.Status, []byte, error) {
		return guest.StatusFailed, nil, nil
	}, func(int32, []byte) {})
	if result, output := call(guest.StartOp, []byte(`{"hooks":[{"point":"text.complete","name":"text.complete"},{"point":"turn.stop","name":"turn.stop"}],"tools":["count"]}`)); result != 2 {
		f.Fatal(string(output))
	}
	f.Add(int32(guest.HookOp), []byte(`{"input":{},"value":{"text":"hi"}}`))
	f.Add(int32(guest.HookOp+1), []byte(`{"input":{"message":{"id":"m","role":"assistant"},"text":"t"}}`))
	f.Add(int32(guest.ToolOp), []byte(`{"tool":"count","args":{}}`))
	f.Add(int32(guest.PrepareOp), []byte(`{}`))
	f.Fuzz(func(t *testing.T, op int32, input []byte) {
		if op == guest.StartOp {
			return // would take the hooks away
		}
		result, output := call(op, input)
		if result < 0 || result > 2 || result == 1 && len(output) == 0 {
			t.Errorf("call(%d, %q) = %d, %q", op, input, result, output)
		}
		if strings.HasPrefix(string(output), "panic: ") && !strings.Contains(string(input), "panic") {
			t.Errorf("call(%d, %q): %s", op, input, output)
		}
	})
}

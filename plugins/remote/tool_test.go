package remote_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// says answers every call with a text: nothing, as a WASM guest may, or null, as a function in Python or JavaScript without return.
type says struct {
	runner
	text string
}

func (s says) Call(context.Context, *remote.Call) ([]byte, error) { return []byte(s.text), nil }

// hangs answers when the context of the call ends: with err, or with that of the context.
type hangs struct {
	runner
	err error
}

func (h hangs) Call(ctx context.Context, _ *remote.Call) ([]byte, error) {
	<-ctx.Done()
	return nil, cmp.Or(h.err, ctx.Err())
}

// A tool that does not answer in its time is named, with the time; one that is canceled or has another error is not.
func TestSilentTool(t *testing.T) {
	t.Parallel()
	tool := sdk.ToolDescription{ToolDefinition: sdk.ToolDefinition{ID: "do"}, Prepares: true, TimeoutMS: 1}
	unit := &remote.Unit{Description: sdk.Description{Name: "p", Tools: []sdk.ToolDescription{tool}}}
	b, late := remote.NewBase(unit, sdk.CarrierWASM, hangs{}), remote.NewBase(unit, sdk.CarrierWASM, hangs{err: sdk.ErrWire})
	if _, err := late.Tools()[0].Execute(t.Context(), &sdk.ToolCall{}); !errors.Is(err, sdk.ErrWire) {
		t.Errorf("Execute() = %v, want the error of the call", err)
	}
	prepare := b.Tools()[0].(sdk.ToolPreparer).Prepare
	if _, err := prepare(t.Context(), &sdk.ToolCall{}); !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "the tool do did not list its permissions within 1ms") {
		t.Errorf("Prepare() = %v, want the tool and its time", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := prepare(canceled, &sdk.ToolCall{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Prepare() of a canceled call = %v", err)
	}
}

// A tool that lists its permissions and answers nothing must not run without permission. Millions of values would take gigabytes.
func TestBadAnswersOfTools(t *testing.T) {
	t.Parallel()
	d := sdk.Description{Name: "p", Tools: []sdk.ToolDescription{{ToolDefinition: sdk.ToolDefinition{ID: "do"}, Prepares: true}}}
	for _, text := range []string{"", "null", "{}", `{"text":"done","request":[]}`, `{"metadata":{"a":[` + strings.Repeat("{},", 1<<20) + `{}]}}`} {
		b := remote.NewBase(&remote.Unit{Description: d}, sdk.CarrierWASM, says{text: text})
		tool := b.Tools()[0]
		if requests, err := tool.(sdk.ToolPreparer).Prepare(t.Context(), &sdk.ToolCall{}); !errors.Is(err, sdk.ErrWire) {
			t.Errorf("%.30q: Prepare() = %v, %v, want an error", text, requests, err)
		}
		if result, err := tool.Execute(t.Context(), &sdk.ToolCall{}); !errors.Is(err, sdk.ErrWire) {
			t.Errorf("%.30q: Execute() = %.100v, %v, want an error", text, result, err)
		}
	}
}

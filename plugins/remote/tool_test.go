package remote_test

import (
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

// A tool that lists its permissions and answers nothing must not run without permission. Millions of values would take gigabytes.
func TestBadAnswersOfTools(t *testing.T) {
	t.Parallel()
	d := sdk.Description{Name: "p", Tools: []sdk.ToolDescription{{ToolDefinition: sdk.ToolDefinition{ID: "do"}, Prepares: true}}}
	for _, text := range []string{"", "null", "{}", `{"text":"done","request":[]}`, `{"metadata":{"a":[` + strings.Repeat("{},", 1<<20) + `{}]}}`} {
		b, err := remote.NewBase(&remote.Unit{Description: d}, sdk.CarrierWASM, says{text: text})
		if err != nil {
			t.Fatal(err)
		}
		tool := b.Tools()[0]
		if requests, err := tool.(sdk.ToolPreparer).Prepare(t.Context(), &sdk.ToolCall{}); !errors.Is(err, sdk.ErrWire) {
			t.Errorf("%.30q: Prepare() = %v, %v, want an error", text, requests, err)
		}
		if result, err := tool.Execute(t.Context(), &sdk.ToolCall{}); !errors.Is(err, sdk.ErrWire) {
			t.Errorf("%.30q: Execute() = %.100v, %v, want an error", text, result, err)
		}
	}
}

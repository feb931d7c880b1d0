package remote_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// mute answers every call with nothing, as a WASM guest may.
type mute struct{ runner }

func (mute) Call(context.Context, *remote.Call) ([]byte, error) { return nil, nil }

// A tool that lists its permissions and answers nothing must not run without permission.
func TestToolWithoutAnswer(t *testing.T) {
	t.Parallel()
	d := sdk.Description{Name: "p", Tools: []sdk.ToolDescription{{ToolDefinition: sdk.ToolDefinition{ID: "do"}, Prepares: true}}}
	b, err := remote.NewBase(&remote.Unit{Description: d}, sdk.CarrierWASM, mute{})
	if err != nil {
		t.Fatal(err)
	}
	tool := b.Tools()[0]
	if requests, err := tool.(sdk.ToolPreparer).Prepare(t.Context(), &sdk.ToolCall{}); !errors.Is(err, sdk.ErrWire) {
		t.Errorf("Prepare() = %v, %v, want an error", requests, err)
	}
	if result, err := tool.Execute(t.Context(), &sdk.ToolCall{}); !errors.Is(err, sdk.ErrWire) {
		t.Errorf("Execute() = %v, %v, want an error", result, err)
	}
}

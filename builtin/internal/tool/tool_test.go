package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/sdk"
)

type args struct {
	Name string `json:"name"`
}

func call(text string) *sdk.ToolCall {
	return &sdk.ToolCall{Tool: "greet", Args: json.RawMessage(text)}
}

func greet(_ context.Context, _ *sdk.ToolCall, in args) (*sdk.ToolResult, error) {
	return &sdk.ToolResult{Output: "hello " + in.Name}, nil
}

func TestTool(t *testing.T) {
	t.Parallel()
	texts := fstest.MapFS{"greet.md": {Data: []byte(" Greets.\n")}, "greet.json": {Data: []byte("{\"type\":\"object\"}\n")}}
	greeter := tool.Spec[args]{ID: "greet", Texts: texts, Run: greet}.Tool()
	if d := greeter.Definition(); d.ID != "greet" || d.Description != "Greets." || string(d.Parameters) != `{"type":"object"}` {
		t.Errorf("Definition = %+v", d)
	}
	if _, prepares := greeter.(sdk.ToolPreparer); prepares {
		t.Error("a tool without Prepare is a ToolPreparer")
	}
	if result, err := greeter.Execute(t.Context(), call(`{"name":"you"}`)); err != nil || result.Output != "hello you" {
		t.Errorf("Execute = %+v, %v", result, err)
	}
	if _, err := greeter.Execute(t.Context(), call(`{"name":7}`)); err == nil || !strings.HasPrefix(err.Error(), "arguments of greet: ") {
		t.Errorf("Execute of bad arguments = %v", err)
	}
}

// Prepare and Execute read the call in the same way, and stop when it cannot be read.
func TestPrepared(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad name")
	greeter := tool.Spec[args]{
		ID: "greet", Texts: fstest.MapFS{}, Run: greet,
		Read: func(call *sdk.ToolCall) (args, error) {
			in, err := tool.Args[args](call)
			if in.Name == "" {
				err = bad
			}
			return in, err
		},
		Prepare: func(_ context.Context, _ *sdk.ToolCall, in args) ([]sdk.PermissionRequest, error) {
			return []sdk.PermissionRequest{{Permission: in.Name}}, nil
		},
	}.Tool().(tool.Prepared)
	if requests, err := greeter.Prepare(t.Context(), call(`{"name":"you"}`)); err != nil || len(requests) != 1 || requests[0].Permission != "you" {
		t.Errorf("Prepare = %+v, %v", requests, err)
	}
	_, prepared := greeter.Prepare(t.Context(), call(`{}`))
	_, executed := greeter.Execute(t.Context(), call(`{}`))
	if !errors.Is(prepared, bad) || !errors.Is(executed, bad) {
		t.Errorf("Prepare = %v, Execute = %v, want %v", prepared, executed, bad)
	}
}

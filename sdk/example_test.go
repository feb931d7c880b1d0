package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// A plugin with one hook and one tool. The hook refuses pushes, and the model gets the reason. The tool counts words.
func Example() {
	plugin := &sdk.Bundle{
		Info: sdk.Manifest{Name: "example", Carrier: sdk.CarrierBuiltin},
		HookList: []sdk.Hook{sdk.OnToolBefore(func(_ context.Context, in *sdk.ToolInput, v *sdk.ToolBeforeValue) error {
			if command, _ := v.Args["command"].(string); in.Tool == "bash" && strings.HasPrefix(command, "git push") {
				return sdk.Deny("pushing is left to the user")
			}
			return nil
		})},
		ToolList: []sdk.Tool{sdk.FuncTool(sdk.ToolDefinition{
			ID:          "count_words",
			Description: "Counts the words of a text.",
			Parameters:  json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
		}, func(_ context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
			var args struct{ Text string }
			if err := json.Unmarshal(call.Args, &args); err != nil {
				return nil, err
			}
			return &sdk.ToolResult{Output: fmt.Sprint(len(strings.Fields(args.Text)))}, nil
		})},
	}

	ctx := context.Background()
	h := sdktest.New(plugin, sdktest.Options{})
	if err := h.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	answer, err := h.Fire(ctx, sdk.PointToolBefore, &sdk.ToolInput{Tool: "bash"}, &sdk.ToolBeforeValue{Args: sdk.Object{"command": "git push"}})
	fmt.Println(answer.Verdict, answer.Reason, err)
	result, err := h.Call(ctx, "count_words", map[string]string{"text": "one two three"})
	fmt.Println(result.Output, err)
	// Output:
	// deny pushing is left to the user <nil>
	// 3 <nil>
}

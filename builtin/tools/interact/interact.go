// Package interact is the plugin with the tools that work through the host instead of on the machine:
// todowrite, task, skill and question.
package interact

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// New returns the plugin. It keeps nothing between calls.
func New() sdk.Plugin { return plugin{} }

type plugin struct{}

var _ sdk.ToolSource = plugin{}

// Manifest names the plugin.
func (plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "interact", Description: "task list, subagents, skills and questions to the user", Carrier: sdk.CarrierBuiltin}
}

// Start does nothing: the tools need nothing but their calls.
func (plugin) Start(context.Context, sdk.Host) error { return nil }

// Close does nothing: nothing runs between calls.
func (plugin) Close(context.Context) error { return nil }

// Tools returns the tools.
func (plugin) Tools() []sdk.Tool {
	return []sdk.Tool{todowrite{}, task{}, skill{}, question{}}
}

func definition(id, description string, parameters []byte) sdk.ToolDefinition {
	return sdk.ToolDefinition{ID: id, Description: strings.TrimSpace(description), Parameters: parameters}
}

// decode reads the arguments of a call.
func decode(call *sdk.ToolCall, args any) error {
	if err := json.Unmarshal(call.Args, args); err != nil {
		return fmt.Errorf("%s: arguments: %w", call.Tool, err)
	}
	return nil
}

// missing is the error of a call that a host cannot serve.
func missing(tool, ability string) error {
	return fmt.Errorf("%s: this host does not offer it (%s)", tool, ability)
}

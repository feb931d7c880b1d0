// Package interact is the plugin with the tools that use only the host's abilities:
// todowrite, task, skill and question.
package interact

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// New returns the plugin, which has no state.
func New() sdk.Plugin { return plugin{} }

type plugin struct{}

var _ sdk.ToolSource = plugin{}

// Manifest describes the plugin.
func (plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "interact", Description: "task list, subagents, skills and questions to the user", Carrier: sdk.CarrierBuiltin}
}

// Start does nothing: the tools need only their calls.
func (plugin) Start(context.Context, sdk.Host) error { return nil }

// Close does nothing: no work runs between calls.
func (plugin) Close(context.Context) error { return nil }

// Tools returns the tools.
func (plugin) Tools() []sdk.Tool {
	return []sdk.Tool{todowrite{}, task{}, skill{}, question{}}
}

func definition(id, description string, parameters []byte) sdk.ToolDefinition {
	return sdk.ToolDefinition{ID: id, Description: strings.TrimSpace(description), Parameters: parameters}
}

// decode decodes the arguments of a call.
func decode(call *sdk.ToolCall, args any) error {
	if err := json.Unmarshal(call.Args, args); err != nil {
		return fmt.Errorf("%s: arguments: %w", call.Tool, err)
	}
	return nil
}

// missing returns the error for a host without the required ability.
func missing(tool, ability string) error {
	return fmt.Errorf("%s: not supported by this host (%s)", tool, ability)
}

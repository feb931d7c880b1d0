// Package interact is the plugin with the tools that use only the host's abilities:
// todowrite, task, skill and question.
package interact

import (
	"embed"
	"fmt"

	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/sdk"
)

// texts describe the tools; see tool.Spec.
//
//go:embed *.json question.md skill.md task.md todowrite.md
var texts embed.FS

// New returns the plugin, which has no state.
func New() sdk.Plugin {
	return tool.Plugin{
		Name: "interact", Description: "task list, subagents, skills and questions to the user",
		List: []sdk.Tool{todowrite(), task(), skill(), question()},
	}
}

// ability returns the host as an optional interface of sdk.ToolHost. name is the interface's, for the error.
func ability[T any](call *sdk.ToolCall, name string) (T, error) {
	host, ok := call.Host.(T)
	if !ok {
		return host, fmt.Errorf("%s: not supported by this host (%s)", call.Tool, name)
	}
	return host, nil
}

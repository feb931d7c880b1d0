package files

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// permissionEdit is the permission key of every tool that changes files.
const permissionEdit = "edit"

// New returns the plugin. It records, per session, the file contents the model has seen.
func New() sdk.Plugin {
	return &plugin{history: newHistory(), locks: newLocks()}
}

// plugin is the state shared by the tools.
type plugin struct {
	history *history
	locks   *locks
}

var (
	_ sdk.ToolSource       = (*plugin)(nil)
	_ sdk.ToolPreparer     = (*readTool)(nil)
	_ sdk.ToolPreparer     = listTool{}
	_ sdk.ToolPreparer     = (*fileTool)(nil)
	_ sdk.ToolPreparer     = (*patchTool)(nil)
	_ sdk.ToolPermission   = (*fileTool)(nil)
	_ sdk.ToolPermission   = (*patchTool)(nil)
	_ sdk.ToolAvailability = (*fileTool)(nil)
	_ sdk.ToolAvailability = (*patchTool)(nil)
)

// Manifest describes the plugin.
func (*plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{
		Name:        "files",
		Description: "Reads, lists, writes, edits and patches files.",
		Carrier:     sdk.CarrierBuiltin,
	}
}

// Start does nothing: the tools need only their calls.
func (*plugin) Start(context.Context, sdk.Host) error { return nil }

// Close does nothing: no work runs between calls.
func (*plugin) Close(context.Context) error { return nil }

// Tools returns read, list, write, edit and apply_patch.
func (p *plugin) Tools() []sdk.Tool {
	return []sdk.Tool{&readTool{p}, listTool{}, newWrite(p), newEdit(p), &patchTool{p}}
}

func definition(id, description, parameters string) sdk.ToolDefinition {
	return sdk.ToolDefinition{ID: id, Description: strings.TrimSpace(description), Parameters: json.RawMessage(parameters)}
}

// decode decodes the arguments of a call.
func decode(call *sdk.ToolCall, args any) error {
	if err := value.Decode(call.Args, args); err != nil {
		return fmt.Errorf("arguments of %s: %w", call.Tool, err)
	}
	return nil
}

// target is a file in the arguments of a call.
type target struct {
	abs     string   // as in the call, absolute; shown and recorded
	real    string   // the real path; opened and locked
	itself  string   // the real path of abs itself, which may be a link
	name    string   // for the model
	trusted []string // see projectfs.OpenDir
}

func newTarget(call *sdk.ToolCall, arg string) (target, error) {
	if arg == "" {
		return target{}, fmt.Errorf("%w: filePath is empty", paths.ErrPath)
	}
	abs, err := paths.Resolve(call, arg)
	if err != nil {
		return target{}, err
	}
	real, err := paths.Locate(call, abs)
	if err != nil {
		return target{}, err
	}
	return target{abs: abs, real: real, itself: paths.Itself(abs), name: paths.Display(call, abs), trusted: paths.Trusted(call)}, nil
}

// externals returns the permission requests for targets outside the project, each directory once.
func externals(call *sdk.ToolCall, targets ...target) []sdk.PermissionRequest {
	var requests []sdk.PermissionRequest
	asked := map[string]bool{}
	for _, t := range targets {
		request, needed := paths.External(call, t.abs)
		key := fmt.Sprint(request.Patterns)
		if needed && !asked[key] {
			asked[key] = true
			requests = append(requests, request)
		}
	}
	return requests
}

package files

import (
	"embed"
	"fmt"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/sdk"
)

// permissionEdit is the permission key of every tool that changes files.
const permissionEdit = "edit"

// texts describe the tools; see tool.Spec.
//
//go:embed *.json read.md list.md write.md edit.md apply_patch.md
var texts embed.FS

// New returns the plugin. It records, per session, the file contents the model has seen.
func New() sdk.Plugin {
	p := &plugin{history: newHistory()}
	return tool.Plugin{
		Name: "files", Description: "Reads, lists, writes, edits and patches files.",
		List: []sdk.Tool{p.read(), list(), p.fileTool(writeID), p.fileTool(editID), p.changer(patchID, readPatch)},
	}
}

// plugin is the state shared by the tools.
type plugin struct {
	history *history
	locks   locks
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

// permissions returns the permission requests of a call that does not change the file: the permission key with the file. metaKey is the
// key of the path in the metadata.
func (t target) permissions(call *sdk.ToolCall, key, metaKey string) []sdk.PermissionRequest {
	return append(externals(call, t), sdk.PermissionRequest{
		Permission: key, Patterns: paths.Patterns(call, t.abs), Always: []string{"*"}, Metadata: sdk.Object{metaKey: t.abs},
	})
}

package files

import (
	"context"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/sdk"
)

// fileArgs are the arguments of write and edit.
type fileArgs struct {
	FilePath   string `json:"filePath"`
	Content    string `json:"content"`
	OldString  string `json:"oldString"`
	NewString  string `json:"newString"`
	ReplaceAll bool   `json:"replaceAll"`
	target
}

// planner computes the change of a file, and the report for the model.
type planner func(ctx context.Context, call *sdk.ToolCall, in fileArgs) (*change, string, error)

// fileTool returns a tool that changes one file: edit or write. Execute plans the change again: calls of the same step may have changed
// the file since Prepare.
func fileTool(p *plugin, id string, plan planner) sdk.Tool {
	compute := func(ctx context.Context, call *sdk.ToolCall, in fileArgs) (*change, string, error) {
		c, report, err := plan(ctx, call, in)
		if err != nil {
			return nil, "", err
		}
		return c, report, c.compare(call)
	}
	spec := tool.Spec[fileArgs]{
		ID: id, Texts: texts,
		Read: func(call *sdk.ToolCall) (fileArgs, error) {
			in, err := tool.Args[fileArgs](call)
			if err == nil {
				in.target, err = newTarget(call, in.FilePath)
			}
			return in, err
		},
		Prepare: func(ctx context.Context, call *sdk.ToolCall, in fileArgs) ([]sdk.PermissionRequest, error) {
			c, _, err := compute(ctx, call, in)
			if err != nil {
				return nil, err
			}
			return c.permissions(ctx, call), nil
		},
		Run: func(ctx context.Context, call *sdk.ToolCall, in fileArgs) (*sdk.ToolResult, error) {
			defer p.locks.lock(in.real)()
			c, report, err := compute(ctx, call, in)
			if err == nil {
				err = p.store(call, c)
			}
			if err != nil {
				return nil, err
			}
			return &sdk.ToolResult{Title: paths.Title(call, c.abs), Output: report, Metadata: c.metadata()}, nil
		},
	}
	return changer{spec.Tool().(tool.Prepared), func(m *sdk.Model) bool { return !patchModel(m) }}
}

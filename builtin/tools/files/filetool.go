package files

import (
	"context"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/builtin/internal/tool"
	"github.com/tenonhq/tenon/sdk"
)

// fileCall is a call that changes one file.
type fileCall[A any] struct {
	args A
	target
}

// planner computes the change of a file, and the report for the model.
type planner[A any] func(ctx context.Context, call *sdk.ToolCall, t target, args A) (*change, string, error)

// fileTool returns a tool that changes one file, its argument filePath: edit or write. Execute plans the change again: calls of the
// same step may have changed the file since Prepare.
func fileTool[A any](p *plugin, id string, plan planner[A]) sdk.Tool {
	compute := func(ctx context.Context, call *sdk.ToolCall, in fileCall[A]) (*change, string, error) {
		c, report, err := plan(ctx, call, in.target, in.args)
		if err != nil {
			return nil, "", err
		}
		return c, report, c.compare(call)
	}
	spec := tool.Spec[fileCall[A]]{
		ID: id, Texts: texts, Read: readFileCall[A],
		Prepare: func(ctx context.Context, call *sdk.ToolCall, in fileCall[A]) ([]sdk.PermissionRequest, error) {
			c, _, err := compute(ctx, call, in)
			if err != nil {
				return nil, err
			}
			return c.permissions(call), nil
		},
		Run: func(ctx context.Context, call *sdk.ToolCall, in fileCall[A]) (*sdk.ToolResult, error) {
			unlock, err := p.locks.lock(ctx, in.real)
			if err != nil {
				return nil, err
			}
			defer unlock()
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

func readFileCall[A any](call *sdk.ToolCall) (in fileCall[A], err error) {
	if in.args, err = tool.Args[A](call); err != nil {
		return in, err
	}
	file, err := tool.Args[struct {
		FilePath string `json:"filePath"`
	}](call)
	if err == nil {
		in.target, err = newTarget(call, file.FilePath)
	}
	return in, err
}

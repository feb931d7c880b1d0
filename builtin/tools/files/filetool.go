package files

import (
	"context"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/sdk"
)

// fileTool is a tool that changes one file: edit or write.
type fileTool struct {
	*plugin
	definition sdk.ToolDefinition
	// plan computes the change of the file t, and the report for the model.
	plan func(ctx context.Context, p *plugin, call *sdk.ToolCall, t target) (*change, string, error)
}

// Definition describes the tool.
func (f *fileTool) Definition() sdk.ToolDefinition { return f.definition }

// Permission is edit, as for all tools that change files.
func (*fileTool) Permission() string { return permissionEdit }

// Available reports whether the model uses edit and write; see patchModel.
func (*fileTool) Available(model *sdk.Model, _ *sdk.Agent) bool { return !patchModel(model) }

// Prepare checks that the change applies and requests permission for it with its diff.
func (f *fileTool) Prepare(ctx context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	t, err := fileTarget(call)
	if err != nil {
		return nil, err
	}
	c, _, err := f.compute(ctx, call, t)
	if err != nil {
		return nil, err
	}
	return c.permissions(call), nil
}

// Execute changes the file. It plans the change again: calls of the same step may have changed the file since Prepare.
func (f *fileTool) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	t, err := fileTarget(call)
	if err != nil {
		return nil, err
	}
	unlock, err := f.locks.lock(ctx, t.real)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c, report, err := f.compute(ctx, call, t)
	if err != nil {
		return nil, err
	}
	if err := f.write(call, c); err != nil {
		return nil, err
	}
	return &sdk.ToolResult{Title: paths.Title(call, c.abs), Output: report, Metadata: c.metadata()}, nil
}

func (f *fileTool) compute(ctx context.Context, call *sdk.ToolCall, t target) (*change, string, error) {
	c, report, err := f.plan(ctx, f.plugin, call, t)
	if err != nil {
		return nil, "", err
	}
	return c, report, c.compare(call)
}

// fileTarget returns the file of a call with the argument filePath.
func fileTarget(call *sdk.ToolCall) (target, error) {
	var args struct {
		FilePath string `json:"filePath"`
	}
	if err := decode(call, &args); err != nil {
		return target{}, err
	}
	return newTarget(call, args.FilePath)
}

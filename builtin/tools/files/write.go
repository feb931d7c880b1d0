package files

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/sdk"
)

//go:embed write.md
var writeDescription string

const writeParameters = `{"type":"object","properties":{` +
	`"filePath":{"type":"string"},` +
	`"content":{"type":"string","description":"All of the new content"}},` +
	`"required":["filePath","content"],"additionalProperties":false}`

type writeTool struct{ *plugin }

type writeArgs struct {
	FilePath string `json:"filePath"`
	Content  string `json:"content"`
}

// Definition describes write.
func (*writeTool) Definition() sdk.ToolDefinition {
	return sdk.ToolDefinition{
		ID:          "write",
		Description: strings.TrimSpace(writeDescription),
		Parameters:  json.RawMessage(writeParameters),
	}
}

// Permission is edit, as for all tools that change files.
func (*writeTool) Permission() string { return permissionEdit }

// Available reports whether the model works with edit and write; see patchModel.
func (*writeTool) Available(model *sdk.Model, _ *sdk.Agent) bool { return !patchModel(model) }

// Prepare asks for the change with its diff.
func (w *writeTool) Prepare(ctx context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	c, err := w.plan(ctx, call)
	if err != nil {
		return nil, err
	}
	return c.permissions(call), nil
}

// Execute writes the file.
func (w *writeTool) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	var args writeArgs
	if err := decode(call, &args); err != nil {
		return nil, err
	}
	t, err := newTarget(call, args.FilePath)
	if err != nil {
		return nil, err
	}
	unlock, err := w.locks.lock(ctx, t.real)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c, err := w.plan(ctx, call)
	if err != nil {
		return nil, err
	}
	if err := w.write(call, c); err != nil {
		return nil, err
	}
	verb := "Created"
	if c.old != nil {
		verb = "Replaced the content of"
	}
	metadata := c.metadata()
	metadata["exists"] = c.old != nil
	return &sdk.ToolResult{
		Title:    paths.Title(call, c.abs),
		Output:   fmt.Sprintf("%s %s: %s.", verb, c.name, plural(countLines(args.Content), "line")),
		Metadata: metadata,
	}, nil
}

// plan computes the change. Models write \n: what the file had (byte order mark, \r\n) is kept, unless the
// content brings its own.
func (w *writeTool) plan(ctx context.Context, call *sdk.ToolCall) (*change, error) {
	var args writeArgs
	if err := decode(call, &args); err != nil {
		return nil, err
	}
	t, err := newTarget(call, args.FilePath)
	if err != nil {
		return nil, err
	}
	now, err := load(t)
	if err != nil {
		return nil, err
	}
	c := &change{target: t, old: now.info, before: now.content, after: []byte(args.Content)}
	if now.info == nil {
		return c, c.compare(call)
	}
	if isBinary(t.real, now.content) && attachable(now.content) == "" {
		return nil, fmt.Errorf("%q is a binary file, which cannot be read first; delete it if it is to be replaced", t.name)
	}
	if err := w.history.check(ctx, call, t, now.hash); err != nil {
		return nil, err
	}
	doc := newDocument(now.content)
	content := args.Content
	if !strings.Contains(content, "\r\n") {
		content = withEnding(content, doc.ending)
	}
	if doc.bom && !strings.HasPrefix(content, bom) {
		content = bom + content
	}
	c.after = []byte(content)
	return c, c.compare(call)
}

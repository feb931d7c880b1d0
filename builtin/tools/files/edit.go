package files

import (
	"bytes"
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/sdk"
)

//go:embed edit.md
var editDescription string

const editParameters = `{"type":"object","properties":{` +
	`"filePath":{"type":"string"},` +
	`"oldString":{"type":"string","description":"Text to replace"},` +
	`"newString":{"type":"string","description":"Text to put there"},` +
	`"replaceAll":{"type":"boolean","description":"Replace every occurrence; default false"}},` +
	`"required":["filePath","oldString","newString"],"additionalProperties":false}`

type editTool struct{ *plugin }

type editArgs struct {
	FilePath   string `json:"filePath"`
	OldString  string `json:"oldString"`
	NewString  string `json:"newString"`
	ReplaceAll bool   `json:"replaceAll"`
}

// Definition describes edit.
func (*editTool) Definition() sdk.ToolDefinition {
	return sdk.ToolDefinition{
		ID:          "edit",
		Description: strings.TrimSpace(editDescription),
		Parameters:  json.RawMessage(editParameters),
	}
}

// Permission is edit, as for all tools that change files.
func (*editTool) Permission() string { return permissionEdit }

// Available reports whether the model works with edit and write; see patchModel.
func (*editTool) Available(model *sdk.Model, _ *sdk.Agent) bool { return !patchModel(model) }

// Prepare makes sure that the edit applies and asks for it with its diff.
func (e *editTool) Prepare(ctx context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	c, _, err := e.plan(ctx, call)
	if err != nil {
		return nil, err
	}
	return c.permissions(call), nil
}

// Execute makes the edit, in the file as it is now: calls of the same step may have changed it since
// Prepare.
func (e *editTool) Execute(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	var args editArgs
	if err := decode(call, &args); err != nil {
		return nil, err
	}
	t, err := newTarget(call, args.FilePath)
	if err != nil {
		return nil, err
	}
	unlock, err := e.locks.lock(ctx, t.real)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c, report, err := e.plan(ctx, call)
	if err != nil {
		return nil, err
	}
	if err := e.write(call, c); err != nil {
		return nil, err
	}
	return &sdk.ToolResult{Title: paths.Title(call, c.abs), Output: report, Metadata: c.metadata()}, nil
}

// plan computes the change and what to report about it.
func (e *editTool) plan(ctx context.Context, call *sdk.ToolCall) (c *change, report string, err error) {
	var args editArgs
	if err := decode(call, &args); err != nil {
		return nil, "", err
	}
	t, err := newTarget(call, args.FilePath)
	if err != nil {
		return nil, "", err
	}
	if args.OldString == args.NewString {
		return nil, "", errors.New("oldString and newString are the same: there is nothing to change")
	}
	if args.OldString == "" {
		c, report, err = planNew(t, args.NewString)
	} else {
		c, report, err = e.planReplace(ctx, call, t, args)
	}
	if err != nil {
		return nil, "", err
	}
	return c, report, c.compare(call)
}

func planNew(t target, content string) (*change, string, error) {
	now, err := load(t)
	if err != nil {
		return nil, "", err
	}
	if now.info != nil {
		return nil, "", fmt.Errorf("%q exists and oldString is empty; give the text to replace, or use write to replace all of it", t.name)
	}
	return &change{target: t, after: []byte(content)}, fmt.Sprintf("Created %s: %s.", t.name, plural(countLines(content), "line")), nil
}

func (e *editTool) planReplace(ctx context.Context, call *sdk.ToolCall, t target, args editArgs) (*change, string, error) {
	now, err := e.loadText(ctx, call, t)
	if err != nil {
		return nil, "", err
	}
	doc := newDocument(now.content)
	f, err := locate(t.name, doc.text, toLF(args.OldString), args.ReplaceAll)
	if err != nil {
		return nil, "", err
	}
	replacements := make([]replacement, len(f.spans))
	for i, s := range f.spans {
		replacements[i] = replacement{s, args.NewString}
	}
	c := &change{target: t, old: now.info, before: now.content, after: doc.apply(replacements)}
	if bytes.Equal(c.before, c.after) {
		return nil, "", fmt.Errorf("%q already has newString at lines %s (matched %s): there is nothing to change",
			t.name, lineRange(doc.text, f.spans[0]), f.how)
	}
	return c, editReport(t, doc.text, f, args.NewString), nil
}

// editReport says where the edit was made, in lines of the file after it.
func editReport(t target, text string, f found, newString string) string {
	first := lineOf(text, f.spans[0].start)
	last := first + max(countLines(newString), 1) - 1
	var b strings.Builder
	switch {
	case len(f.spans) > 1:
		fmt.Fprintf(&b, "Edit applied to %s in %d places, from line %d on.", t.name, len(f.spans), first)
	case first == last:
		fmt.Fprintf(&b, "Edit applied to %s, line %d.", t.name, first)
	default:
		fmt.Fprintf(&b, "Edit applied to %s, lines %d-%d.", t.name, first, last)
	}
	if f.how != "" {
		fmt.Fprintf(&b, " oldString was matched %s: check the result.", f.how)
	}
	return b.String()
}

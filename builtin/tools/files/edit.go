package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

type editArgs struct {
	OldString  string `json:"oldString"`
	NewString  string `json:"newString"`
	ReplaceAll bool   `json:"replaceAll"`
}

func (p *plugin) edit() sdk.Tool {
	return fileTool(p, "edit", p.planEdit)
}

func (p *plugin) planEdit(ctx context.Context, call *sdk.ToolCall, t target, args editArgs) (*change, string, error) {
	switch args.OldString {
	case args.NewString:
		return nil, "", errors.New("oldString and newString are equal: nothing to change")
	case "":
		return planNew(t, args.NewString)
	}
	return p.planReplace(ctx, call, t, args)
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

func (p *plugin) planReplace(ctx context.Context, call *sdk.ToolCall, t target, args editArgs) (*change, string, error) {
	now, err := p.loadText(ctx, call, t)
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
		return nil, "", fmt.Errorf("%q already has newString at line %d (matched %s): nothing to change",
			t.name, lineOf(doc.text, f.spans[0].start), f.how)
	}
	return c, editReport(t, doc.text, f, args.NewString), nil
}

// editReport returns the line numbers of the edit in the new file.
func editReport(t target, text string, f found, newString string) string {
	first := lineOf(text, f.spans[0].start)
	last := first + max(countLines(newString), 1) - 1
	var b strings.Builder
	switch {
	case len(f.spans) > 1:
		fmt.Fprintf(&b, "Edit applied to %s in %d places, from line %d.", t.name, len(f.spans), first)
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

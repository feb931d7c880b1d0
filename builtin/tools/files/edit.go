package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/tenonhq/tenon/internal/media"
	"github.com/tenonhq/tenon/sdk"
)

// edit replaces a text in a file, or creates a file.
func (s *planning) edit(ctx context.Context, in operation) (*change, error) {
	switch in.OldString {
	case in.NewString:
		return nil, errors.New("oldString and newString are equal: nothing to change")
	case "":
		return planNew(in.target, in.NewString)
	}
	now, err := s.loadText(ctx, s.call, in.target)
	if err != nil {
		return nil, err
	}
	doc := newDocument(now.content)
	f, err := locate(in.name, doc.text, toLF(in.OldString), in.ReplaceAll)
	if err != nil {
		return nil, err
	}
	replacements := make([]replacement, len(f.spans))
	for i, s := range f.spans {
		replacements[i] = replacement{s, in.NewString}
	}
	c := &change{target: in.target, old: now.info, before: now.content, after: doc.apply(replacements), report: editReport(in.target, doc.text, f)}
	if bytes.Equal(c.before, c.after) {
		return nil, fmt.Errorf("%q already has newString at line %d (matched %s): nothing to change",
			in.name, lineOf(doc.text, f.spans[0].start), f.how)
	}
	return c, nil
}

func planNew(t target, content string) (*change, error) {
	now, err := load(t)
	if err != nil {
		return nil, err
	}
	if now.info != nil {
		return nil, fmt.Errorf("%q exists and oldString is empty; give the text to replace, or use write to replace all of it", t.name)
	}
	return &change{target: t, after: []byte(content), report: fmt.Sprintf("Created %s: %s.", t.name, plural(countLines(content), "line"))}, nil
}

// editReport returns the places of the edit in the new file.
func editReport(t target, text string, f found) string {
	report := fmt.Sprintf("Edit applied to %s at line %d.", t.name, lineOf(text, f.spans[0].start))
	if len(f.spans) > 1 {
		report = fmt.Sprintf("Edit applied to %s in %d places, from line %d.", t.name, len(f.spans), lineOf(text, f.spans[0].start))
	}
	if f.how != "" {
		report += fmt.Sprintf(" oldString was matched %s: check the result.", f.how)
	}
	return report
}

// write creates or replaces a file. It keeps the byte order mark and the line endings of an existing file, unless the content has its own: models
// write \n.
func (s *planning) write(ctx context.Context, t target, content string) (*change, error) {
	now, err := load(t)
	if err != nil {
		return nil, err
	}
	c := &change{target: t, old: now.info, before: now.content, extra: sdk.Object{"exists": now.info != nil}}
	lines := plural(countLines(content), "line")
	if now.info == nil {
		c.after = unsafe.Slice(unsafe.StringData(content), len(content)) // not copied: contents do not change
		c.report = fmt.Sprintf("Created %s: %s.", t.name, lines)
		return c, nil
	}
	if isBinary(t.real, now.content) && media.Detect(now.content) == "" {
		return nil, fmt.Errorf("%q is a binary file, which cannot be read first; delete it if you want to replace it", t.name)
	}
	if err := s.history.check(ctx, s.call, t, now.hash); err != nil {
		return nil, err
	}
	doc := newDocument(now.content)
	if !strings.Contains(content, "\r\n") {
		content = strings.ReplaceAll(content, "\n", doc.ending)
	}
	if doc.bom && !strings.HasPrefix(content, bom) {
		content = bom + content
	}
	c.after, c.report = []byte(content), fmt.Sprintf("Replaced the content of %s: %s.", t.name, lines)
	return c, nil
}

package files

import (
	"context"
	"fmt"
	"strings"
	"unsafe"

	"github.com/tenonhq/tenon/internal/media"
	"github.com/tenonhq/tenon/sdk"
)

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

package files

import (
	"context"
	"fmt"
	"strings"
	"unsafe"

	"github.com/tenonhq/tenon/internal/media"
	"github.com/tenonhq/tenon/sdk"
)

func (p *plugin) write() sdk.Tool {
	return fileTool(p, "write", p.planWrite)
}

// planWrite keeps the byte order mark and the line endings of an existing file, unless the content has its own: models write \n.
func (p *plugin) planWrite(ctx context.Context, call *sdk.ToolCall, in fileArgs) (*change, string, error) {
	t := in.target
	now, err := load(t)
	if err != nil {
		return nil, "", err
	}
	c := &change{target: t, old: now.info, before: now.content, extra: sdk.Object{"exists": now.info != nil}}
	lines := plural(countLines(in.Content), "line")
	if now.info == nil {
		c.after = unsafe.Slice(unsafe.StringData(in.Content), len(in.Content)) // not copied: contents do not change
		return c, fmt.Sprintf("Created %s: %s.", t.name, lines), nil
	}
	if isBinary(t.real, now.content) && media.Detect(now.content) == "" {
		return nil, "", fmt.Errorf("%q is a binary file, which cannot be read first; delete it if you want to replace it", t.name)
	}
	if err := p.history.check(ctx, call, t, now.hash); err != nil {
		return nil, "", err
	}
	doc := newDocument(now.content)
	content := in.Content
	if !strings.Contains(content, "\r\n") {
		content = strings.ReplaceAll(content, "\n", doc.ending)
	}
	if doc.bom && !strings.HasPrefix(content, bom) {
		content = bom + content
	}
	c.after = []byte(content)
	return c, fmt.Sprintf("Replaced the content of %s: %s.", t.name, lines), nil
}

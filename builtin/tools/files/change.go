package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// change is what a call is about to do to one file, computed in memory.
type change struct {
	target
	old    fs.FileInfo // nil: the file is created
	mode   fs.FileInfo // whose mode a created file gets; nil: the usual one
	before []byte
	after  []byte
	remove bool
	diff   diff
	// written describes the file with the new content, once that is in place.
	written fs.FileInfo
}

// current is a file as it is on disk.
type current struct {
	info    fs.FileInfo // nil: there is none
	content []byte
	hash    string
}

// load reads the file t, which may not exist yet. A file that is too large to be worked on in memory
// comes without its content; everything but a regular file is an error.
func load(t target) (current, error) {
	f, info, err := projectfs.Open(t.trusted, t.real)
	if errors.Is(err, fs.ErrNotExist) {
		return current{}, nil
	}
	if err != nil {
		return current{}, fmt.Errorf("%q: %w", t.name, err)
	}
	defer f.Close() // only read: an error of Close tells nothing
	content, err := io.ReadAll(io.LimitReader(f, maxHashed+1))
	if err != nil {
		return current{}, fmt.Errorf("%q: %w", t.name, err)
	}
	if len(content) > maxHashed {
		return current{info: info, hash: statHash(info)}, nil
	}
	return current{info, content, contentHash(content)}, nil
}

// loadText reads the text file t for a change to a part of it. It must exist and the model must have seen
// its content.
func (p *plugin) loadText(ctx context.Context, call *sdk.ToolCall, t target) (current, error) {
	c, err := load(t)
	if err != nil {
		return c, err
	}
	if c.info == nil {
		return c, notFound(call, t)
	}
	if c.content == nil && c.info.Size() > 0 {
		return c, fmt.Errorf("%q has more than %d MB; change it with a program such as sed", t.name, maxHashed>>20)
	}
	if isBinary(t.real, c.content) {
		return c, fmt.Errorf("%q is a binary file; use a program that knows its format", t.name)
	}
	return c, p.history.check(ctx, call, t, c.hash)
}

// compare fills in the diff.
func (c *change) compare(call *sdk.ToolCall) (err error) {
	c.diff, err = newDiff(paths.Title(call, c.abs), c.before, c.after)
	return err
}

// permissions returns what the change needs leave for.
func (c *change) permissions(call *sdk.ToolCall) []sdk.PermissionRequest {
	return append(externals(call, c.target), sdk.PermissionRequest{
		Permission: permissionEdit,
		Patterns:   paths.Patterns(call, c.abs),
		Always:     []string{"*"},
		Metadata:   sdk.Object{metaPath: c.abs, "diff": c.diff.text},
	})
}

// write puts the change in place and records that the model knows the new content.
func (p *plugin) write(call *sdk.ToolCall, c *change) error {
	at, err := c.make()
	if err != nil {
		return err
	}
	if err := at.write(c.after, c.old); err != nil {
		at.undo()
		return errors.Join(err, at.close())
	}
	c.written = at.info
	p.history.note(call.SessionID, c.real, c.hash())
	return at.close()
}

// hash names the content of the file after the change.
func (c *change) hash() string {
	if len(c.after) > maxHashed && c.written != nil {
		return statHash(c.written)
	}
	return contentHash(c.after)
}

// metadata describes the change to clients and to history.rebuild.
func (c *change) metadata() sdk.Object {
	return sdk.Object{
		metaPath: c.abs,
		metaHash: c.hash(),
		"diff":   c.diff.text,
		"filediff": map[string]any{
			"file": c.abs, "additions": c.diff.additions, "deletions": c.diff.deletions,
		},
		"files": []string{c.abs},
	}
}

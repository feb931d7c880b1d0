package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/linediff"
	"github.com/tenonhq/tenon/internal/media"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// plan computes the changes of a call in memory. Each operation sees the results of the previous ones, so a patch may
// contain a file more than once. It returns one change per file, in the order of their first operations.
func (p *plugin) plan(ctx context.Context, call *sdk.ToolCall, ops []operation) ([]*change, error) {
	s := &planning{plugin: p, call: call, files: map[string]*change{}}
	for _, op := range ops {
		c, err := s.file(op.target)
		if err == nil {
			err = s.apply(ctx, op, c)
		}
		if err != nil {
			return nil, err
		}
	}
	var changes []*change
	for _, c := range s.order {
		if c.old == nil && c.remove {
			continue // added, then deleted
		}
		if err := c.compare(call); err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	if len(changes) == 0 {
		return nil, fmt.Errorf("%w: no file is changed", errPatch)
	}
	return changes, nil
}

// planning is the state of the files after the operations so far.
type planning struct {
	*plugin
	call  *sdk.ToolCall
	files map[string]*change // by real path
	order []*change
}

// file returns the state of the file t after the operations so far. The file need not exist; a special file is an error.
func (s *planning) file(t target) (*change, error) {
	if c := s.files[t.real]; c != nil {
		return c, nil
	}
	c := &change{target: t}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("%q: %w", t.name, err)
	}
	s.files[t.real] = c
	s.order = append(s.order, c)
	return c, nil
}

// load reads the file as it is on disk. It keeps no content that is too large for memory.
func (c *change) load() error {
	f, info, err := projectfs.Open(c.trusted, c.real)
	if errors.Is(err, fs.ErrNotExist) {
		c.remove = true
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() // an error of Close does not matter after reading
	content, err := io.ReadAll(io.LimitReader(f, maxHashed+1))
	if err != nil {
		return err
	}
	if c.old = info; len(content) > maxHashed {
		c.found = statHash(info)
		return nil
	}
	c.before, c.after, c.found = content, content, contentHash(content)
	return nil
}

func (s *planning) apply(ctx context.Context, op operation, c *change) (err error) {
	switch op.kind {
	case writeID:
		return s.write(ctx, c, op.Content)
	case editID:
		return s.edit(ctx, c, op)
	case patchAdd:
		if !c.remove {
			return fmt.Errorf("%q already exists; change it with %q, or delete it first", c.name, patchUpdate+c.name)
		}
		c.remove = false
		c.after, _, err = patched(c.name, nil, op.hunks)
		return err
	case patchDelete:
		return s.delete(ctx, c)
	}
	if err = s.mayChange(ctx, c); err != nil {
		return err
	}
	var note string
	c.after, note, err = patched(c.name, c.after, op.hunks)
	c.report = cmp.Or(c.report, note)
	if err != nil || op.moveTo == "" || op.moved.abs == op.target.abs {
		return err
	}
	return s.move(c, op.moved)
}

// mayChange returns an error unless a part of the text can be changed: the file must exist, and the model must have seen its content.
func (s *planning) mayChange(ctx context.Context, c *change) error {
	switch {
	case c.remove:
		return s.missing(c)
	case c.old == nil: // the patch creates it
		return nil
	case c.before == nil:
		return fmt.Errorf("%q has more than %d MB; change it with a program such as sed", c.name, maxHashed>>20)
	case isBinary(c.real, c.before):
		return fmt.Errorf("%q is a binary file; use a program that knows its format", c.name)
	}
	return s.history.check(ctx, s.call, c.target, c.found, false)
}

// mayReplace returns an error unless an existing file can be replaced or deleted. otherwise is the remedy for a binary file.
func (s *planning) mayReplace(ctx context.Context, c *change, otherwise string) error {
	if isBinary(c.real, c.before) && media.Detect(c.before) == "" {
		return fmt.Errorf("%q is a binary file, which cannot be read first; %s", c.name, otherwise)
	}
	return s.history.check(ctx, s.call, c.target, c.found, true)
}

// missing returns the error for a file that does not exist, or that an earlier operation deleted.
func (s *planning) missing(c *change) error {
	_, outside := paths.External(s.call, c.abs)
	switch {
	case c.old == nil && outside: // not approved, so other names in the directory stay unknown
		return cmp.Or(misplaced(s.call, c.target), fmt.Errorf("%q: %w; look for it with glob", c.name, fs.ErrNotExist))
	case c.old == nil:
		return notFound(s.call, c.target)
	}
	return fmt.Errorf("%q does not exist: an earlier part of the patch deletes or moves it", c.name)
}

// create is the creation of a file by write or edit.
func (c *change) create(content string) {
	c.after, c.remove = []byte(content), false
	c.report = fmt.Sprintf("Created %s: %s.", c.name, plural(linediff.Count(content), "line"))
}

// write creates or replaces a file. It keeps the byte order mark and the line endings of an existing file, unless the content has its own: models
// write \n.
func (s *planning) write(ctx context.Context, c *change, content string) error {
	if c.remove {
		c.create(content)
		return nil
	}
	if err := s.mayReplace(ctx, c, "delete it if you want to replace it"); err != nil {
		return err
	}
	c.report = fmt.Sprintf("Replaced the content of %s: %s", c.name, plural(linediff.Count(content), "line"))
	if c.before != nil && !isBinary(c.real, c.before) { // nil: large
		c.report += fmt.Sprintf(" instead of %d", linediff.Count(string(c.before)))
	}
	c.report += "."
	doc := newDocument(c.before)
	if !strings.Contains(content, "\r\n") {
		content = strings.ReplaceAll(content, "\n", doc.ending)
	}
	if doc.bom && !strings.HasPrefix(content, bom) {
		content = bom + content
	}
	c.after = []byte(content)
	return nil
}

// delete removes a file; if it is a symbolic link, the link.
func (s *planning) delete(ctx context.Context, c *change) error {
	switch {
	case c.remove:
		return s.missing(c)
	case c.old == nil: // the patch creates it
	case c.itself != c.real && !paths.Inside(s.call, c.itself):
		return fmt.Errorf("%q is a link outside the project; delete it with a shell command", c.name)
	default:
		if err := s.mayReplace(ctx, c, "delete it with a shell command"); err != nil {
			return err
		}
	}
	c.gone()
	return nil
}

// gone makes the change a deletion. If the patch adds a file at the path again, it does not inherit the mode.
func (c *change) gone() { c.after, c.mode, c.remove = nil, nil, true }

// move moves the content and the mode of c to the file to. That file must not exist, unless the two names differ only in case.
func (s *planning) move(c *change, to target) error {
	other, err := s.file(to)
	switch {
	case err != nil:
		return fmt.Errorf("%q cannot be moved to %q: %w", c.name, to.name, err)
	case other.remove:
	case other.old == nil:
		return fmt.Errorf("%q cannot be moved to %q, which the patch creates", c.name, to.name)
	case other == c || c.old == nil || !os.SameFile(other.old, c.old):
		return fmt.Errorf("%q cannot be moved to %q, which exists; delete that first", c.name, to.name)
	}
	other.after, other.mode, other.remove = c.after, c.mode, false
	if other.mode == nil {
		other.mode = c.old
	}
	c.gone()
	return nil
}

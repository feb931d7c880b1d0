package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/media"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

// plan computes the changes of a call in memory. Each operation sees the results of the previous ones, so a patch may
// contain a file more than once. It returns one change per file, in the order of their first operations.
func (p *plugin) plan(ctx context.Context, call *sdk.ToolCall, ops []operation) ([]*change, error) {
	s := &planning{plugin: p, call: call, changes: map[string]*change{}}
	for _, op := range ops {
		var c *change
		var err error
		switch op.kind {
		case writeID:
			c, err = s.write(ctx, op.target, op.Content)
		case editID:
			c, err = s.edit(ctx, op)
		case patchAdd:
			err = s.add(op.target, []byte(op.Content))
		case patchDelete:
			err = s.delete(ctx, op.target)
		case patchUpdate:
			err = s.update(ctx, op)
		}
		if err != nil {
			return nil, err
		}
		if c != nil {
			s.record(c)
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
	call    *sdk.ToolCall
	changes map[string]*change // by real path
	order   []*change
}

func (s *planning) record(c *change) {
	s.changes[c.real] = c
	s.order = append(s.order, c)
}

// add creates the file t.
func (s *planning) add(t target, content []byte) error {
	if c := s.changes[t.real]; c != nil && c.remove {
		c.after, c.remove = content, false
		return nil
	}
	now, err := load(t)
	if err != nil {
		return err
	}
	if now.info != nil || s.changes[t.real] != nil {
		return fmt.Errorf("%q exists already; change it with %q, or delete it first", t.name, patchUpdate+t.name)
	}
	s.record(&change{target: t, after: content})
	return nil
}

// delete removes the file t; if it is a symbolic link, the link.
func (s *planning) delete(ctx context.Context, t target) error {
	if c := s.changes[t.real]; c != nil {
		if c.remove {
			return errRemoved(t)
		}
		c.gone()
		return nil
	}
	if t.itself != t.real && !paths.Inside(s.call, t.itself) {
		return fmt.Errorf("%q is a link outside the project; delete it with a shell command", t.name)
	}
	now, err := load(t)
	if err != nil {
		return err
	}
	if now.info == nil {
		return notFound(s.call, t)
	}
	if isBinary(t.real, now.content) && media.Detect(now.content) == "" {
		return fmt.Errorf("%q is a binary file, which cannot be read first; delete it with a shell command", t.name)
	}
	if err := s.history.check(ctx, s.call, t, now.hash); err != nil {
		return err
	}
	s.record(&change{target: t, old: now.info, before: now.content, remove: true})
	return nil
}

// update changes the file of op and, if moveTo is set, moves it.
func (s *planning) update(ctx context.Context, op operation) error {
	c := s.changes[op.target.real]
	if c == nil {
		now, err := s.loadText(ctx, s.call, op.target)
		if err != nil {
			return err
		}
		c = &change{target: op.target, old: now.info, before: now.content, after: now.content}
		s.record(c)
	}
	if c.remove {
		return errRemoved(op.target)
	}
	after, err := patched(c.name, c.after, op.hunks)
	if err != nil {
		return err
	}
	c.after = after
	if op.moveTo == "" || op.moved.abs == op.target.abs {
		return nil
	}
	return s.move(c, op.moved)
}

// gone makes the change a deletion. A file added later at the same path has its own mode.
func (c *change) gone() { c.after, c.mode, c.remove = nil, nil, true }

// lstat returns the information about the target without following a link.
func (t target) lstat() (fs.FileInfo, error) {
	dir, name, err := projectfs.Parent(t.trusted, t.itself)
	if err != nil {
		return nil, err
	}
	defer dir.Close() // only read from
	return dir.Lstat(name)
}

func errRemoved(t target) error {
	return fmt.Errorf("%q does not exist any more: the patch deletes or moves it", t.name)
}

// move moves the content of c and its mode to the file to, which must not exist.
func (s *planning) move(c *change, to target) error {
	other := s.changes[to.real]
	switch info, err := to.lstat(); {
	case err == nil && (other == nil || !other.remove) && (c.old == nil || !os.SameFile(info, c.old)):
		return fmt.Errorf("%q cannot be moved to %q, which exists; delete that first", c.name, to.name)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%q cannot be moved to %q: %w", c.name, to.name, err)
	case other != nil && !other.remove:
		return fmt.Errorf("%q cannot be moved to %q, which the patch creates", c.name, to.name)
	case other == nil:
		other = &change{target: to}
		s.record(other)
	}
	other.after, other.mode = c.after, c.mode
	if other.mode == nil {
		other.mode = c.old
	}
	other.remove = false
	c.gone()
	return nil
}

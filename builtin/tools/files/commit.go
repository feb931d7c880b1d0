package files

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
)

// commit puts all changes in place or none. Everything that is likely to fail (no space, no right to
// write) happens before the first file changes; should a later step fail, the earlier ones are undone.
func commit(changes []*change) error {
	var t transaction
	if err := t.apply(changes); err != nil {
		return errors.Join(err, t.rollback())
	}
	return t.finish()
}

// transaction knows how to undo what was done.
type transaction struct {
	undo  []func() error
	aside []string // deleted files under other names
}

// apply stages all content, then takes the deleted files away, then puts the new content in place.
func (t *transaction) apply(changes []*change) error {
	written := make([]*staged, len(changes))
	for i, c := range changes {
		if c.remove {
			continue
		}
		var err error
		if written[i], err = t.stage(c); err != nil {
			return err
		}
	}
	// Deletions first: a file that is moved to its own name in another case would else delete itself.
	for _, c := range changes {
		if c.remove {
			if err := t.setAside(c.abs); err != nil {
				return err
			}
		}
	}
	for i, c := range changes {
		if c.remove {
			continue
		}
		if err := written[i].commit(); err != nil {
			return err
		}
		t.onRollback(func() error {
			if c.old == nil {
				return os.Remove(c.real)
			}
			return writeAtomic(c.real, c.before, c.old)
		})
	}
	return nil
}

// stage writes the new content of a file beside it.
func (t *transaction) stage(c *change) (*staged, error) {
	undo, err := makeParents(c.real)
	if err != nil {
		return nil, err
	}
	t.onRollback(func() error { undo(); return nil })
	s, err := stage(c.real, c.after, c.old)
	if err != nil {
		return nil, err
	}
	t.onRollback(func() error { return ignoreMissing(s.discard()) })
	if c.mode != nil {
		if err := os.Chmod(s.temp, c.mode.Mode()); err != nil {
			return nil, explain(c.real, err)
		}
	}
	return s, nil
}

func (t *transaction) onRollback(f func() error) { t.undo = append(t.undo, f) }

// setAside takes the file out of sight; finish deletes it and rollback brings it back.
func (t *transaction) setAside(path string) error {
	aside := filepath.Join(filepath.Dir(path), ".tenon-"+rand.Text())
	if err := os.Rename(path, aside); err != nil {
		return explain(path, err)
	}
	t.aside = append(t.aside, aside)
	t.onRollback(func() error { return os.Rename(aside, path) })
	return nil
}

// rollback undoes everything, the last step first.
func (t *transaction) rollback() error {
	var errs []error
	for i := len(t.undo) - 1; i >= 0; i-- {
		errs = append(errs, t.undo[i]())
	}
	return errors.Join(errs...)
}

// finish deletes what was set aside. The changes are made by then: an error only tells what is left over.
func (t *transaction) finish() error {
	var errs []error
	for _, path := range t.aside {
		errs = append(errs, os.Remove(path))
	}
	return errors.Join(errs...)
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

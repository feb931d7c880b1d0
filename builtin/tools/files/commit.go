package files

import (
	"crypto/rand"
	"errors"
	"io/fs"
)

// commit applies all changes or none. Everything likely to fail (no space, no permission)
// happens before the first file changes; if a later step fails, the earlier ones are undone.
func commit(changes []*change) error {
	var t transaction
	err := t.apply(changes)
	if err != nil {
		err = errors.Join(err, t.rollback())
	} else {
		err = t.finish()
	}
	return errors.Join(err, t.close())
}

// transaction is a sequence of steps that can be undone.
type transaction struct {
	undo   []func() error
	aside  []func() error // delete the files that were set aside
	places []*location
}

// apply stages all content, then moves the deleted files aside, then puts the new content in place.
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
	// Deletions come first: otherwise a file that is renamed to a different case would delete itself.
	for _, c := range changes {
		if c.remove {
			if err := t.setAside(c); err != nil {
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
				return written[i].dir().Remove(written[i].name)
			}
			before, err := written[i].stage(c.before, c.old, nil)
			if err == nil {
				err = before.commit()
			}
			return err
		})
	}
	return nil
}

// stage writes the new content of a file to a temporary file in the same directory.
func (t *transaction) stage(c *change) (*staged, error) {
	p, err := c.make()
	if err != nil {
		return nil, err
	}
	t.places = append(t.places, p)
	t.onRollback(func() error { p.undo(); return nil })
	s, err := p.stage(c.after, c.old, c.mode)
	if err != nil {
		return nil, err
	}
	c.written = p.info
	t.onRollback(func() error { return ignoreMissing(s.file.Discard()) })
	return s, nil
}

func (t *transaction) onRollback(f func() error) { t.undo = append(t.undo, f) }

// setAside renames the file, or the link; finish deletes it and rollback restores it.
func (t *transaction) setAside(c *change) error {
	p, err := c.at(c.itself)
	if err != nil {
		return explain(c.abs, err)
	}
	t.places = append(t.places, p)
	aside := ".tenon-" + rand.Text()
	if err := p.dir().Rename(p.name, aside); err != nil {
		return explain(c.abs, err)
	}
	t.aside = append(t.aside, func() error { return p.dir().Remove(aside) })
	t.onRollback(func() error { return p.dir().Rename(aside, p.name) })
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

// finish deletes the files that were set aside. The changes are complete; an error only reports leftover files.
func (t *transaction) finish() error {
	var errs []error
	for _, remove := range t.aside {
		errs = append(errs, remove())
	}
	return errors.Join(errs...)
}

func (t *transaction) close() error {
	var errs []error
	for _, p := range t.places {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

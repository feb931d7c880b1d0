package files

import (
	"crypto/rand"
	"errors"
	"slices"
)

// commit applies all changes or none. Everything likely to fail (no space, no permission) happens before the first file changes; if a
// later step fails, the earlier ones are undone.
func commit(changes []*change) error {
	var t transaction
	err := t.apply(changes)
	if err != nil {
		slices.Reverse(t.undo)
		err = errors.Join(err, run(t.undo))
	} else {
		err = run(t.aside) // the changes are complete; an error only reports leftover files
	}
	return errors.Join(err, run(t.close))
}

// transaction is a sequence of steps that can be undone.
type transaction struct {
	undo  []func() error
	aside []func() error // delete the files that were set aside
	close []func() error // close the directories
}

// run calls all functions.
func run(steps []func() error) error {
	var err error
	for _, step := range steps {
		err = errors.Join(err, step())
	}
	return err
}

// apply stages all content, then moves the deleted files aside, then puts the new content in place.
func (t *transaction) apply(changes []*change) error {
	written := make([]*location, len(changes))
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
			if err := written[i].stage(c.before, c.old, nil); err != nil {
				return err
			}
			return written[i].commit()
		})
	}
	return nil
}

// stage writes the new content of a file to a temporary file in the same directory.
func (t *transaction) stage(c *change) (*location, error) {
	p, err := c.make()
	if err != nil {
		return nil, err
	}
	t.close = append(t.close, p.close)
	t.onRollback(func() error { p.undo(); return nil })
	if err := p.stage(c.after, c.old, c.mode); err != nil {
		return nil, err
	}
	c.written = p.info
	staged := p.file // a rollback stages the old content, too
	t.onRollback(staged.Discard)
	return p, nil
}

func (t *transaction) onRollback(f func() error) { t.undo = append(t.undo, f) }

// setAside renames the file, or the link, until the transaction deletes or restores it.
func (t *transaction) setAside(c *change) error {
	p, err := c.at(c.itself)
	if err != nil {
		return explain(c.abs, err)
	}
	t.close = append(t.close, p.close)
	aside := ".tenon-" + rand.Text()
	if err := p.dir().Rename(p.name, aside); err != nil {
		return explain(c.abs, err)
	}
	t.aside = append(t.aside, func() error { return p.dir().Remove(aside) })
	t.onRollback(func() error { return p.dir().Rename(aside, p.name) })
	return nil
}

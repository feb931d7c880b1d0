package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tenonhq/tenon/host/store"
)

// staged is a session that is written out of sight.
type staged struct {
	from    *store.Import
	hidden  string // the name of its head until it is published
	columns []any
	late    []change // what makes a session be seen, for the end
}

// Import writes the sessions out of sight, in many short transactions, and publishes them in one.
func (s *Store) Import(ctx context.Context, sessions []store.Import, replace bool) error {
	list := make([]staged, len(sessions))
	for i := range sessions {
		var err error
		list[i].from = &sessions[i]
		if list[i].columns, err = sessionColumns(sessions[i].Session); err != nil {
			return fmt.Errorf("import session %s: %w", sessions[i].Session.ID, err)
		}
	}
	// First without any effect, so that what must be refused is refused at once.
	if err := s.ifRoom(ctx, list, replace, func(context.Context, *conn, []int64) error { return nil }); err != nil {
		return err
	}
	left, err := s.leftovers(ctx)
	if err != nil {
		return err
	}
	s.clearAll(ctx, left)
	for i := range list {
		if err = s.stage(ctx, &list[i]); err != nil {
			err = fmt.Errorf("import session %s: %w", list[i].from.Session.ID, err)
			break
		}
	}
	var old []string
	if err == nil {
		err = s.ifRoom(ctx, list, replace, func(ctx context.Context, c *conn, keys []int64) (err error) {
			old, err = s.publish(ctx, c, list, keys)
			return err
		})
	}
	if err != nil {
		var written []string
		for i := range list {
			written = append(written, list[i].hidden)
		}
		s.clearAll(ctx, written)
		return err
	}
	s.clearAll(ctx, old)
	return nil
}

// ifRoom calls f, in a transaction, with the keys of what is to be replaced, or refuses.
func (s *Store) ifRoom(ctx context.Context, list []staged, replace bool, f func(context.Context, *conn, []int64) error) error {
	return outlast(ctx, func() error {
		return s.submit(ctx, func(ctx context.Context, c *conn) error {
			keys, err := s.makeRoom(ctx, c, list, replace)
			if err != nil {
				return err
			}
			return f(ctx, c, keys)
		})
	})
}

// makeRoom returns the keys of what is to be replaced, or refuses.
func (s *Store) makeRoom(ctx context.Context, c *conn, list []staged, replace bool) (old []int64, err error) {
	seen := map[int64]bool{}
	for i := range list {
		id := list[i].from.Session.ID
		keys, err := s.familyOf(ctx, c, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err == nil && !replace {
			err = refuse(fmt.Errorf("session %s: %w", id, store.ErrExists))
		}
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if !seen[key] {
				seen[key] = true
				old = append(old, key)
			}
		}
	}
	return old, nil
}

// stage writes all that belongs to the session but what makes it be seen.
func (s *Store) stage(ctx context.Context, m *staged) error {
	m.hidden = hiddenID()
	err := s.submit(ctx, func(ctx context.Context, c *conn) error {
		if err := s.node.hold(); err != nil {
			return refuse(s.explainFile(err))
		}
		// The first change is that of the session itself, which is made at the end.
		_, err := c.exec(ctx, "INSERT INTO head(id, seq, epoch, node, pid, turn) VALUES(?, 1, 0, ?, ?, 0)", m.hidden, s.node.id, int64(os.Getpid()))
		return err
	})
	var ready []change
	for next := 0; err == nil && (next < len(m.from.Ops) || len(ready) > 0); {
		for ; err == nil && next < len(m.from.Ops) && len(ready) < 64; next++ {
			ready, err = s.prepare(m, next, ready)
		}
		if err != nil {
			break
		}
		made := 0
		err = s.submit(ctx, func(ctx context.Context, c *conn) (err error) {
			made, err = m.write(ctx, c, ready)
			return err
		})
		if err == nil {
			if ready = ready[made:]; next < len(m.from.Ops) || len(ready) > 0 {
				err = pause(ctx)
			}
		}
	}
	return err
}

// prepare adds an op to the changes that are ready to be written, or to those for the end.
func (s *Store) prepare(m *staged, i int, ready []change) ([]change, error) {
	op := m.from.Ops[i]
	change, err := s.encode(m.from.Session.ID, op)
	if err != nil {
		return nil, fmt.Errorf("change %d: %w", i, err)
	}
	switch op.(type) {
	case store.PutSession, store.SetTurn:
		m.late = append(m.late, change)
		return ready, nil
	}
	return append(ready, change), nil
}

// write makes changes until a portion is full and returns how many.
func (m *staged) write(ctx context.Context, c *conn, ready []change) (made int, err error) {
	h, err := readHead(ctx, c, m.hidden)
	if err != nil {
		return 0, err
	}
	x := &tx{ctx: ctx, c: c, session: h.key, seq: h.seq}
	for made < len(ready) && x.written < portion {
		if err := ready[made](x); err != nil {
			return 0, err
		}
		made++
	}
	return made, x.exec("UPDATE head SET seq = ? WHERE key = ?", int64(x.seq), h.key)
}

// publish puts the sessions in the place of old ones and returns the names of what is left of those.
func (s *Store) publish(ctx context.Context, c *conn, list []staged, old []int64) ([]string, error) {
	left, err := s.hideAll(ctx, c, old)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if err := list[i].publish(ctx, c); err != nil {
			return nil, fmt.Errorf("import session %s: %w", list[i].from.Session.ID, err)
		}
	}
	return left, nil
}

func (m *staged) publish(ctx context.Context, c *conn) error {
	id := m.from.Session.ID
	before, err := c.number(ctx, "SELECT epoch FROM gone WHERE id = ?", id)
	if err != nil {
		return err
	}
	h, err := readHead(ctx, c, m.hidden)
	if err != nil {
		return err
	}
	x := &tx{ctx: ctx, c: c, session: h.key}
	if err := x.putSession(m.columns); err != nil { // takes number 1
		return err
	}
	x.seq = h.seq
	for _, change := range m.late {
		if err := change(x); err != nil {
			return err
		}
	}
	return x.exec("UPDATE head SET id = ?, seq = ?, epoch = ?, node = '', pid = 0 WHERE key = ?", id, int64(x.seq), before+1, h.key)
}

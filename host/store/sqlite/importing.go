package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/tenonhq/tenon/host/store"
)

// staged is a session that is written out of sight.
type staged struct {
	id      string
	hidden  string // the name of its head until it is published
	columns []any
	ops     []store.Op
	late    []store.Op // changes that make a session visible
}

func newStaged(in *store.Import) (*staged, error) {
	m := &staged{id: in.Session.ID, hidden: hiddenID()}
	var err error
	if m.columns, err = sessionColumns(in.Session); err != nil {
		return nil, fmt.Errorf("import session %s: %w", m.id, err)
	}
	for _, op := range in.Ops {
		switch op.(type) {
		case store.PutSession, store.SetTurn:
			m.late = append(m.late, op)
		default:
			m.ops = append(m.ops, op)
		}
	}
	return m, nil
}

// Import writes the sessions out of sight, in many short transactions, and publishes them in one.
func (s *Store) Import(ctx context.Context, sessions []store.Import, replace bool) error {
	list := make([]*staged, len(sessions))
	for i := range sessions {
		var err error
		if list[i], err = newStaged(&sessions[i]); err != nil {
			return err
		}
	}
	// First without any effect: an import that is refused writes nothing.
	if err := s.ifRoom(ctx, list, replace, func(context.Context, *conn, []int64) error { return nil }); err != nil {
		return err
	}
	left, err := s.leftovers(ctx)
	if err != nil {
		return err
	}
	s.clearAll(ctx, left)
	written, old := []string{}, []string{}
	for i := 0; err == nil && i < len(list); i++ {
		written = append(written, list[i].hidden)
		err = s.stage(ctx, list[i])
	}
	if err == nil {
		err = s.ifRoom(ctx, list, replace, func(ctx context.Context, c *conn, keys []int64) (err error) {
			old, err = s.publish(ctx, c, list, keys)
			return err
		})
	}
	if err != nil {
		s.clearAll(ctx, written)
		return err
	}
	s.clearAll(ctx, old)
	return nil
}

// ifRoom calls f, in a transaction, with the keys of the sessions to be replaced, or refuses.
func (s *Store) ifRoom(ctx context.Context, list []*staged, replace bool, f func(context.Context, *conn, []int64) error) error {
	return outlast(ctx, func() error {
		return s.submit(ctx, func(ctx context.Context, c *conn) error {
			var old []int64
			for _, m := range list {
				keys, err := s.familyOf(ctx, c, m.id)
				if errors.Is(err, store.ErrNotFound) {
					continue
				}
				if err == nil && !replace {
					err = refuse(fmt.Errorf("session %s: %w", m.id, store.ErrExists))
				}
				if err != nil {
					return err
				}
				old = append(old, keys...)
			}
			slices.Sort(old) // one session may be in two families
			return f(ctx, c, slices.Compact(old))
		})
	})
}

// stage writes the rows of the session below a hidden head.
func (s *Store) stage(ctx context.Context, m *staged) error {
	err := s.submit(ctx, func(ctx context.Context, c *conn) error {
		if err := s.node.hold(); err != nil {
			return refuse(s.explainFile(err))
		}
		// The first sequence number is that of the session row, which publish writes.
		_, err := c.exec(ctx, "INSERT INTO head(id, seq, epoch, node, pid, turn) VALUES(?, 1, 0, ?, ?, 0)", m.hidden, s.node.id, int64(os.Getpid()))
		return err
	})
	for rest := m.ops; err == nil && len(rest) > 0; {
		made := 0
		err = s.submit(ctx, func(ctx context.Context, c *conn) (err error) {
			made, err = s.writePortion(ctx, c, m, rest)
			return err
		})
		if err != nil {
			break // the write may still happen: its variables belong to it
		}
		if rest = rest[made:]; len(rest) > 0 {
			err = pause(ctx)
		}
	}
	return err
}

// writePortion makes changes until a portion is full and returns how many.
func (s *Store) writePortion(ctx context.Context, c *conn, m *staged, ops []store.Op) (made int, err error) {
	h, err := readHead(ctx, c, m.hidden)
	if err != nil {
		return 0, err
	}
	x := &tx{ctx: ctx, c: c, session: h.key, seq: h.seq}
	for made < len(ops) && x.written < portion {
		if err := s.make(x, m, ops[made]); err != nil {
			return 0, err
		}
		made++
	}
	return made, x.exec("UPDATE head SET seq = ? WHERE key = ?", int64(x.seq), h.key)
}

func (s *Store) make(x *tx, m *staged, op store.Op) error {
	change, err := s.encode(m.id, op)
	if err == nil {
		err = change(x)
	}
	if err != nil {
		return fmt.Errorf("import session %s: %w", m.id, err)
	}
	return nil
}

// publish replaces old sessions by the staged ones and returns the hidden heads of the old ones.
func (s *Store) publish(ctx context.Context, c *conn, list []*staged, old []int64) ([]string, error) {
	left, err := s.hideAll(ctx, c, old)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		before, err := c.number(ctx, "SELECT epoch FROM gone WHERE id = ?", m.id)
		if err != nil {
			return nil, err
		}
		h, err := readHead(ctx, c, m.hidden)
		if err != nil {
			return nil, err
		}
		x := &tx{ctx: ctx, c: c, session: h.key}
		if err := x.putSession(m.columns); err != nil { // takes number 1
			return nil, fmt.Errorf("import session %s: %w", m.id, err)
		}
		x.seq = h.seq
		for _, op := range m.late {
			if err := s.make(x, m, op); err != nil {
				return nil, err
			}
		}
		const show = "UPDATE head SET id = ?, seq = ?, epoch = ?, node = '', pid = 0 WHERE key = ?"
		if err := x.exec(show, m.id, int64(x.seq), before+1, h.key); err != nil {
			return nil, err
		}
	}
	return left, nil
}

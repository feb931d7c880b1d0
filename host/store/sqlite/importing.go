package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenonhq/tenon/host/store"
)

// imported is one session ready to be stored.
type imported struct {
	id      string
	columns []any
	changes []change
}

// Import stores sessions in one transaction.
func (s *Store) Import(ctx context.Context, sessions []store.Import, replace bool) error {
	list := make([]imported, len(sessions))
	for i, v := range sessions {
		var err error
		if list[i], err = s.encodeImport(v); err != nil {
			return fmt.Errorf("import session %s: %w", v.Session.ID, err)
		}
	}
	return outlast(ctx, func() error {
		return s.submit(ctx, func(ctx context.Context, c *conn) error {
			if err := s.makeRoom(ctx, c, list, replace); err != nil {
				return err
			}
			for i := range list {
				if err := list[i].store(ctx, c); err != nil {
					return fmt.Errorf("import session %s: %w", list[i].id, err)
				}
			}
			return nil
		})
	})
}

func (s *Store) encodeImport(v store.Import) (out imported, err error) {
	out.id = v.Session.ID
	if out.columns, err = sessionColumns(v.Session); err != nil {
		return out, err
	}
	out.changes = make([]change, len(v.Ops))
	for i, op := range v.Ops {
		if out.changes[i], err = s.encode(out.id, op); err != nil {
			return out, fmt.Errorf("change %d: %w", i, err)
		}
	}
	return out, nil
}

// makeRoom removes what is to be replaced, or refuses. It looks at all before it changes anything.
func (s *Store) makeRoom(ctx context.Context, c *conn, list []imported, replace bool) error {
	old := map[int64]bool{}
	for i := range list {
		keys, err := s.familyOf(ctx, c, list[i].id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err == nil && !replace {
			err = refuse(fmt.Errorf("session %s: %w", list[i].id, store.ErrExists))
		}
		if err != nil {
			return err
		}
		for _, key := range keys {
			old[key] = true
		}
	}
	for key := range old {
		if err := remove(ctx, c, key); err != nil {
			return err
		}
	}
	return nil
}

func (m *imported) store(ctx context.Context, c *conn) error {
	before, err := c.number(ctx, "SELECT epoch FROM gone WHERE id = ?", m.id)
	if err != nil {
		return err
	}
	const insert = "INSERT INTO head(id, seq, epoch, node, pid, turn) VALUES(?, 1, ?, '', 0, 0) RETURNING key"
	key, err := c.number(ctx, insert, m.id, before+1)
	if err != nil {
		return err
	}
	x := &tx{ctx: ctx, c: c, session: key}
	if err := x.putSession(m.columns); err != nil {
		return err
	}
	for i, change := range m.changes {
		if err := change(x); err != nil {
			return fmt.Errorf("change %d: %w", i, err)
		}
	}
	return x.exec("UPDATE head SET seq = ? WHERE key = ?", int64(x.seq), key)
}

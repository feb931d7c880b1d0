package sqlite

import (
	"context"
	"fmt"
	"os"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// Create stores a new session and claims it.
func (s *Store) Create(ctx context.Context, v *sdk.Session) (store.Token, error) {
	id := v.ID
	columns, err := sessionColumns(v)
	if err != nil {
		return store.Token{}, fmt.Errorf("create session %s: %w", id, err)
	}
	var epoch int64
	err = s.submit(ctx, func(ctx context.Context, c *conn) error {
		if n, err := c.number(ctx, "SELECT count(*) FROM head WHERE id = ?", id); err != nil || n > 0 {
			if err == nil {
				err = refuse(fmt.Errorf("session %s: %w", id, store.ErrExists))
			}
			return err
		}
		if err := s.node.hold(); err != nil {
			return refuse(s.explainFile(err))
		}
		before, err := c.number(ctx, "SELECT epoch FROM gone WHERE id = ?", id)
		if err != nil {
			return err
		}
		epoch = before + 1
		const insert = "INSERT INTO head(id, seq, epoch, node, pid, turn) VALUES(?, 1, ?, ?, ?, 0) RETURNING key"
		key, err := c.number(ctx, insert, id, epoch, s.node.id, int64(os.Getpid()))
		if err != nil {
			return err
		}
		return (&tx{ctx: ctx, c: c, session: key}).putSession(columns)
	})
	if err != nil {
		return store.Token{}, err
	}
	return store.Token{Session: id, Epoch: uint64(epoch)}, nil
}

// Claim takes the session from a dead node, or again from this one.
func (s *Store) Claim(ctx context.Context, session string) (store.Token, error) {
	var token store.Token
	err := outlast(ctx, func() (err error) {
		token, err = s.claim(ctx, session)
		return err
	})
	return token, err
}

func (s *Store) claim(ctx context.Context, session string) (store.Token, error) {
	var epoch uint64
	err := s.submit(ctx, func(ctx context.Context, c *conn) error {
		h, err := readHead(ctx, c, session)
		if err != nil {
			return err
		}
		if err := s.node.hold(); err != nil {
			return refuse(s.explainFile(err))
		}
		if err := s.free(session, h.node, h.pid); err != nil {
			return err
		}
		epoch = h.epoch + 1
		_, err = c.exec(ctx, "UPDATE head SET epoch = ?, node = ?, pid = ? WHERE key = ?",
			int64(epoch), s.node.id, int64(os.Getpid()), h.key)
		return err
	})
	if err != nil {
		return store.Token{}, err
	}
	return store.Token{Session: session, Epoch: epoch}, nil
}

// free refuses when another live node owns the session.
func (s *Store) free(session, node string, pid int) error {
	if node == s.node.id || !s.node.lives(node) {
		return nil
	}
	return refuse(&store.OwnedError{Session: session, PID: pid})
}

// Release gives the session up, unless it was claimed again since.
func (s *Store) Release(ctx context.Context, t store.Token) error {
	return s.submit(ctx, func(ctx context.Context, c *conn) error {
		_, err := c.exec(ctx, "UPDATE head SET node = '', pid = 0 WHERE id = ? AND epoch = ? AND node = ?",
			t.Session, int64(t.Epoch), s.node.id)
		return err
	})
}

const openTurns = "SELECT id, node FROM head WHERE turn = 1 ORDER BY id"

// Interrupted lists the sessions with an open turn that no live node owns.
func (s *Store) Interrupted(ctx context.Context) (out []string, err error) {
	lives := map[string]bool{}
	err = s.read(ctx, func(c *conn) error {
		return c.query(ctx, openTurns, func(r row) error {
			node := r.text(1)
			alive, known := lives[node]
			if !known {
				alive = s.node.lives(node)
				lives[node] = alive
			}
			if !alive {
				out = append(out, r.text(0))
			}
			return nil
		})
	})
	return out, err
}

// Delete removes the session and its descendants.
func (s *Store) Delete(ctx context.Context, id string) error {
	return outlast(ctx, func() error { return s.delete(ctx, id) })
}

func (s *Store) delete(ctx context.Context, id string) error {
	var left []string
	err := s.submit(ctx, func(ctx context.Context, c *conn) error {
		keys, err := s.familyOf(ctx, c, id)
		if err != nil {
			return err
		}
		left, err = s.hideAll(ctx, c, keys)
		return err
	})
	if err != nil {
		return err
	}
	s.clearAll(ctx, left)
	return nil
}

const family = `WITH RECURSIVE family(key, id) AS (
		SELECT key, id FROM head WHERE id = ?
		UNION SELECT s.key, s.id FROM session s JOIN family f ON s.parent = f.id
	) SELECT h.key, h.id, h.node, h.pid FROM family JOIN head h USING(key)`

// familyOf returns the keys of the session and its descendants. It refuses when one is not free.
func (s *Store) familyOf(ctx context.Context, c *conn, id string) (keys []int64, err error) {
	var owned error
	err = c.query(ctx, family, func(r row) error {
		keys = append(keys, r.int(0))
		if owned == nil {
			owned = s.free(r.text(1), r.text(2), int(r.int(3)))
		}
		return nil
	}, id)
	if err == nil && len(keys) == 0 {
		err = refuse(fmt.Errorf("session %s: %w", id, store.ErrNotFound))
	}
	if err == nil {
		err = owned
	}
	return keys, err
}

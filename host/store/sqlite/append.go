package sqlite

import (
	"context"
	"fmt"

	"github.com/tenonhq/tenon/host/store"
)

// change is one encoded Op, ready to be made.
type change func(*tx) error

// tx is one Append while it is made, inside a transaction.
type tx struct {
	ctx     context.Context
	c       *conn
	session int64
	seq     uint64
	written int // bytes, about
}

// Append makes the changes in one transaction with those of other callers.
func (s *Store) Append(ctx context.Context, t store.Token, ops []store.Op) (uint64, error) {
	changes := make([]change, len(ops))
	for i, op := range ops {
		var err error
		if changes[i], err = s.encode(t.Session, op); err != nil {
			return 0, fmt.Errorf("append to session %s: change %d: %w", t.Session, i, err)
		}
	}
	var seq uint64
	err := s.submit(ctx, func(ctx context.Context, c *conn) (err error) {
		seq, err = s.apply(ctx, c, t, changes)
		return err
	})
	if err != nil {
		return 0, err
	}
	return seq, nil
}

func (s *Store) apply(ctx context.Context, c *conn, t store.Token, changes []change) (uint64, error) {
	h, err := readHead(ctx, c, t.Session)
	if err != nil {
		return 0, err
	}
	if h.node != s.node.id || h.epoch != t.Epoch {
		return 0, refuse(fmt.Errorf("session %s: %w", t.Session, store.ErrFenced))
	}
	x := &tx{ctx: ctx, c: c, session: h.key, seq: h.seq}
	for i, change := range changes {
		if err := change(x); err != nil {
			return 0, fmt.Errorf("append to session %s: change %d: %w", t.Session, i, err)
		}
	}
	if x.seq != h.seq {
		err = x.exec("UPDATE head SET seq = ? WHERE key = ?", int64(x.seq), x.session)
	}
	return x.seq, err
}

// head is the row of a session that every write looks at.
type head struct {
	key   int64
	seq   uint64
	epoch uint64
	node  string
	pid   int
}

// readHead refuses with store.ErrNotFound.
func readHead(ctx context.Context, c *conn, session string) (h head, err error) {
	found, err := c.first(ctx, "SELECT key, seq, epoch, node, pid FROM head WHERE id = ?", func(r row) {
		h = head{r.int(0), uint64(r.int(1)), uint64(r.int(2)), r.text(3), int(r.int(4))}
	}, session)
	if err == nil && !found {
		err = refuse(fmt.Errorf("session %s: %w", session, store.ErrNotFound))
	}
	return h, err
}

// stamp takes the next sequence number of the session.
func (x *tx) stamp() (int64, error) {
	stamp, err := stampsOf(x.session).after(x.session<<seqBits|int64(x.seq), "changes of a session")
	x.seq = seqOf(stamp)
	return stamp, err
}

func (x *tx) exec(sql string, args ...any) error {
	for _, a := range args {
		switch a := a.(type) {
		case string:
			x.written += len(a)
		case []byte:
			x.written += len(a)
		}
	}
	_, err := x.c.exec(x.ctx, sql, args...)
	return err
}

// last returns the greatest key in the span, or zero. The query is for one key between two.
func (x *tx) last(query string, in span) (int64, error) {
	return x.c.number(x.ctx, query, in.low, in.high)
}

// find returns the key of the row with the identifier, or zero.
func (x *tx) find(query, id string, in span) (int64, error) {
	return x.c.number(x.ctx, query, id, in.low, in.high)
}

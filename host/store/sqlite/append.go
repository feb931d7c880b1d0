package sqlite

import (
	"context"
	"fmt"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// edit is a change of one session, inside a transaction.
type edit struct {
	*database.Tx
	session int64 // key
	seq     uint64
}

// change is an encoded Op.
type change func(*edit)

// Append makes the changes in one transaction, which other callers share.
func (s *Store) Append(ctx context.Context, t store.Token, ops []store.Op) (uint64, error) {
	changes := make([]change, len(ops))
	for i, op := range ops {
		var err error
		if changes[i], err = s.encode(t.Session, op); err != nil {
			return 0, fmt.Errorf("append to session %s: change %d: %w", t.Session, i, err)
		}
	}
	var seq uint64
	if err := s.submit(ctx, func(x *database.Tx) { seq = s.apply(x, t, changes) }); err != nil {
		return 0, err
	}
	return seq, nil
}

func (s *Store) apply(x *database.Tx, t store.Token, changes []change) uint64 {
	h := readHead(x, t.Session)
	if h.node != s.node.ID || h.epoch != t.Epoch {
		x.Fail(refuse(fmt.Errorf("session %s: %w", t.Session, store.ErrFenced)))
		return 0
	}
	e := &edit{Tx: x, session: h.key, seq: h.seq}
	for i, change := range changes {
		if change(e); x.Err() != nil {
			x.Annotate("append to session %s: change %d", t.Session, i)
			return 0
		}
	}
	if e.seq != h.seq {
		e.storeSeq()
	}
	return e.seq
}

// head is the row of a session that every write reads.
type head struct {
	key   int64
	seq   uint64
	epoch uint64
	node  string
	pid   int
}

// readHead fails with store.ErrNotFound, as a refusal.
func readHead(x *database.Tx, session string) (h head) {
	found := x.First("SELECT key, seq, epoch, node, pid FROM head WHERE id = ?", func(r database.Row) {
		h = head{r.Int(0), uint64(r.Int(1)), uint64(r.Int(2)), r.Text(3), int(r.Int(4))}
	}, session)
	if !found {
		x.Fail(refuse(fmt.Errorf("session %s: %w", session, store.ErrNotFound)))
	}
	return h
}

func (x *edit) storeSeq() { x.Exec("UPDATE head SET seq = ? WHERE key = ?", int64(x.seq), x.session) }

// stamp takes the next sequence number of the session.
func (x *edit) stamp() int64 {
	stamp := x.next(stampsOf(x.session), x.session<<seqBits|int64(x.seq), "changes of a session")
	x.seq = seqOf(stamp)
	return stamp
}

// next returns the key after last in the span.
func (x *edit) next(in span, last int64, what string) int64 {
	key, err := in.after(last, what)
	if err != nil {
		x.Fail(err)
	}
	return key
}

// Queries for the last key of a span.
const (
	lastMessage = "SELECT key FROM message WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1"
	lastPart    = "SELECT key FROM part WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1"
	lastEntry   = "SELECT key FROM ledger WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1"
)

// append returns the key after the last one of the span. The query is one of the constants above.
func (x *edit) append(query string, in span, what string) int64 {
	return x.next(in, x.Number(query, in.low, in.high), what)
}

// find returns the key of the row with the identifier, or zero. The query is findMessage or findPart.
func (x *edit) find(query, id string, in span) int64 { return x.Number(query, id, in.low, in.high) }

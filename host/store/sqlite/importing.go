package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// staged is a session that is written invisibly.
type staged struct {
	id      string
	hidden  string // identifier of its head until it is published
	columns []any  // of its row, which makes it visible
	ops     []store.Op
}

func newStaged(in *store.Import) (*staged, error) {
	columns, err := sessionColumns(in.Session)
	if slices.ContainsFunc(in.Ops, func(op store.Op) bool { _, row := op.(store.PutSession); return row }) {
		err = errors.New("its operations must not put the session")
	}
	if err != nil {
		return nil, fmt.Errorf("import session %s: %w", in.Session.ID, err)
	}
	return &staged{id: in.Session.ID, hidden: hiddenID(), columns: columns, ops: in.Ops}, nil
}

// Import writes the sessions invisibly, in many short transactions, and publishes them in one.
func (s *Store) Import(ctx context.Context, sessions []store.Import, replace bool) error {
	list := make([]*staged, len(sessions))
	for i := range sessions {
		var err error
		if list[i], err = newStaged(&sessions[i]); err != nil {
			return err
		}
	}
	// A refused import writes nothing.
	if err := s.ifRoom(ctx, list, replace, func(*database.Tx, []int64) {}); err != nil {
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
		err = s.ifRoom(ctx, list, replace, func(x *database.Tx, keys []int64) { old = s.publish(x, list, keys) })
	}
	if err != nil {
		s.clearAll(ctx, written)
		return err
	}
	s.clearAll(ctx, old)
	return nil
}

// ifRoom calls f in a transaction, with the keys of the sessions to replace. It fails if the import must be refused.
func (s *Store) ifRoom(ctx context.Context, list []*staged, replace bool, f func(x *database.Tx, old []int64)) error {
	return s.submitAlone(ctx, func(x *database.Tx) {
		var old []int64
		for _, m := range list {
			keys, owned := s.familyOf(x, m.id)
			x.Fail(owned)
			if len(keys) > 0 && !replace {
				x.Fail(refuse(fmt.Errorf("session %s: %w", m.id, store.ErrExists)))
			}
			old = append(old, keys...)
		}
		slices.Sort(old) // one session may be in two families
		f(x, slices.Compact(old))
	})
}

// encodeAhead is the number of changes that are encoded before a transaction; a portion rarely has more.
const encodeAhead = 64

// stage writes the rows of the session below a hidden head. It encodes them before it takes the lock.
func (s *Store) stage(ctx context.Context, m *staged) error {
	err := s.submit(ctx, func(x *database.Tx) {
		s.hold(x)
		// The first sequence number belongs to the session row, which publish writes.
		x.Exec("INSERT INTO head(id, seq, epoch, node, pid, turn) VALUES(?, 1, 0, ?, ?, 0)", m.hidden, s.node.ID, int64(os.Getpid()))
	})
	var next []change
	for rest := m.ops; err == nil && len(next)+len(rest) > 0; {
		for len(next) < encodeAhead && len(rest) > 0 {
			change, err := s.encode(m.id, rest[0])
			if err != nil {
				return fmt.Errorf("import session %s: %w", m.id, err)
			}
			next, rest = append(next, change), rest[1:]
		}
		made := 0
		_, err = s.portion(ctx, func(x *database.Tx) (done bool) {
			made = writePortion(x, m, next)
			return made == len(next) && len(rest) == 0
		})
		if err != nil {
			break // the job may still run and use next
		}
		next = next[made:]
	}
	return err
}

// writePortion makes changes until a portion is full, and returns their number.
func writePortion(x *database.Tx, m *staged, changes []change) (made int) {
	h := readHead(x, m.hidden)
	e := &edit{Tx: x, session: h.key, seq: h.seq}
	for made < len(changes) && x.Written < portionBytes && x.Err() == nil {
		changes[made](e)
		made++
	}
	e.storeSeq()
	x.Annotate("import session %s", m.id)
	return made
}

// publish replaces the old sessions by the staged ones, and returns the hidden heads of the old ones.
func (s *Store) publish(x *database.Tx, list []*staged, old []int64) []string {
	heads := make([]head, len(list))
	for i, m := range list {
		heads[i] = readHead(x, m.hidden) // before any change: it may refuse
	}
	left := s.hideAll(x, old)
	for i, m := range list {
		before := x.Number("SELECT epoch FROM gone WHERE id = ?", m.id)
		(&edit{Tx: x, session: heads[i].key}).putSession(m.columns) // takes number 1
		x.Exec("UPDATE head SET id = ?, epoch = ?, node = '', pid = 0 WHERE key = ?", m.id, before+1, heads[i].key)
		x.Annotate("import session %s", m.id)
	}
	return left
}

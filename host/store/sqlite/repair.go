package sqlite

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/host/store"
)

// repairTries bounds how often Repair looks again at a session that was changed meanwhile.
const repairTries = 5

var errChanged = errors.New("session is changed by another process: try again")

// Repair removes damaged rows of a session in one transaction. They are looked for before it: a transaction that came upon damage
// of the file's structure is not one to write in.
func (s *Store) Repair(ctx context.Context, session string, keep func([]store.Aside) error) (err error) {
	for range repairTries {
		var seq int64
		var found []broken
		err = s.readSession(ctx, session, func(c *conn, key int64) (err error) {
			if seq, err = c.number(ctx, "SELECT seq FROM head WHERE key = ?", key); err == nil {
				found, err = s.examine(ctx, c, key, session)
			}
			return err
		})
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(found), func(b broken) bool { return !b.unreadable })
		found = slices.DeleteFunc(found, func(b broken) bool { return b.unreadable })
		err = outlast(ctx, func() error {
			return s.submit(ctx, func(ctx context.Context, c *conn) error {
				return s.repair(ctx, c, session, seq, found, keep)
			})
		})
		if !errors.Is(err, errChanged) {
			return cmp.Or(err, s.damageError(damages(left)))
		}
	}
	return err
}

func (s *Store) repair(ctx context.Context, c *conn, session string, seq int64, found []broken, keep func([]store.Aside) error) error {
	h, err := readHead(ctx, c, session)
	if err != nil {
		return err
	}
	if err := s.free(session, h.node, h.pid); err != nil {
		return err
	}
	if h.seq != uint64(seq) {
		return refuse(errChanged)
	}
	if len(found) == 0 {
		return nil
	}
	asides := make([]store.Aside, len(found))
	for i := range found {
		asides[i] = found[i].Aside
	}
	if err := keep(asides); err != nil {
		return refuse(err)
	}
	x := &tx{ctx: ctx, c: c, session: h.key, seq: h.seq}
	for i := range found {
		if err := found[i].setAside(x); err != nil {
			return err
		}
	}
	return x.exec("UPDATE head SET seq = ? WHERE key = ?", int64(x.seq), x.session)
}

// setAside removes the row, or puts what is known without it in its place.
func (b *broken) setAside(x *tx) error {
	switch b.Type {
	case store.DamagedSession:
		columns, err := sessionColumns(b.session)
		if err != nil {
			return err
		}
		return x.putSession(columns)
	case store.DamagedMessage:
		return b.replaceMessage(x)
	case store.DamagedPart:
		if err := x.c.execAll(x.ctx, []string{unindexSpan, "DELETE FROM delta WHERE part BETWEEN ? AND ?", "DELETE FROM part WHERE key BETWEEN ? AND ?"}, b.key, b.key); err != nil {
			return err
		}
		return x.noteRemoved(rowPartRemoved, b.ID)
	case store.DamagedTodos:
		return x.exec("DELETE FROM todo WHERE session = ?", b.key)
	case store.DamagedLedger:
		return x.exec("DELETE FROM ledger WHERE key = ?", b.key)
	case store.DamagedPrompt:
		return x.exec("UPDATE prompt SET data = NULL WHERE session = ? AND id = ?", x.session, b.ID)
	case store.DamagedBlob:
		return b.dropBlob(x)
	}
	return nil
}

func (b *broken) replaceMessage(x *tx) error {
	if b.inPlace == nil {
		if err := x.exec("DELETE FROM message WHERE key = ?", b.key); err != nil {
			return err
		}
		return x.noteRemoved(rowMessageRemoved, b.ID)
	}
	data, err := encodeJSON(b.inPlace)
	if err != nil {
		return err
	}
	stamp, err := x.stamp()
	if err != nil {
		return err
	}
	return x.exec("INSERT OR REPLACE INTO message(key, stamp, id, data) VALUES(?, ?, ?, ?)", b.key, stamp, b.ID, data)
}

// dropBlob removes the blob for all sessions, because as long as it is there nobody can store the same content again. Calls of this
// session refer to it no more: their preview is what is left.
func (b *broken) dropBlob(x *tx) error {
	if err := x.c.execAll(x.ctx, []string{
		"DELETE FROM blob_session WHERE blob IN (SELECT key FROM blob WHERE hash = ?)", "DELETE FROM blob WHERE hash = ?",
	}, b.ID); err != nil {
		return err
	}
	for _, call := range b.calls {
		without := *call
		without.State.Metadata = maps.Clone(call.State.Metadata)
		delete(without.State.Metadata, "outputPath")
		put, err := encodePart(call.SessionID, store.PutPart{Part: &without})
		if err == nil {
			err = put(x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

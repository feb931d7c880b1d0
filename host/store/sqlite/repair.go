package sqlite

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// repairTries is the maximum number of attempts to repair a session that another process changes at the same time.
const repairTries = 5

var errChanged = errors.New("another process is changing the session: try again")

// Repair removes the damaged rows of a session in one transaction. It finds them before: a transaction that found damage to the structure of
// the file must not write.
func (s *Store) Repair(ctx context.Context, session string, keep func([]store.Aside) error) (err error) {
	for range repairTries {
		var seq int64
		var found findings
		err = s.readSession(ctx, session, func(x *view, key int64) {
			seq = x.Number("SELECT seq FROM head WHERE key = ?", key)
			x.examine(key, session)
			found, x.findings = x.findings, nil
		})
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(found), func(b broken) bool { return !b.unreadable })
		found = slices.DeleteFunc(found, func(b broken) bool { return b.unreadable })
		err = s.submitAlone(ctx, func(x *database.Tx) { s.repair(x, session, seq, found, keep) })
		if !errors.Is(err, errChanged) {
			return cmp.Or(err, s.damageError(left.damages()))
		}
	}
	return err
}

func (s *Store) repair(x *database.Tx, session string, seq int64, found findings, keep func([]store.Aside) error) {
	h := readHead(x, session)
	x.Fail(s.free(session, h.node, h.pid))
	if h.seq != uint64(seq) {
		x.Fail(refuse(errChanged))
	}
	if x.Err() != nil || len(found) == 0 {
		return
	}
	asides := make([]store.Aside, len(found))
	for i := range found {
		asides[i] = found[i].Aside
	}
	if err := keep(asides); err != nil {
		x.Fail(refuse(err))
		return
	}
	e := &edit{Tx: x, session: h.key, seq: h.seq}
	for i := range found {
		found[i].setAside(e)
	}
	e.storeSeq()
}

// setAside removes the row, or replaces it by the data that is known from elsewhere.
func (b *broken) setAside(x *edit) {
	switch b.Type {
	case store.DamagedSession:
		columns, err := sessionColumns(b.session)
		x.Fail(err)
		x.putSession(columns)
	case store.DamagedMessage:
		b.replaceMessage(x)
	case store.DamagedPart:
		x.ExecAll(dropParts(), b.key, b.key)
		x.noteRemoved(rowPartRemoved, b.ID)
	case store.DamagedTodos:
		x.Exec("DELETE FROM todo WHERE session = ?", b.key)
	case store.DamagedLedger:
		x.Exec("DELETE FROM ledger WHERE key = ?", b.key)
	case store.DamagedPrompt:
		x.Exec("UPDATE prompt SET data = NULL WHERE session = ? AND id = ?", x.session, b.ID)
	case store.DamagedBlob:
		b.dropBlob(x)
	}
}

func (b *broken) replaceMessage(x *edit) {
	if b.inPlace == nil {
		x.Exec("DELETE FROM message WHERE key = ?", b.key)
		x.noteRemoved(rowMessageRemoved, b.ID)
		return
	}
	data, err := encodeJSON(b.inPlace)
	x.Fail(err)
	x.Exec("INSERT OR REPLACE INTO message(key, stamp, id, data) VALUES(?, ?, ?, ?)", b.key, x.stamp(), b.ID, data)
}

// dropBlob removes the blob for all sessions, because no session can store the same content again while it exists. It removes the references
// of this session's calls, of which only the previews remain.
func (b *broken) dropBlob(x *edit) {
	x.ExecAll([]string{
		"DELETE FROM blob_session WHERE blob IN (SELECT key FROM blob WHERE hash = ?)", "DELETE FROM blob WHERE hash = ?",
	}, b.ID)
	for _, call := range b.calls {
		without := *call
		without.State.Metadata = maps.Clone(call.State.Metadata)
		delete(without.State.Metadata, "outputPath")
		put, err := encodePart(call.SessionID, store.PutPart{Part: &without})
		if err != nil {
			x.Fail(err)
			return
		}
		put(x)
	}
}

package sqlite

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/sdk"
)

func (x *edit) putLedger(message, purpose, entries string) {
	key := x.append(lastEntry, stampsOf(x.session), "ledger entries of a session")
	x.Exec("INSERT INTO ledger(key, message, purpose, entries) VALUES(?, ?, ?, ?)", key, message, purpose, entries)
}

const (
	entriesOf = "SELECT key, message, purpose, CAST(entries AS BLOB) FROM ledger WHERE key BETWEEN ?1 AND ?2 AND (?3 = '' OR message = ?3) ORDER BY key"
	// lastEntriesOf reads in the other direction.
	lastEntriesOf = entriesOf + " DESC"
)

// Ledger returns the ledger entries in the order they were appended.
func (s *Store) Ledger(ctx context.Context, session, messageID string) (out []store.LedgerRow, err error) {
	err = s.readSession(ctx, session, func(x *view, key int64) { out = x.ledger(key, session, messageID) })
	return out, err
}

func (x *view) ledger(key int64, session, message string) []store.LedgerRow {
	in := stampsOf(key)
	read := func(query string) (list []store.LedgerRow) {
		x.Each(query, func(r database.Row) {
			row := store.LedgerRow{MessageID: r.Text(1), Purpose: sdk.Purpose(r.Text(2)), Entries: r.Bytes(3)}
			in.low = max(in.low, r.Int(0)+1)
			if !json.Valid(row.Entries) {
				x.note(store.Damage{Type: store.DamagedLedger, Session: session, Message: row.MessageID}, r.Int(0), row.Entries, errContent)
				return
			}
			list = append(list, row)
		}, in.low, in.high, message)
		return list
	}
	out := read(entriesOf)
	if x.Damaged() {
		x.structure(session, "a range of ledger entries cannot be read")
		rest := read(lastEntriesOf)
		x.Damaged()
		slices.Reverse(rest)
		out = append(out, rest...)
	}
	return out
}

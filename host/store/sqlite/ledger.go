package sqlite

import (
	"context"
	"encoding/json"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/sdk"
)

func (x *edit) putLedger(message, purpose, entries string) {
	key := x.append(lastEntry, stampsOf(x.session), "ledger entries of a session")
	x.Exec("INSERT INTO ledger(key, message, purpose, entries) VALUES(?, ?, ?, ?)", key, message, purpose, entries)
}

const entriesOf = "SELECT message, purpose, CAST(entries AS BLOB) FROM ledger WHERE key BETWEEN ?1 AND ?2 AND (?3 = '' OR message = ?3) ORDER BY key"

// Ledger returns the ledger entries in the order they were appended.
func (s *Store) Ledger(ctx context.Context, session, messageID string) (out []store.LedgerRow, err error) {
	var damaged []store.Damage
	err = s.readSession(ctx, session, func(c *database.Conn, key int64) error {
		in := stampsOf(key)
		return c.Query(ctx, entriesOf, func(r database.Row) error {
			row := store.LedgerRow{MessageID: r.Text(0), Purpose: sdk.Purpose(r.Text(1)), Entries: r.Bytes(2)}
			if json.Valid(row.Entries) {
				out = append(out, row)
			} else {
				damaged = append(damaged, store.Damage{Type: store.DamagedLedger, Session: session, Message: row.MessageID, Problem: errContent.Error()})
			}
			return nil
		}, in.low, in.high, messageID)
	})
	if err != nil {
		return nil, err
	}
	return out, s.damageError(damaged)
}

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
	var damaged []store.Damage
	damage := func(message, problem string) {
		damaged = append(damaged, store.Damage{Type: store.DamagedLedger, Session: session, Message: message, Problem: problem})
	}
	err = s.readSession(ctx, session, func(c *database.Conn, key int64) error {
		in := stampsOf(key)
		read := func(query string) (list []store.LedgerRow, last int64, err error) {
			err = c.Query(ctx, query, func(r database.Row) error {
				last = r.Int(0)
				entries := store.LedgerRow{MessageID: r.Text(1), Purpose: sdk.Purpose(r.Text(2)), Entries: r.Bytes(3)}
				if !json.Valid(entries.Entries) {
					damage(entries.MessageID, errContent.Error())
					return nil
				}
				list = append(list, entries)
				return nil
			}, in.low, in.high, messageID)
			return list, last, err
		}
		list, last, err := read(entriesOf)
		if out = list; !database.Corrupt(err) {
			return err
		}
		damage("", "a range of entries cannot be read")
		in.low = max(in.low, last+1)
		rest, _, err := read(lastEntriesOf)
		slices.Reverse(rest)
		if out = append(out, rest...); database.Corrupt(err) {
			err = nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, s.damageError(damaged)
}

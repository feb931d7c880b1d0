package sqlite

import (
	"context"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

func (x *tx) putLedger(message, purpose, entries string) error {
	in := stampsOf(x.session)
	last, err := x.last("SELECT key FROM ledger WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1", in)
	if err != nil {
		return err
	}
	key, err := in.after(last, "ledger entries of a session")
	if err != nil {
		return err
	}
	return x.exec("INSERT INTO ledger(key, message, purpose, entries) VALUES(?, ?, ?, ?)", key, message, purpose, entries)
}

// Ledger returns the ledger entries in the order they were appended.
func (s *Store) Ledger(ctx context.Context, session, messageID string) (out []store.LedgerRow, err error) {
	err = s.readSession(ctx, session, func(c *conn, key int64) error {
		in := stampsOf(key)
		const query = "SELECT message, purpose, CAST(entries AS BLOB) FROM ledger" +
			" WHERE key BETWEEN ?1 AND ?2 AND (?3 = '' OR message = ?3) ORDER BY key"
		return c.query(ctx, query, func(r row) error {
			out = append(out, store.LedgerRow{MessageID: r.text(0), Purpose: sdk.Purpose(r.text(1)), Entries: r.bytes(2)})
			return nil
		}, in.low, in.high, messageID)
	})
	return out, err
}

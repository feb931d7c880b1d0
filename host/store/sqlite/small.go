package sqlite

// The rows that hang on a session beside its messages: prompts, tasks, ledger.

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

const (
	lastPrompt     = "SELECT max(number) FROM prompt WHERE session = ? AND data IS NOT NULL"
	waitingPrompts = "SELECT id, CAST(data AS BLOB) FROM prompt WHERE session = ? AND data IS NOT NULL ORDER BY number"
)

// Submit queues a prompt, whoever owns the session.
func (s *Store) Submit(ctx context.Context, p store.Prompt) error {
	data := string(p.Data)
	return s.submit(ctx, func(ctx context.Context, c *conn) error {
		h, err := readHead(ctx, c, p.SessionID)
		if err != nil {
			return err
		}
		last, err := c.number(ctx, lastPrompt, h.key)
		if err != nil {
			return err
		}
		_, err = c.exec(ctx, "INSERT INTO prompt(session, id, number, data) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING",
			h.key, p.ID, last+1, data)
		return err
	})
}

// Prompts lists the waiting prompts, oldest first.
func (s *Store) Prompts(ctx context.Context, session string) (out []store.Prompt, err error) {
	err = s.readSession(ctx, session, func(c *conn, key int64) error {
		return c.query(ctx, waitingPrompts, func(r row) error {
			out = append(out, store.Prompt{ID: r.text(0), SessionID: session, Data: r.bytes(1)})
			return nil
		}, key)
	})
	return out, err
}

func (x *tx) takePrompt(id string) error {
	n, err := x.c.exec(x.ctx, "UPDATE prompt SET data = NULL WHERE session = ? AND id = ? AND data IS NOT NULL", x.session, id)
	if err == nil && n == 0 {
		err = fmt.Errorf("prompt %s: %w", id, store.ErrNotFound)
	}
	return err
}

func encodeTodos(todos []sdk.Todo) (change, error) {
	if todos == nil {
		todos = []sdk.Todo{}
	}
	data, err := json.Marshal(todos)
	if err != nil {
		return nil, err
	}
	return func(x *tx) error {
		stamp, err := x.stamp()
		if err != nil {
			return err
		}
		return x.exec("INSERT OR REPLACE INTO todo(session, stamp, data) VALUES(?, ?, ?)", x.session, stamp, string(data))
	}, nil
}

// Todos returns the task list.
func (s *Store) Todos(ctx context.Context, session string) (out []sdk.Todo, err error) {
	var data []byte
	err = s.readSession(ctx, session, func(c *conn, key int64) error {
		_, err := c.first(ctx, "SELECT CAST(data AS BLOB) FROM todo WHERE session = ?", func(r row) { data = r.bytes(0) }, key)
		return err
	})
	if err != nil || data == nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, s.damaged("task list of session "+session, err)
	}
	return out, nil
}

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

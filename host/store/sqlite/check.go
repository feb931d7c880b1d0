package sqlite

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/sdk"
)

// broken is a row that cannot be read.
type broken struct {
	store.Aside
	key        int64
	unreadable bool            // SQLite cannot read it, and therefore cannot remove it
	inPlace    sdk.Message     // replacement of a message whose parts can be read
	session    *sdk.Session    // replacement of a session row
	calls      []*sdk.ToolPart // the calls that refer to the blob
}

func newBroken(d store.Damage, key int64, data []byte, problem error) *broken {
	d.Problem = problem.Error()
	return &broken{Aside: store.Aside{Damage: d, Data: data}, key: key, unreadable: problem == errPage}
}

// structure returns damage to pages of the file.
func structure(session, problem string) broken {
	return broken{Aside: store.Aside{Damage: store.Damage{Type: store.DamagedStore, Session: session, Problem: problem}}, unreadable: true}
}

func damages(list []broken) []store.Damage {
	var out []store.Damage
	for i := range list {
		out = append(out, list[i].Damage)
	}
	return out
}

// integrity lists at most 20 problems of the structure.
const integrity = "PRAGMA integrity_check(20)"

// Check looks for damage in a session, or in the whole database.
func (s *Store) Check(ctx context.Context, session string) error {
	var found []store.Damage
	ids := []string{session}
	if session == "" {
		var err error
		if ids, found, err = s.checkFile(ctx); err != nil {
			return err
		}
	}
	for _, id := range ids {
		var list []broken
		err := s.readSession(ctx, id, func(c *database.Conn, key int64) (err error) {
			list, err = s.examine(ctx, c, key, id)
			return err
		})
		if session == "" && errors.Is(err, store.ErrNotFound) {
			continue // deleted in the meantime
		}
		if err != nil {
			return err
		}
		found = append(found, damages(list)...)
	}
	return s.damageError(found)
}

// checkFile checks the structure of the file and returns the identifiers of the sessions.
func (s *Store) checkFile(ctx context.Context) (ids []string, bad []store.Damage, err error) {
	note := func(problem string) {
		if problem != "ok" {
			bad = append(bad, structure("", problem).Damage)
		}
	}
	err = s.read(ctx, func(c *database.Conn) error {
		// The check uses the connection's cached state of the search index, which another connection may have changed. A search refreshes it.
		if _, err := c.Number(ctx, found, `"x"`, int64(1)); err != nil {
			if !database.Corrupt(err) {
				return err
			}
			note("the index for searching cannot be read")
		}
		err := c.Query(ctx, integrity, func(r database.Row) error { note(r.Text(0)); return nil })
		if database.Corrupt(err) {
			note("its structure cannot be read to its end")
			err = nil
		}
		if err != nil {
			return err
		}
		var whole bool
		if ids, whole, err = sessionIDs(ctx, c); !whole {
			note(noEnd)
		}
		return err
	})
	return ids, bad, err
}

// noEnd is the problem if some heads cannot be read.
const noEnd = "the list of sessions cannot be read to its end"

// sessionIDs returns the identifiers of the sessions, and reports whether these are all. Its second query reads an index.
func sessionIDs(ctx context.Context, c *database.Conn) (ids []string, whole bool, err error) {
	known := map[string]bool{}
	for _, query := range []string{"SELECT id FROM head NOT INDEXED WHERE " + isSeen + " ORDER BY key", "SELECT id FROM head WHERE " + isSeen + " ORDER BY id"} {
		err = c.Query(ctx, query, func(r database.Row) error {
			if id := r.Text(0); !known[id] {
				known[id] = true
				ids = append(ids, id)
			}
			return nil
		})
		if !database.Corrupt(err) {
			return ids, err == nil, err
		}
	}
	return ids, false, nil
}

// examine reads all rows of a session and returns those that cannot be read.
func (s *Store) examine(ctx context.Context, c *database.Conn, key int64, id string) ([]broken, error) {
	p := page{session: id}
	if err := s.examineSession(ctx, c, &p, key); err != nil {
		return nil, err
	}
	if err := p.read(ctx, c, messagesOf(key), 0); err != nil {
		return nil, err
	}
	messages, in := p.decode(), stampsOf(key)
	err := p.values(ctx, c, store.DamagedTodos, todoRows, key, key)
	if err == nil {
		err = p.values(ctx, c, store.DamagedLedger, ledgerRows, in.low, in.high)
	}
	if err == nil {
		err = p.values(ctx, c, store.DamagedPrompt, promptRows, key, key)
	}
	if err == nil {
		err = s.examineOutputs(ctx, c, &p, messages)
	}
	return p.broken, err
}

func (s *Store) examineSession(ctx context.Context, c *database.Conn, p *page, key int64) error {
	v, err := s.session(ctx, c, key, p.session)
	found, err := store.Readable(err)
	if err != nil || len(found) == 0 {
		return err
	}
	b := broken{key: key, session: v, unreadable: found[0].Problem == errPage.Error()}
	b.Damage = found[0]
	if !b.unreadable {
		b.Data, _, err = c.Bytes(ctx, sessionData, key)
	}
	p.broken = append(p.broken, b)
	return err
}

// Queries for rows with JSON values: key, identifier, message and value.
const (
	todoRows   = "SELECT session, '', '', CAST(data AS BLOB) FROM todo WHERE session BETWEEN ? AND ?"
	ledgerRows = "SELECT key, '', message, CAST(entries AS BLOB) FROM ledger WHERE key BETWEEN ? AND ? ORDER BY key"
	promptRows = "SELECT 0, id, '', CAST(data AS BLOB) FROM prompt WHERE session BETWEEN ? AND ? AND data IS NOT NULL ORDER BY number"
)

func (p *page) values(ctx context.Context, c *database.Conn, kind, query string, low, high int64) error {
	err := c.Query(ctx, query, func(r database.Row) error {
		data := r.Bytes(3)
		var todos []sdk.Todo
		if !json.Valid(data) || kind == store.DamagedTodos && json.Unmarshal(data, &todos) != nil {
			d := store.Damage{Type: kind, Session: p.session, Message: r.Text(2), ID: r.Text(1)}
			p.broken = append(p.broken, *newBroken(d, r.Int(0), data, errContent))
		}
		return nil
	}, low, high)
	if database.Corrupt(err) {
		p.broken = append(p.broken, structure(p.session, "a range of rows of type "+kind+" cannot be read"))
		err = nil
	}
	return err
}

// examineOutputs checks the stored outputs of tool calls.
func (s *Store) examineOutputs(ctx context.Context, c *database.Conn, p *page, messages []sdk.MessageWithParts) error {
	seen := map[string]*broken{} // nil if undamaged
	var order []*broken
	for call := range store.PartsOf[*sdk.ToolPart](messages...) {
		hash := store.Output(call)
		b, known := seen[hash]
		if !known && hash != "" {
			var err error
			if b, err = s.examineBlob(ctx, c, hash); err != nil {
				return err
			}
			seen[hash] = b
		}
		if b == nil {
			continue
		}
		if len(b.calls) == 0 {
			b.Session, b.Message = p.session, call.MessageID
			order = append(order, b)
		}
		b.calls = append(b.calls, call)
	}
	for _, b := range order {
		p.broken = append(p.broken, *b)
	}
	return nil
}

// examineBlob returns nil for an undamaged blob.
func (s *Store) examineBlob(ctx context.Context, c *database.Conn, hash string) (*broken, error) {
	_, row, problem, err := s.readBlob(ctx, c, hash)
	if err != nil || problem == nil {
		return nil, err
	}
	return newBroken(store.Damage{Type: store.DamagedBlob, ID: hash}, 0, row, problem), nil
}

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

// findings are rows that cannot be read.
type findings []broken

func (f *findings) note(d store.Damage, key int64, data []byte, problem error) *broken {
	d.Problem = problem.Error()
	*f = append(*f, broken{Aside: store.Aside{Damage: d, Data: data}, key: key, unreadable: problem == errPage})
	return &(*f)[len(*f)-1]
}

// structure notes damage to pages of the file.
func (f *findings) structure(session, problem string) {
	*f = append(*f, broken{Aside: store.Aside{Damage: store.Damage{Type: store.DamagedStore, Session: session, Problem: problem}}, unreadable: true})
}

func (f findings) damages() []store.Damage {
	var out []store.Damage
	for i := range f {
		out = append(out, f[i].Damage)
	}
	return out
}

// integrity lists at most 20 problems of the structure.
const integrity = "PRAGMA integrity_check(20)"

// Check looks for damage in a session, or in the whole database.
func (s *Store) Check(ctx context.Context, session string) error {
	var found store.Damages
	ids := []string{session}
	if session == "" {
		if err := found.Take(s.read(ctx, func(x *view) { ids = x.file() })); err != nil {
			return err
		}
	}
	for _, id := range ids {
		err := found.Take(s.readSession(ctx, id, func(x *view, key int64) { x.examine(key, id) }))
		if session == "" && errors.Is(err, store.ErrNotFound) {
			continue // deleted in the meantime
		}
		if err != nil {
			return err
		}
	}
	return found.Err()
}

// file checks the structure of the file and returns the identifiers of the sessions.
func (x *view) file() []string {
	// The check uses the connection's cached state of the search index, which another connection may have changed. A search refreshes it.
	x.Number(found, `"x"`, int64(1))
	if x.Damaged() {
		x.structure("", "the index for searching cannot be read")
	}
	x.Each(integrity, func(r database.Row) {
		if problem := r.Text(0); problem != "ok" {
			x.structure("", problem)
		}
	})
	if x.Damaged() {
		x.structure("", "its structure cannot be read to its end")
	}
	return x.sessionIDs()
}

// noEnd is the problem reported if some session heads cannot be read.
const noEnd = "the list of sessions cannot be read to its end"

// sessionIDs returns the identifiers of the sessions. Its second query reads an index.
func (x *view) sessionIDs() (ids []string) {
	known := map[string]bool{}
	for _, query := range []string{"SELECT id FROM head NOT INDEXED WHERE " + isSeen + " ORDER BY key", "SELECT id FROM head WHERE " + isSeen + " ORDER BY id"} {
		x.Each(query, func(r database.Row) {
			if id := r.Text(0); !known[id] {
				known[id] = true
				ids = append(ids, id)
			}
		})
		if !x.Damaged() {
			return ids
		}
	}
	x.structure("", noEnd)
	return ids
}

// examine reads all rows of a session.
func (x *view) examine(key int64, id string) {
	x.session(key, id)
	p := page{session: id}
	p.read(x, messagesOf(key), 0)
	messages := p.decode()
	x.findings = append(x.findings, p.findings...)
	x.todos(key, id)
	x.ledger(key, id, "")
	x.Each(waitingPrompts, func(r database.Row) {
		if data := r.Bytes(1); !json.Valid(data) {
			x.note(store.Damage{Type: store.DamagedPrompt, Session: id, ID: r.Text(0)}, 0, data, errContent)
		}
	}, key)
	if x.Damaged() {
		x.structure(id, "a range of waiting prompts cannot be read")
	}
	x.outputs(id, messages)
}

// outputs checks the stored outputs of tool calls.
func (x *view) outputs(session string, messages []sdk.MessageWithParts) {
	calls := map[string][]*sdk.ToolPart{} // by hash
	var hashes []string
	for call := range store.PartsOf[*sdk.ToolPart](messages...) {
		hash := store.Output(call)
		if hash != "" && calls[hash] == nil {
			hashes = append(hashes, hash)
		}
		calls[hash] = append(calls[hash], call)
	}
	for _, hash := range hashes {
		if _, row, problem := x.blob(hash); problem != nil {
			d := store.Damage{Type: store.DamagedBlob, Session: session, Message: calls[hash][0].MessageID, ID: hash}
			x.note(d, 0, row, problem).calls = calls[hash]
		}
	}
}

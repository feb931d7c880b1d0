package sqlite

import (
	"context"
	"fmt"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

const (
	lastPrompt     = "SELECT max(number) FROM prompt WHERE session = ? AND data IS NOT NULL"
	waitingPrompts = "SELECT id, CAST(data AS BLOB) FROM prompt WHERE session = ? AND data IS NOT NULL ORDER BY number"
)

// Submit queues a prompt for the owner of the session.
func (s *Store) Submit(ctx context.Context, p store.Prompt) error {
	data := string(p.Data)
	return s.submit(ctx, func(x *database.Tx) {
		h := readHead(x, p.SessionID)
		x.Exec("INSERT INTO prompt(session, id, number, data) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING", h.key, p.ID, x.Number(lastPrompt, h.key)+1, data)
	})
}

// Prompts lists the waiting prompts, oldest first.
func (s *Store) Prompts(ctx context.Context, session string) (out []store.Prompt, err error) {
	err = s.readSession(ctx, session, func(x *view, key int64) {
		out = database.All(x.Tx, waitingPrompts, func(r database.Row) store.Prompt {
			return store.Prompt{ID: r.Text(0), SessionID: session, Data: r.Bytes(1)}
		}, key)
	})
	return out, err
}

func (x *edit) takePrompt(id string) {
	if x.Exec("UPDATE prompt SET data = NULL WHERE session = ? AND id = ? AND data IS NOT NULL", x.session, id) == 0 {
		x.Fail(fmt.Errorf("prompt %s: %w", id, store.ErrNotFound))
	}
}

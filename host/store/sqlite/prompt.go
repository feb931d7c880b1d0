package sqlite

import (
	"context"
	"fmt"

	"github.com/tenonhq/tenon/host/store"
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

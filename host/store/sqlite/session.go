package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/node"
	"github.com/tenonhq/tenon/sdk"
)

// Create stores a new session and claims it.
func (s *Store) Create(ctx context.Context, v *sdk.Session) (store.Token, error) {
	id := v.ID
	columns, err := sessionColumns(v)
	if err != nil {
		return store.Token{}, fmt.Errorf("create session %s: %w", id, err)
	}
	var epoch int64
	err = s.submit(ctx, func(x *database.Tx) {
		if x.Number("SELECT count(*) FROM head WHERE id = ?", id) > 0 {
			x.Fail(refuse(fmt.Errorf("session %s: %w", id, store.ErrExists)))
		}
		s.hold(x)
		epoch = x.Number("SELECT epoch FROM gone WHERE id = ?", id) + 1
		const insert = "INSERT INTO head(id, seq, epoch, node, pid, turn) VALUES(?, 1, ?, ?, ?, 0) RETURNING key"
		key := x.Number(insert, id, epoch, s.node.ID, int64(os.Getpid()))
		(&edit{Tx: x, session: key}).putSession(columns)
	})
	if err != nil {
		return store.Token{}, err
	}
	return store.Token{Session: id, Epoch: uint64(epoch)}, nil
}

// hold makes the node live, so that it can own sessions.
func (s *Store) hold(x *database.Tx) {
	if x.Err() != nil {
		return
	}
	if err := s.node.Hold(); err != nil {
		x.Fail(refuse(s.explainFile(err)))
	}
}

// Claim claims the session from a dead node, or again from this node.
func (s *Store) Claim(ctx context.Context, session string) (store.Token, error) {
	var epoch uint64
	err := s.submitAlone(ctx, func(x *database.Tx) {
		h := readHead(x, session)
		s.hold(x)
		x.Fail(s.free(session, h.node, h.pid))
		epoch = h.epoch + 1
		x.Exec("UPDATE head SET epoch = ?, node = ?, pid = ? WHERE key = ?", int64(epoch), s.node.ID, int64(os.Getpid()), h.key)
	})
	if err != nil {
		return store.Token{}, err
	}
	return store.Token{Session: session, Epoch: epoch}, nil
}

// submitAlone is submit for a write that is refused while another node owns the session. It waits a moment for the lock
// of a process that has ended.
func (s *Store) submitAlone(ctx context.Context, run func(*database.Tx)) error {
	return node.Outlast(ctx, func() error { return s.submit(ctx, run) })
}

// free returns a refusal if another live node owns the session.
func (s *Store) free(session, node string, pid int) error {
	if node == s.node.ID || !s.node.Lives(node) {
		return nil
	}
	return refuse(&store.OwnedError{Session: session, PID: pid})
}

// Release releases the session, unless it was claimed again.
func (s *Store) Release(ctx context.Context, t store.Token) error {
	return s.submit(ctx, func(x *database.Tx) {
		x.Exec("UPDATE head SET node = '', pid = 0 WHERE id = ? AND epoch = ? AND node = ?", t.Session, int64(t.Epoch), s.node.ID)
	})
}

const openTurns = "SELECT id, node FROM head WHERE turn = 1 AND " + isSeen + " ORDER BY id"

// Interrupted lists the sessions with an open turn and without a live owner.
func (s *Store) Interrupted(ctx context.Context) ([]string, error) { return s.unowned(ctx, openTurns) }

// Delete removes the session and its descendants.
func (s *Store) Delete(ctx context.Context, id string) error {
	var left []string
	err := s.submitAlone(ctx, func(x *database.Tx) {
		keys, owned := s.familyOf(x, id)
		if len(keys) == 0 {
			x.Fail(refuse(fmt.Errorf("session %s: %w", id, store.ErrNotFound)))
		}
		x.Fail(owned)
		left = s.hideAll(x, keys)
	})
	if err != nil {
		return err
	}
	s.clearAll(ctx, left)
	return nil
}

const family = `WITH RECURSIVE family(key, id) AS (
		SELECT key, id FROM head WHERE id = ?
		UNION SELECT s.key, s.id FROM session s JOIN family f ON s.parent = f.id
	) SELECT h.key, h.id, h.node, h.pid FROM family JOIN head h USING(key)`

// familyOf returns the keys of the session and its descendants, and a refusal if another live node owns one of them.
func (s *Store) familyOf(x *database.Tx, id string) (keys []int64, owned error) {
	x.Each(family, func(r database.Row) {
		keys = append(keys, r.Int(0))
		owned = cmp.Or(owned, s.free(r.Text(1), r.Text(2), int(r.Int(3))))
	}, id)
	return keys, owned
}

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

func encodeTodos(todos []sdk.Todo) (change, error) {
	if todos == nil {
		todos = []sdk.Todo{}
	}
	data, err := json.Marshal(todos)
	if err != nil {
		return nil, err
	}
	return func(x *edit) {
		x.Exec("INSERT OR REPLACE INTO todo(session, stamp, data) VALUES(?, ?, ?)", x.session, x.stamp(), string(data))
	}, nil
}

// Todos returns the task list.
func (s *Store) Todos(ctx context.Context, session string) (out []sdk.Todo, err error) {
	err = s.readSession(ctx, session, func(x *view, key int64) { out = x.todos(key, session) })
	return out, err
}

func (x *view) todos(key int64, session string) (out []sdk.Todo) {
	data, found := x.Bytes("SELECT CAST(data AS BLOB) FROM todo WHERE session = ?", key)
	damaged := store.Damage{Type: store.DamagedTodos, Session: session, ID: session}
	if x.Damaged() {
		x.note(damaged, key, nil, errPage)
	} else if found && json.Unmarshal(data, &out) != nil {
		x.note(damaged, key, data, errContent)
		return nil
	}
	return out
}

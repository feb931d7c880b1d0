package sqlite

import (
	"context"
	"encoding/json"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/sdk"
)

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
	var data []byte
	err = s.readSession(ctx, session, func(c *database.Conn, key int64) (err error) {
		data, _, err = c.Bytes(ctx, "SELECT CAST(data AS BLOB) FROM todo WHERE session = ?", key)
		if database.Corrupt(err) {
			data, err = []byte{}, nil // which is not a list
		}
		return err
	})
	if err != nil || data == nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, s.damageError([]store.Damage{{Type: store.DamagedTodos, Session: session, ID: session, Problem: errContent.Error()}})
	}
	return out, nil
}

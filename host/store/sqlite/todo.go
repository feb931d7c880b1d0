package sqlite

import (
	"context"
	"encoding/json"

	"github.com/tenonhq/tenon/host/store"
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
		if corrupt(err) {
			data, err = []byte{}, nil // which is no list
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

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

package sqlite

import (
	"context"
	"encoding/json"

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

package sqlite

import (
	"bytes"
	"context"
	"slices"

	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// table holds the queries for a table of rows, ordered by key.
type table struct {
	newest string // rows of a span of keys, the last first, at most so many
	one    string // a row by its key
}

// named is the identifier of a row, a line feed and the value in one column, because another column costs the driver as much as another row.
const named = "CAST(id || char(10) || coalesce(data, '') AS BLOB)"

func tableOf(name string) *table {
	const columns = "SELECT key, " + named + " FROM "
	return &table{
		newest: columns + name + " WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT ?",
		one:    columns + name + " WHERE key = ?",
	}
}

var messageRows, partRows = tableOf("message"), tableOf("part")

// unlimited is the limit of a query for all rows.
const unlimited = -1

// last returns the last rows of the span, at most limit, in the order of their keys.
func (t *table) last(ctx context.Context, c *database.Conn, in span, limit int) ([]stored, error) {
	out, err := t.read(ctx, c, t.newest, in.low, in.high, int64(limit))
	slices.Reverse(out)
	return out, err
}

func (t *table) read(ctx context.Context, c *database.Conn, query string, args ...any) (out []stored, err error) {
	return database.All(ctx, c, query, func(r database.Row) stored {
		id, data, _ := bytes.Cut(r.Bytes(1), []byte{'\n'})
		return stored{key: r.Int(0), id: string(id), data: data}
	}, args...)
}

// row returns the row with the key, which an index lists.
func (t *table) row(ctx context.Context, c *database.Conn, key int64) (stored, error) {
	list, err := t.read(ctx, c, t.one, key)
	if err == nil && len(list) == 0 {
		list = []stored{{key: key, problem: errMissing}}
	}
	if err != nil {
		return stored{}, err
	}
	return list[0], nil
}

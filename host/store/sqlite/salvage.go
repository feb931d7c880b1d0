package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// table holds the queries for a table of rows, ordered by key. The indexes on stamp and id have copies of the keys in other pages of the
// file.
type table struct {
	newestFirst, oldestFirst string // rows of a span of keys, at most so many
	first                    string // the lowest key of a span
	one                      string // a row by its key
	keysByStamp, keysByName  string // from the indexes alone
}

// named is the identifier of a row, a line feed and the value in one column, because another column costs the driver as much as another row.
const named = "CAST(id || char(10) || coalesce(data, '') AS BLOB)"

func tableOf(name string) *table {
	const columns = "SELECT key, " + named + " FROM "
	const between = " WHERE key BETWEEN ? AND ? ORDER BY key"
	return &table{
		newestFirst: columns + name + between + " DESC LIMIT ?", oldestFirst: columns + name + between + " LIMIT ?",
		first:       "SELECT key FROM " + name + between + " LIMIT 1",
		one:         columns + name + " WHERE key = ?",
		keysByStamp: "SELECT key FROM " + name + " INDEXED BY " + name + "_stamp WHERE stamp BETWEEN ? AND ?",
		keysByName:  "SELECT key, id FROM " + name + " INDEXED BY " + name + "_id",
	}
}

var messageRows, partRows = tableOf("message"), tableOf("part")

// unlimited is the limit of a query for all rows.
const unlimited = -1

// newest returns the last rows of the span, at most limit. It reports false if there may be more, because neither the rows nor their indexes
// can be read.
func (t *table) newest(ctx context.Context, c *database.Conn, in span, limit int) (out []stored, whole bool, err error) {
	out, err = t.read(ctx, c, t.newestFirst, in.low, in.high, int64(limit))
	if err != nil && !database.Corrupt(err) {
		return nil, false, err
	}
	slices.Reverse(out)
	if err == nil && ascending(out, in) && (len(out) == limit || t.begins(ctx, c, in, out)) {
		return out, true, nil
	}
	if out, whole, err = t.salvage(ctx, c, in); err != nil {
		return nil, false, err
	}
	if limit != unlimited {
		out = out[max(0, len(out)-limit):]
	}
	return out, whole, nil
}

func (t *table) read(ctx context.Context, c *database.Conn, query string, args ...any) (out []stored, err error) {
	return database.All(ctx, c, query, func(r database.Row) stored {
		id, data, _ := bytes.Cut(r.Bytes(1), []byte{'\n'})
		return stored{key: r.Int(0), id: string(id), data: data}
	}, args...)
}

// row returns the row with the key; if it cannot be read, a row with the key, the identifier and the problem.
func (t *table) row(ctx context.Context, c *database.Conn, key int64, id string) (stored, error) {
	list, err := t.read(ctx, c, t.one, key)
	switch {
	case database.Corrupt(err):
		return stored{key: key, id: id, problem: errPage}, nil
	case err != nil:
		return stored{}, err
	case len(list) != 1 || list[0].key != key:
		return stored{key: key, id: id, problem: errMissing}, nil
	}
	return list[0], nil
}

// ascending reports whether the keys are in order and in the span. SQLite does not check this: a damaged key ends a scan early, or leads to
// rows outside the span.
func ascending(list []stored, in span) bool {
	for i := range list {
		if k := list[i].key; k < in.low || k > in.high || i > 0 && k <= list[i-1].key {
			return false
		}
	}
	return true
}

// begins reports whether a scan reached the beginning of the span.
func (t *table) begins(ctx context.Context, c *database.Conn, in span, list []stored) bool {
	key, err := c.Number(ctx, t.first, in.low, in.high)
	if len(list) == 0 {
		return err == nil && key == 0
	}
	return err == nil && key == list[0].key
}

// salvage reads a span that a scan cannot read: from both ends, then each further row that an index lists. Listed rows that cannot be read have a
// problem.
func (t *table) salvage(ctx context.Context, c *database.Conn, in span) (out []stored, whole bool, err error) {
	found := map[int64]stored{}
	for _, query := range []string{t.oldestFirst, t.newestFirst} {
		list, err := t.read(ctx, c, query, in.low, in.high, int64(unlimited))
		if err != nil && !database.Corrupt(err) {
			return nil, false, err
		}
		for _, r := range list {
			if r.key >= in.low && r.key <= in.high {
				found[r.key] = r
			}
		}
	}
	names, whole, err := t.names(ctx, c, in)
	if err != nil {
		return nil, false, err
	}
	for key, name := range names {
		if _, ok := found[key]; ok {
			continue
		}
		if found[key], err = t.row(ctx, c, key, name); err != nil {
			return nil, false, err
		}
	}
	out = slices.AppendSeq(out, maps.Values(found))
	slices.SortFunc(out, func(a, b stored) int { return cmp.Compare(a.key, b.key) })
	return out, whole, nil
}

// names returns the keys of the span in the indexes, with the identifiers that can be read. It reports whether one of the indexes could be
// read completely.
func (t *table) names(ctx context.Context, c *database.Conn, in span) (out map[int64]string, whole bool, err error) {
	out = map[int64]string{}
	note := func(key int64, name string) {
		if key >= in.low && key <= in.high {
			out[key] = name
		}
	}
	bits := uint(messageBits)
	if t == partRows {
		bits += partBits
	}
	stamps := stampsOf(in.low >> bits)
	err = c.Query(ctx, t.keysByStamp, func(r database.Row) error { note(r.Int(0), ""); return nil }, stamps.low, stamps.high)
	if err != nil && !database.Corrupt(err) {
		return nil, false, err
	}
	whole = err == nil
	err = c.Query(ctx, t.keysByName, func(r database.Row) error { note(r.Int(0), r.Text(1)); return nil })
	if err != nil && !database.Corrupt(err) {
		return nil, false, err
	}
	return out, whole || err == nil, nil
}

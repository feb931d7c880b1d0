package sqlite

import (
	"bytes"
	"cmp"
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
		keysByStamp: "SELECT key, '' FROM " + name + " INDEXED BY " + name + "_stamp WHERE stamp BETWEEN ? AND ?",
		keysByName:  "SELECT key, id FROM " + name + " INDEXED BY " + name + "_id",
	}
}

var messageRows, partRows = tableOf("message"), tableOf("part")

// unlimited is the limit of a query for all rows.
const unlimited = -1

// newest returns the last rows of the span, at most limit. It reports false if there may be more, because neither the rows nor their indexes
// can be read.
func (t *table) newest(x *view, in span, limit int) (out []stored, whole bool) {
	out = t.read(x, t.newestFirst, in.low, in.high, int64(limit))
	slices.Reverse(out)
	if !x.Damaged() && ascending(out, in) && (len(out) == limit || t.begins(x, in, out)) {
		return out, true
	}
	out, whole = t.salvage(x, in)
	if limit != unlimited {
		out = out[max(0, len(out)-limit):]
	}
	return out, whole
}

func (t *table) read(x *view, query string, args ...any) []stored {
	return database.All(x.Tx, query, func(r database.Row) stored {
		id, data, _ := bytes.Cut(r.Bytes(1), []byte{'\n'})
		return stored{key: r.Int(0), id: string(id), data: data}
	}, args...)
}

// row returns the row with the key; if it cannot be read, a row with the key, the identifier and the problem.
func (t *table) row(x *view, key int64, id string) stored {
	list := t.read(x, t.one, key)
	if x.Damaged() {
		return stored{key: key, id: id, problem: errPage}
	}
	if len(list) != 1 || list[0].key != key {
		return stored{key: key, id: id, problem: errMissing}
	}
	return list[0]
}

// ascending reports whether the keys are in order and in the span. SQLite does not check this: a damaged key ends a scan early, or leads to
// rows outside the span.
func ascending(list []stored, in span) bool {
	for i := range list {
		if k := list[i].key; !in.has(k) || i > 0 && k <= list[i-1].key {
			return false
		}
	}
	return true
}

// begins reports whether a scan reached the beginning of the span.
func (t *table) begins(x *view, in span, list []stored) bool {
	key := x.Number(t.first, in.low, in.high)
	if x.Damaged() {
		return false
	}
	return len(list) == 0 && key == 0 || len(list) > 0 && key == list[0].key
}

// salvage reads a span that a scan cannot read: from both ends, then each further row that an index lists. Listed rows that cannot be read have a
// problem.
func (t *table) salvage(x *view, in span) (out []stored, whole bool) {
	found := map[int64]stored{}
	for _, query := range []string{t.oldestFirst, t.newestFirst} {
		for _, r := range t.read(x, query, in.low, in.high, int64(unlimited)) {
			if in.has(r.key) {
				found[r.key] = r
			}
		}
		x.Damaged() // as far as it goes
	}
	names, whole := t.names(x, in)
	for key, name := range names {
		if _, ok := found[key]; !ok {
			found[key] = t.row(x, key, name)
		}
	}
	out = slices.AppendSeq(out, maps.Values(found))
	slices.SortFunc(out, func(a, b stored) int { return cmp.Compare(a.key, b.key) })
	return out, whole
}

// names returns the keys of the span in the indexes, with the identifiers that can be read. It reports whether one of the indexes could be
// read completely.
func (t *table) names(x *view, in span) (out map[int64]string, whole bool) {
	out = map[int64]string{}
	note := func(r database.Row) {
		if key := r.Int(0); in.has(key) {
			out[key] = r.Text(1)
		}
	}
	bits := uint(messageBits)
	if t == partRows {
		bits += partBits
	}
	stamps := stampsOf(in.low >> bits)
	x.Each(t.keysByStamp, note, stamps.low, stamps.high)
	byStamp := !x.Damaged()
	x.Each(t.keysByName, note)
	byName := !x.Damaged()
	return out, byStamp || byName
}

package sqlite

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// table is the name of a table of rows, ordered by key. The indexes on stamp and id have copies of the keys in other pages of the file.
type table string

const (
	messageRows table = "message"
	partRows    table = "part"
)

// Conditions of rows: a span of keys, and at most so many rows of it from the end or the start.
const (
	inSpan      = " WHERE key BETWEEN ? AND ? ORDER BY key"
	newestFirst = inSpan + " DESC LIMIT ?"
	oldestFirst = inSpan + " LIMIT ?"
)

// unlimited is the limit of a query for all rows.
const unlimited = -1

// newest returns the last rows of the span, at most limit. It reports false if there may be more, because neither the rows nor their indexes
// can be read.
func (t table) newest(x *view, in span, limit int) (out []stored, whole bool) {
	out = t.read(x, newestFirst, in.low, in.high, int64(limit))
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

// read reads rows. The identifier of a row, a line feed and the value are one column, because another one costs the driver as much as another row.
func (t table) read(x *view, condition string, args ...any) []stored {
	return database.All(x.Tx, "SELECT key, "+named+" FROM "+string(t)+condition, func(r database.Row) stored {
		id, data, _ := bytes.Cut(r.Bytes(1), []byte{'\n'})
		return stored{key: r.Int(0), id: string(id), data: data}
	}, args...)
}

// named is the column.
const named = "CAST(id || char(10) || coalesce(data, '') AS BLOB)"

// row returns the row with the key; if it cannot be read, a row with the key, the identifier and the problem.
func (t table) row(x *view, key int64, id string) stored {
	list := t.read(x, " WHERE key = ?", key)
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
func (t table) begins(x *view, in span, list []stored) bool {
	key := x.Number("SELECT key FROM "+string(t)+inSpan+" LIMIT 1", in.low, in.high)
	if x.Damaged() {
		return false
	}
	return len(list) == 0 && key == 0 || len(list) > 0 && key == list[0].key
}

// salvage reads a span that a scan cannot read: from both ends, then each further row that an index lists. Listed rows that cannot be read have a
// problem.
func (t table) salvage(x *view, in span) (out []stored, whole bool) {
	found := map[int64]stored{}
	for _, condition := range []string{oldestFirst, newestFirst} {
		for _, r := range t.read(x, condition, in.low, in.high, int64(unlimited)) {
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
func (t table) names(x *view, in span) (out map[int64]string, whole bool) {
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
	x.Each("SELECT key, '' FROM "+string(t)+" INDEXED BY "+string(t)+"_stamp WHERE stamp BETWEEN ? AND ?", note, stamps.low, stamps.high)
	byStamp := !x.Damaged()
	x.Each("SELECT key, id FROM "+string(t)+" INDEXED BY "+string(t)+"_id", note)
	byName := !x.Damaged()
	return out, byStamp || byName
}

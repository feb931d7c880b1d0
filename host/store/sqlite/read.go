package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/sdk"
)

// view is a read transaction. It collects the rows that cannot be read.
type view struct {
	*database.Tx
	findings
}

// read calls f with a transaction whose reads all see one state of the database. It returns a *store.DamageError for the findings of f.
func (s *Store) read(ctx context.Context, f func(*view)) error {
	v := &view{}
	err := s.readers.Read(ctx, func(x *database.Tx) {
		v.Tx = x
		f(v)
	})
	return cmp.Or(s.explain(err), s.damageError(v.damages()))
}

// numberOr returns the number of the first query, or of the other one if the first one reads damaged pages.
func (x *view) numberOr(sql, other string, args ...any) int64 {
	n := x.Number(sql, args...)
	if x.Damaged() {
		n = x.Number(other, args...)
	}
	return n
}

// readSession calls f with the key of the session, or returns store.ErrNotFound.
func (s *Store) readSession(ctx context.Context, session string, f func(x *view, key int64)) error {
	return s.read(ctx, func(x *view) {
		key := x.numberOr("SELECT key FROM head WHERE id = ?", "SELECT key FROM head NOT INDEXED WHERE id = ?", session)
		if key == 0 {
			x.Fail(fmt.Errorf("session %s: %w", session, store.ErrNotFound))
		}
		if x.Err() == nil {
			f(x, key)
		}
	})
}

// Session returns the session and its seq.
func (s *Store) Session(ctx context.Context, id string) (v *sdk.Session, seq uint64, err error) {
	err = s.readSession(ctx, id, func(x *view, key int64) {
		if seq = uint64(x.Number("SELECT seq FROM head WHERE key = ?", key)); x.Damaged() {
			x.structure(id, "its sequence number and whether a turn is open cannot be read")
		}
		v = x.session(key, id)
	})
	return v, seq, err
}

// session reads a session row. For a damaged row, it returns the data that is known from elsewhere.
func (x *view) session(key int64, id string) *sdk.Session {
	problem := errMissing
	data, found := x.Bytes("SELECT CAST(data AS BLOB) FROM session WHERE key = ?", key)
	if x.Damaged() {
		problem = errPage
	} else if found {
		v := &sdk.Session{}
		if problem = identified(v.UnmarshalJSON(data), v.ID == id); problem == nil {
			return v
		}
	}
	v := x.sessionInPlace(id)
	x.note(store.Damage{Type: store.DamagedSession, Session: id, ID: id}, key, data, problem).session = v
	return v
}

// sessionInPlace returns the data in the columns of a session whose JSON cannot be decoded. An index has copies of them in other pages.
func (x *view) sessionInPlace(id string) *sdk.Session {
	v := &sdk.Session{ID: id}
	take := func(r database.Row) {
		v.ParentID, v.ProjectID, v.Directory, v.Time.Updated, v.Title = r.Text(0), r.Text(1), r.Text(2), r.Int(3), r.Text(5)
		if listed, ok := parseBrief(r.Text(4)); ok && listed.ID == id {
			v.Title, v.Cost = listed.Title, listed.Cost
			v.Time = sdk.SessionTime{Created: listed.Created, Updated: listed.Updated, Archived: listed.Archived}
		}
	}
	found := x.First("SELECT parent, project, directory, updated, brief, '' FROM session INDEXED BY session_updated WHERE id = ? LIMIT 1", take, id)
	if x.Damaged() || !found {
		x.First("SELECT parent, project, directory, updated, brief, title FROM session NOT INDEXED WHERE id = ? LIMIT 1", take, id)
	}
	x.Damaged()
	return v
}

// Types of removed rows, see store.Row.
const (
	rowMessageRemoved = "message.removed"
	rowPartRemoved    = "part.removed"
)

// changes selects the rows of session ?3 that changed in the span of stamps ?1 to ?2. Its parts have the keys ?4 to ?5. A part with appended
// text changed when the last text was appended, or when it was put after that.
const changes = `
SELECT stamp, 'message', id, CAST(data AS BLOB), 0 FROM message WHERE stamp BETWEEN ?1 AND ?2
UNION ALL
SELECT stamp, 'part', id, CAST(data AS BLOB), 0 FROM part WHERE stamp BETWEEN ?1 AND ?2
	AND NOT EXISTS (SELECT 1 FROM delta WHERE delta.part = part.key)
UNION ALL
SELECT max(d.last, p.stamp), 'part', p.id, CAST(p.data AS BLOB), p.key FROM
	(SELECT part, max(stamp) AS last FROM delta WHERE part BETWEEN ?4 AND ?5 GROUP BY part) d
	CROSS JOIN part p ON p.key = d.part WHERE max(d.last, p.stamp) >= ?1
UNION ALL
SELECT stamp, type, id, NULL, 0 FROM removed WHERE stamp BETWEEN ?1 AND ?2
UNION ALL
SELECT stamp, 'session', id, CAST(data AS BLOB), 0 FROM session WHERE key = ?3 AND stamp >= ?1
UNION ALL
SELECT t.stamp, 'todos', h.id, CAST(t.data AS BLOB), 0 FROM todo t CROSS JOIN head h ON h.key = t.session
	WHERE t.session = ?3 AND t.stamp >= ?1
ORDER BY 1 LIMIT ?6`

// Changes returns the rows that changed after seq.
func (s *Store) Changes(ctx context.Context, session string, after uint64, limit int) (out []store.Row, err error) {
	limit = cmp.Or(max(limit, 0), unlimited)
	err = s.readSession(ctx, session, func(x *view, key int64) {
		stamps, parts := stampsOf(key), partsOfSession(key)
		if after > seqOf(stamps.high) {
			return
		}
		open := map[int]int64{} // index in out -> key of a part with appended text
		x.Each(changes, func(r database.Row) {
			if part := r.Int(4); part != 0 {
				open[len(out)] = part
			}
			out = append(out, store.Row{Seq: seqOf(r.Int(0)), Type: r.Text(1), ID: r.Text(2), Data: r.Bytes(3)})
		}, stamps.low+int64(after)+1, stamps.high, key, parts.low, parts.high, int64(limit))
		for i, part := range open {
			x.extend(&out[i], part)
		}
		for i := range out {
			if r := &out[i]; len(r.Data) > 0 && !json.Valid(r.Data) {
				x.note(store.Damage{Type: r.Type, Session: session, ID: r.ID}, 0, nil, errContent)
				r.Data = nil
			}
		}
	})
	return out, err
}

// extend adds the appended text to the row of a part. A row that cannot be decoded does not change.
func (x *view) extend(r *store.Row, part int64) {
	p, err := sdk.DecodePart(r.Data)
	text := x.deltas(span{part, part})[part]
	if err != nil || text == nil {
		return
	}
	if extend(p, text.String()) != nil {
		r.Data = json.RawMessage("{") // damaged
		return
	}
	data, err := encodeJSON(p)
	x.Fail(err)
	r.Data = json.RawMessage(data)
}

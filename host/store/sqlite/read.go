package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/sdk"
)

// read calls f with a connection whose reads all see one state of the database.
func (s *Store) read(ctx context.Context, f func(*database.Conn) error) error {
	return s.explain(s.readers.Read(ctx, f))
}

// numberOr returns the number of the first query, or of the other one if the first one reads damaged pages.
func numberOr(ctx context.Context, c *database.Conn, sql, other string, args ...any) (int64, error) {
	n, err := c.Number(ctx, sql, args...)
	if database.Corrupt(err) {
		n, err = c.Number(ctx, other, args...)
	}
	return n, err
}

// readSession calls f with the key of the session, or returns store.ErrNotFound.
func (s *Store) readSession(ctx context.Context, session string, f func(c *database.Conn, key int64) error) error {
	return s.read(ctx, func(c *database.Conn) error {
		key, err := numberOr(ctx, c, "SELECT key FROM head WHERE id = ?", "SELECT key FROM head NOT INDEXED WHERE id = ?", session)
		if err == nil && key == 0 {
			err = fmt.Errorf("session %s: %w", session, store.ErrNotFound)
		}
		if err != nil {
			return err
		}
		return f(c, key)
	})
}

// Session returns the session and its seq.
func (s *Store) Session(ctx context.Context, id string) (v *sdk.Session, seq uint64, err error) {
	err = s.readSession(ctx, id, func(c *database.Conn, key int64) error {
		n, err := c.Number(ctx, "SELECT seq FROM head WHERE key = ?", key)
		if seq = uint64(n); err == nil {
			v, err = s.session(ctx, c, key, id)
		}
		return err
	})
	return v, seq, err
}

const sessionData = "SELECT CAST(data AS BLOB) FROM session WHERE key = ?"

// session reads a session row. For a damaged row it returns a *store.DamageError and the data that is known from elsewhere.
func (s *Store) session(ctx context.Context, c *database.Conn, key int64, id string) (*sdk.Session, error) {
	data, found, err := c.Bytes(ctx, sessionData, key)
	if err != nil && !database.Corrupt(err) {
		return nil, err
	}
	problem := errPage
	switch {
	case err == nil && !found:
		problem = errMissing
	case err == nil:
		v := &sdk.Session{}
		if problem = identified(v.UnmarshalJSON(data), v.ID == id); problem == nil {
			return v, nil
		}
	}
	damage := store.Damage{Type: store.DamagedSession, Session: id, ID: id, Problem: problem.Error()}
	v, err := sessionInPlace(ctx, c, id)
	if err != nil {
		return nil, err
	}
	return v, s.damageError([]store.Damage{damage})
}

// sessionInPlace returns the data in the columns of a session whose JSON cannot be decoded. An index has copies of them in other pages.
func sessionInPlace(ctx context.Context, c *database.Conn, id string) (*sdk.Session, error) {
	v := &sdk.Session{ID: id}
	take := func(r database.Row) {
		v.ParentID, v.ProjectID, v.Directory, v.Time.Updated, v.Title = r.Text(0), r.Text(1), r.Text(2), r.Int(3), r.Text(5)
		if listed, err := parseBrief(r.Text(4)); err == nil && listed.ID == id {
			v.Title, v.Cost = listed.Title, listed.Cost
			v.Time = sdk.SessionTime{Created: listed.Created, Updated: listed.Updated, Archived: listed.Archived}
		}
	}
	found, err := c.First(ctx, "SELECT parent, project, directory, updated, brief, '' FROM session INDEXED BY session_updated WHERE id = ? LIMIT 1", take, id)
	if database.Corrupt(err) || err == nil && !found {
		_, err = c.First(ctx, "SELECT parent, project, directory, updated, brief, title FROM session NOT INDEXED WHERE id = ? LIMIT 1", take, id)
	}
	if database.Corrupt(err) {
		err = nil
	}
	return v, err
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
	if limit <= 0 {
		limit = -1 // all
	}
	var damaged []store.Damage
	err = s.readSession(ctx, session, func(c *database.Conn, key int64) error {
		stamps, parts := stampsOf(key), partsOfSession(key)
		if after > seqOf(stamps.high) {
			return nil
		}
		open := map[int]int64{} // index in out -> key of a part with appended text
		err := c.Query(ctx, changes, func(r database.Row) error {
			if part := r.Int(4); part != 0 {
				open[len(out)] = part
			}
			out = append(out, store.Row{Seq: seqOf(r.Int(0)), Type: r.Text(1), ID: r.Text(2), Data: r.Bytes(3)})
			return nil
		}, stamps.low+int64(after)+1, stamps.high, key, parts.low, parts.high, int64(limit))
		if err != nil {
			return err
		}
		for i, part := range open {
			if err = s.extended(ctx, c, &out[i], part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		if r := &out[i]; len(r.Data) > 0 && !json.Valid(r.Data) {
			damaged = append(damaged, store.Damage{Type: r.Type, Session: session, ID: r.ID, Problem: errContent.Error()})
			r.Data = nil
		}
	}
	return out, s.damageError(damaged)
}

// extended adds the appended text to the row of a part. A row that cannot be decoded does not change.
func (s *Store) extended(ctx context.Context, c *database.Conn, r *store.Row, part int64) error {
	p, err := sdk.DecodePart(r.Data)
	if err != nil {
		return nil
	}
	texts, err := readDeltas(ctx, c, span{part, part})
	if err != nil {
		return err
	}
	if extend(p, texts[part].String()) != nil {
		r.Data = json.RawMessage("{") // damaged
		return nil
	}
	data, err := encodeJSON(p)
	r.Data = json.RawMessage(data)
	return err
}

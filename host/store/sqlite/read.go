package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// readSession calls f with the key of the session, or returns store.ErrNotFound.
func (s *Store) readSession(ctx context.Context, session string, f func(c *conn, key int64) error) error {
	return s.read(ctx, func(c *conn) error {
		key, err := c.number(ctx, "SELECT key FROM head WHERE id = ?", session)
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
func (s *Store) Session(ctx context.Context, id string) (*sdk.Session, uint64, error) {
	var data []byte
	var seq uint64
	err := s.readSession(ctx, id, func(c *conn, key int64) error {
		const query = "SELECT h.seq, CAST(s.data AS BLOB) FROM head h JOIN session s USING(key) WHERE key = ?"
		_, err := c.first(ctx, query, func(r row) { seq, data = uint64(r.int(0)), r.bytes(1) }, key)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	v := &sdk.Session{}
	if err := v.UnmarshalJSON(data); err != nil {
		return nil, 0, s.damaged("session "+id, err)
	}
	return v, seq, nil
}

// Types of rows, see store.Row.
const (
	rowSession        = "session"
	rowMessage        = "message"
	rowPart           = "part"
	rowTodos          = "todos"
	rowMessageRemoved = "message.removed"
	rowPartRemoved    = "part.removed"
)

// changes selects what changed in the span of stamps ?1 to ?2 of session ?3, whose parts have keys from
// ?4 to ?5. A part with appended text changed when the last text came.
const changes = `
SELECT stamp, 'message', id, CAST(data AS BLOB), 0 FROM message WHERE stamp BETWEEN ?1 AND ?2
UNION ALL
SELECT stamp, 'part', id, CAST(data AS BLOB), 0 FROM part WHERE stamp BETWEEN ?1 AND ?2
	AND NOT EXISTS (SELECT 1 FROM delta WHERE delta.part = part.key)
UNION ALL
SELECT d.last, 'part', p.id, CAST(p.data AS BLOB), p.key FROM
	(SELECT part, max(stamp) AS last FROM delta WHERE part BETWEEN ?4 AND ?5 GROUP BY part) d
	CROSS JOIN part p ON p.key = d.part WHERE d.last >= ?1
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
	err = s.readSession(ctx, session, func(c *conn, key int64) error {
		stamps, parts := stampsOf(key), partsOfSession(key)
		if after > seqOf(stamps.high) {
			return nil
		}
		open := map[int]int64{} // index in out -> key of a part with appended text
		err := c.query(ctx, changes, func(r row) error {
			if part := r.int(4); part != 0 {
				open[len(out)] = part
			}
			out = append(out, store.Row{Seq: seqOf(r.int(0)), Type: r.text(1), ID: r.text(2), Data: r.bytes(3)})
			return nil
		}, stamps.low+int64(after)+1, stamps.high, key, parts.low, parts.high, int64(limit))
		if err != nil {
			return err
		}
		for i, part := range open {
			if out[i].Data, err = s.extended(ctx, c, out[i], part); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// extended returns the row of a part with the text that was appended to it.
func (s *Store) extended(ctx context.Context, c *conn, r store.Row, part int64) (json.RawMessage, error) {
	p, err := sdk.DecodePart(r.Data)
	if err != nil {
		return nil, s.damaged("part "+r.ID, err)
	}
	texts, err := readDeltas(ctx, c, span{part, part})
	if err != nil {
		return nil, err
	}
	extend(p, texts[part].String())
	data, err := encodeJSON(p)
	return json.RawMessage(data), err
}

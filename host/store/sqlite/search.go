package sqlite

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/words"
)

const defaultHits = 20 // see store.SearchQuery

// found selects the latest row of the index before ?2 that matches ?1.
const found = "SELECT rowid FROM search WHERE search MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC LIMIT 1"

// searchable selects the sessions of a search.
const searchable = `SELECT key FROM session WHERE (?1 = '' OR project = ?1) AND (?2 = '' OR directory = ?2)
	AND (?3 = 1 OR archived = 0) ORDER BY key DESC`

var errEnough = errors.New("enough was found")

// Search finds sessions by their words.
func (s *Store) Search(ctx context.Context, q store.SearchQuery) ([]store.Hit, error) {
	match, err := words.Match(q.Words)
	if err != nil {
		return nil, err
	}
	limit := q.Limit
	if limit <= 0 {
		limit = defaultHits
	}
	var out []store.Hit
	var damaged []store.Damage
	err = s.read(ctx, func(c *database.Conn) error {
		sessions, err := keysOf(ctx, c, &q)
		if err != nil {
			return err
		}
		hit := func(key int64) error {
			h, err := s.hit(ctx, c, key)
			rows, err := store.Readable(err)
			damaged = append(damaged, rows...)
			if out = append(out, h); err == nil && len(out) == limit {
				return errEnough
			}
			return err
		}
		if err := leap(ctx, c, match, sessions, hit); !errors.Is(err, errEnough) {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, s.damageError(damaged)
}

// keysOf returns the keys of the sessions of a search, the greatest first.
func keysOf(ctx context.Context, c *database.Conn, q *store.SearchQuery) ([]int64, error) {
	return database.All(ctx, c, searchable, func(r database.Row) int64 { return r.Int(0) }, q.ProjectID, q.Directory, flag(q.Archived))
}

// leap queries the index for the latest matching row, then for the latest one in earlier sessions, and so on. It does not read the other matching
// rows of a session.
func leap(ctx context.Context, c *database.Conn, match string, sessions []int64, hit func(int64) error) error {
	for len(sessions) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		key, err := c.Number(ctx, found, match, partsOfSession(sessions[0]).high)
		if err != nil || key == 0 {
			return err
		}
		if sessions = upTo(sessions, sessionOf(key)); len(sessions) > 0 && sessions[0] == sessionOf(key) {
			if err := hit(key); err != nil {
				return err
			}
			sessions = sessions[1:]
		}
	}
	return nil
}

// upTo drops the sessions with greater keys.
func upTo(sessions []int64, key int64) []int64 {
	i, _ := slices.BinarySearchFunc(sessions, key, func(s, key int64) int { return cmp.Compare(key, s) })
	return sessions[i:]
}

// hit returns the session and the text at a key of the index. For a damaged row it returns a *store.DamageError and the data that is known from
// elsewhere.
func (s *Store) hit(ctx context.Context, c *database.Conn, key int64) (h store.Hit, err error) {
	session := sessionOf(key)
	var id string
	if _, err = c.First(ctx, "SELECT id FROM head WHERE key = ?", func(r database.Row) { id = r.Text(0) }, session); err != nil {
		return h, err
	}
	v, err := s.session(ctx, c, session, id)
	damaged, err := store.Readable(err)
	if err != nil {
		return h, err
	}
	h.Session = *v
	if key == titleKey(session) {
		h.Text = h.Session.Title
		return h, s.damageError(damaged)
	}
	r, err := partRows.row(ctx, c, key, "")
	if err != nil {
		return h, err
	}
	p := r.part(id)
	if p == nil {
		damaged = append(damaged, store.Damage{Type: store.DamagedPart, Session: id, ID: r.id, Problem: r.problem.Error()})
		return h, s.damageError(damaged)
	}
	appended, err := readDeltas(ctx, c, span{key, key})
	if err != nil {
		return h, err
	}
	if text := appended[key]; text != nil {
		if err := extend(p, text.String()); err != nil {
			return h, err
		}
	}
	h.MessageID = p.Head().MessageID
	h.Text, _ = indexed(p)
	return h, s.damageError(damaged)
}

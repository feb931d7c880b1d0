package sqlite

import (
	"cmp"
	"context"
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

// Search finds sessions by their words. It queries the index for the latest matching row, then for the latest one in earlier sessions, and so on. It
// does not read the other matching rows of a session.
func (s *Store) Search(ctx context.Context, q store.SearchQuery) (out []store.Hit, err error) {
	match, err := words.Match(q.Words)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(max(q.Limit, 0), defaultHits)
	err = s.read(ctx, func(x *view) {
		sessions := database.All(x.Tx, searchable, func(r database.Row) int64 { return r.Int(0) }, q.ProjectID, q.Directory, flag(q.Archived))
		for len(sessions) > 0 && len(out) < limit {
			key := x.Number(found, match, partsOfSession(sessions[0]).high)
			if key == 0 {
				return
			}
			i, searched := slices.BinarySearchFunc(sessions, sessionOf(key), func(s, key int64) int { return cmp.Compare(key, s) })
			sessions = sessions[i:]
			if searched {
				out, sessions = append(out, x.hit(key)), sessions[1:]
			}
		}
	})
	return out, err
}

// hit returns the session and the text at a key of the index; of a damaged row, the data that is known from elsewhere.
func (x *view) hit(key int64) (h store.Hit) {
	session := sessionOf(key)
	var id string
	x.First("SELECT id FROM head WHERE key = ?", func(r database.Row) { id = r.Text(0) }, session)
	h.Session = *x.session(session, id)
	if key == titleKey(session) {
		h.Text = h.Session.Title
		return h
	}
	r := partRows.row(x, key, "")
	p := r.part(id)
	if text := x.deltas(span{key, key})[key]; p != nil && text != nil {
		r.problem = extend(p, text.String())
	}
	if r.problem != nil {
		x.note(store.Damage{Type: store.DamagedPart, Session: id, ID: r.id}, key, nil, r.problem)
		return h
	}
	h.MessageID = p.Head().MessageID
	h.Text, _ = indexed(p)
	return h
}

package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/sdk"
)

const defaultLimit = 100 // of a listing; see store.Query

// Sessions lists sessions from an index, newest first.
func (s *Store) Sessions(ctx context.Context, q store.Query) (out []sdk.Session, err error) {
	query, args := listing(named, q)
	var rows [][]byte
	err = s.read(ctx, func(x *view) {
		rows = database.All(x.Tx, query, func(r database.Row) []byte { return r.Bytes(0) }, args...)
	})
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return nil, err
	}
	if len(rows) > 0 {
		out = make([]sdk.Session, len(rows))
	}
	damaged := make([]bool, len(rows))
	inParallel(len(rows), func(i int) {
		id, data, _ := bytes.Cut(rows[i], []byte{'\n'})
		damaged[i] = out[i].UnmarshalJSON(data) != nil || out[i].ID != string(id)
	})
	if err != nil || slices.Contains(damaged, true) {
		return s.salvageSessions(ctx, q)
	}
	return out, nil
}

// salvageSessions reads the sessions one by one, as the index lists them.
func (s *Store) salvageSessions(ctx context.Context, q store.Query) (out []sdk.Session, err error) {
	query, args := listing("key, id", q)
	err = s.read(ctx, func(x *view) {
		read := func(query string) []stored {
			return database.All(x.Tx, query, func(r database.Row) stored { return stored{key: r.Int(0), id: r.Text(1)} }, args...)
		}
		list := read(query)
		if x.Damaged() { // in the index, or in the table
			whole := read(strings.Replace(query, "FROM session", "FROM session NOT INDEXED", 1))
			if x.Damaged() {
				x.structure("", noEnd)
			} else {
				list = whole
			}
		}
		for _, r := range list {
			out = append(out, *x.session(r.key, r.id))
		}
	})
	return out, err
}

// List reads one column per session, and only from an index.
func (s *Store) List(ctx context.Context, q store.Query) (out []store.Listed, err error) {
	query, args := listing("brief", q)
	damaged := false
	err = s.read(ctx, func(x *view) {
		x.Each(query, func(r database.Row) {
			v, ok := parseBrief(r.Text(0))
			damaged = damaged || !ok
			out = append(out, v)
		}, args...)
	})
	if damaged || errors.Is(err, store.ErrCorrupt) {
		return s.salvageList(ctx, q)
	}
	return out, err
}

// salvageList lists sessions by their rows.
func (s *Store) salvageList(ctx context.Context, q store.Query) ([]store.Listed, error) {
	list, err := s.Sessions(ctx, q)
	out := make([]store.Listed, len(list))
	for i := range list {
		out[i], _ = parseBrief(brief(&list[i]))
	}
	return out, err
}

func listing(columns string, q store.Query) (string, []any) {
	sql := "SELECT " + columns + " FROM session WHERE true"
	var args []any
	where := func(condition string, values ...any) {
		sql += " AND " + condition
		args = append(args, values...)
	}
	if q.ParentID != "" || !q.Children {
		where("parent = ?", q.ParentID)
	}
	if q.ProjectID != "" {
		where("project = ?", q.ProjectID)
	}
	if q.Directory != "" {
		where("directory = ?", q.Directory)
	}
	if !q.Archived {
		where("archived = 0")
	}
	if b := q.Before; b != nil {
		where("updated <= ? AND (updated < ? OR id > ?)", b.Time.Updated, b.Time.Updated, b.ID)
	}
	return sql + " ORDER BY updated DESC, id LIMIT ?", append(args, int64(cmp.Or(max(q.Limit, 0), defaultLimit)))
}

// brief encodes the fields that a listing shows as one text, because another column costs the driver about as much time as another row: the
// numbers and the lengths of all texts but the last, each followed by a space, then the texts.
func brief(v *sdk.Session) string {
	b := make([]byte, 0, 128+len(v.ID)+len(v.ParentID)+len(v.ProjectID)+len(v.Directory)+len(v.Title))
	for _, n := range []int64{
		int64(v.Cost), v.Time.Created, v.Time.Updated, v.Time.Archived,
		int64(len(v.ID)), int64(len(v.ParentID)), int64(len(v.ProjectID)), int64(len(v.Directory)),
	} {
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	for _, text := range []string{v.ID, v.ParentID, v.ProjectID, v.Directory, v.Title} {
		b = append(b, text...)
	}
	return string(b)
}

// parseBrief decodes a brief. ok reports whether the text is a valid brief.
func parseBrief(text string) (out store.Listed, ok bool) {
	var cost int64
	var lengths [4]int64
	for _, to := range []*int64{&cost, &out.Created, &out.Updated, &out.Archived, &lengths[0], &lengths[1], &lengths[2], &lengths[3]} {
		digits, rest, more := strings.Cut(text, " ")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || !more {
			return store.Listed{}, false
		}
		*to, text = n, rest
	}
	for i, to := range []*string{&out.ID, &out.ParentID, &out.ProjectID, &out.Directory} {
		if lengths[i] < 0 || lengths[i] > int64(len(text)) {
			return store.Listed{}, false
		}
		*to, text = text[:lengths[i]], text[lengths[i]:]
	}
	out.Cost, out.Title = sdk.USD(cost), text
	return out, true
}

// fillBriefs writes the briefs of sessions of an older version, except damaged ones.
func fillBriefs(x *database.Tx) {
	const sessions = "SELECT key, CAST(data AS BLOB) FROM session WHERE key > ? ORDER BY key"
	fillIn(x, sessions, "UPDATE session SET brief = ?2 WHERE key = ?1", func(r database.Row) string {
		v := &sdk.Session{}
		if v.UnmarshalJSON(r.Bytes(1)) != nil {
			return ""
		}
		return brief(v)
	})
}

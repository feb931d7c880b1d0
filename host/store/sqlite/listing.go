package sqlite

import (
	"bytes"
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
func (s *Store) Sessions(ctx context.Context, q store.Query) ([]sdk.Session, error) {
	query, args := listing(named, q)
	var rows [][]byte
	err := s.read(ctx, func(c *database.Conn) (err error) {
		rows, err = database.All(ctx, c, query, func(r database.Row) []byte { return r.Bytes(0) }, args...)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return nil, err
	}
	out := make([]sdk.Session, len(rows))
	damaged := make([]bool, len(rows))
	inParallel(len(rows), func(i int) {
		id, data, _ := bytes.Cut(rows[i], []byte{'\n'})
		damaged[i] = out[i].UnmarshalJSON(data) != nil || out[i].ID != string(id)
	})
	if err != nil || slices.Contains(damaged, true) {
		return s.salvageSessions(ctx, q)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

// salvageSessions reads the sessions one by one, as the index lists them.
func (s *Store) salvageSessions(ctx context.Context, q store.Query) (out []sdk.Session, err error) {
	query, args := listing("key, id", q)
	var damaged []store.Damage
	err = s.read(ctx, func(c *database.Conn) error {
		read := func(query string) ([]stored, error) {
			return database.All(ctx, c, query, func(r database.Row) stored { return stored{key: r.Int(0), id: r.Text(1)} }, args...)
		}
		list, err := read(query)
		if database.Corrupt(err) { // in the index, or in the table
			whole, other := read(strings.Replace(query, "FROM session", "FROM session NOT INDEXED", 1))
			if err = other; err == nil {
				list = whole
			} else if database.Corrupt(err) {
				err = nil
				damaged = append(damaged, store.Damage{Type: store.DamagedStore, Problem: noEnd})
			}
		}
		for i := 0; err == nil && i < len(list); i++ {
			var v *sdk.Session
			v, err = s.session(ctx, c, list[i].key, list[i].id)
			rows, other := store.Readable(err)
			if err = other; err == nil {
				damaged = append(damaged, rows...)
				out = append(out, *v)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, s.damageError(damaged)
}

// List reads one column per session, and only from an index.
func (s *Store) List(ctx context.Context, q store.Query) (out []store.Listed, err error) {
	query, args := listing("brief", q)
	err = s.read(ctx, func(c *database.Conn) error {
		return c.Query(ctx, query, func(r database.Row) error {
			v, err := parseBrief(r.Text(0))
			out = append(out, v)
			return err
		}, args...)
	})
	if errors.Is(err, errBrief) || errors.Is(err, store.ErrCorrupt) {
		return s.salvageList(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// salvageList lists sessions by their rows.
func (s *Store) salvageList(ctx context.Context, q store.Query) ([]store.Listed, error) {
	list, err := s.Sessions(ctx, q)
	damaged, err := store.Readable(err)
	if err != nil {
		return nil, err
	}
	out := make([]store.Listed, len(list))
	for i := range list {
		v := &list[i]
		out[i] = store.Listed{
			ID: v.ID, ParentID: v.ParentID, ProjectID: v.ProjectID, Directory: v.Directory, Title: v.Title,
			Cost: v.Cost, Created: v.Time.Created, Updated: v.Time.Updated, Archived: v.Time.Archived,
		}
	}
	return out, s.damageError(damaged)
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
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	return sql + " ORDER BY updated DESC, id LIMIT ?", append(args, int64(limit))
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

var errBrief = errors.New("summary of a session cannot be read")

func parseBrief(text string) (out store.Listed, err error) {
	number := func() (n int64) {
		digits, rest, ok := strings.Cut(text, " ")
		if n, err = strconv.ParseInt(digits, 10, 64); err != nil || !ok {
			err = errBrief
		}
		text = rest
		return n
	}
	var cost int64
	var lengths [4]int64
	for _, to := range []*int64{&cost, &out.Created, &out.Updated, &out.Archived, &lengths[0], &lengths[1], &lengths[2], &lengths[3]} {
		if *to = number(); err != nil {
			return store.Listed{}, err
		}
	}
	for i, to := range []*string{&out.ID, &out.ParentID, &out.ProjectID, &out.Directory} {
		if lengths[i] < 0 || lengths[i] > int64(len(text)) {
			return store.Listed{}, errBrief
		}
		*to, text = text[:lengths[i]], text[lengths[i]:]
	}
	out.Cost, out.Title = sdk.USD(cost), text
	return out, nil
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

package sqlite

import (
	"context"
	"crypto/rand"
	"os"
	"time"

	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/internal/pause"
)

// hiddenPrefix is the prefix of the identifier of a head without a session: its rows are an unfinished import or the remains of a deleted
// session. The table of sessions does not refer to them, so no reader finds them. Many short transactions prepare an import or clean up after a
// deletion, and other processes write in between; a single transaction makes the sessions visible or invisible. The next import or collection
// removes the rows of a killed process.
const hiddenPrefix = "/"

// isHidden and isSeen select heads.
const (
	isHidden = "substr(id, 1, 1) = '" + hiddenPrefix + "'"
	isSeen   = "substr(id, 1, 1) <> '" + hiddenPrefix + "'"
)

const (
	// portionBytes is the maximum bytes that one transaction of a large change writes, about 10 ms of work.
	portionBytes = 256 << 10
	// portionRows is the maximum rows that one transaction removes.
	portionRows = 512
	// portionPause is the time between two transactions of a large change, in which other processes take the lock. It exceeds lockPoll.
	portionPause = 4 * time.Millisecond
)

func hiddenID() string { return hiddenPrefix + rand.Text() }

// hideAll makes sessions invisible and returns the new identifiers of their heads.
func (s *Store) hideAll(x *database.Tx, keys []int64) (ids []string) {
	for _, key := range keys {
		id := hiddenID()
		x.Exec("INSERT OR REPLACE INTO gone(id, epoch) SELECT id, epoch FROM head WHERE key = ?", key)
		x.Exec("DELETE FROM session WHERE key = ?", key)
		x.Exec("UPDATE head SET id = ?, node = ?, pid = ?, turn = 0 WHERE key = ?", id, s.node.Held(), int64(os.Getpid()), key)
		ids = append(ids, id)
	}
	return ids
}

// clearAll removes hidden rows. It only logs an error: the rows are invisible, and the next import or collection removes them.
func (s *Store) clearAll(ctx context.Context, ids []string) {
	for _, id := range ids {
		if err := s.clear(context.WithoutCancel(ctx), id); err != nil {
			s.log.Debug("rows of a deleted session remain", "err", err)
			return
		}
	}
}

// clear removes the rows of a hidden head.
func (s *Store) clear(ctx context.Context, id string) error {
	for {
		done, err := s.portion(ctx, func(x *database.Tx) bool { return clearPortion(x, id) })
		if err != nil || done {
			return err
		}
	}
}

// portion runs one transaction of a large change. Unless the change is done, it then leaves the lock to others for a moment.
func (s *Store) portion(ctx context.Context, run func(*database.Tx) (done bool)) (bool, error) {
	done := false
	if err := s.submit(ctx, func(x *database.Tx) { done = run(x) }); err != nil {
		return false, err // done belongs to the writer, which may still run the job
	}
	if done {
		return true, nil
	}
	return false, pause.For(ctx, portionPause)
}

// removal removes rows of a session in portions.
type removal struct {
	last   string // query for the last key of a portion of the span ?1 to ?2, of at most ?3 rows and about ?4 bytes
	in     func(session int64) span
	remove []string // rows from ?1 to ?2
}

// removals returns the removals of a session in order. The span of blobs starts with the session itself.
func removals() []removal {
	const between = " BETWEEN ?1 AND ?2"
	return []removal{
		{lastOf("key", "octet_length(data)", "part WHERE key"+between), partsOfSession, dropParts()},
		{lastOf("key", "0", "message WHERE key"+between), messagesOf, []string{"DELETE FROM message WHERE key" + between}},
		{lastOf("stamp", "0", "removed WHERE stamp"+between), stampsOf, []string{"DELETE FROM removed WHERE stamp" + between}},
		{lastOf("key", "0", "ledger WHERE key"+between), stampsOf, []string{"DELETE FROM ledger WHERE key" + between}},
		{lastOf("s.blob", "coalesce(length(b.data), 0)", "blob_session s LEFT JOIN blob b ON b.key = s.blob WHERE s.session = ?1"),
			func(session int64) span { return span{low: session} }, []string{
				`DELETE FROM blob WHERE key IN (SELECT blob FROM blob_session WHERE session = ?1 AND blob <= ?2)
					AND NOT EXISTS (SELECT 1 FROM blob_session s WHERE s.blob = blob.key AND s.session <> ?1)`,
				"DELETE FROM blob_session WHERE session = ?1 AND blob <= ?2",
			}},
	}
}

// lastOf returns the query for the last key of a portion, which includes at least one row.
func lastOf(key, size, from string) string {
	return "SELECT max(key) FROM (SELECT key, sum(size) OVER (ORDER BY key) - size AS before" +
		" FROM (SELECT " + key + " AS key, " + size + " AS size FROM " + from + " ORDER BY 1 LIMIT ?3)) WHERE before < ?4"
}

// clearPortion removes a portion of the rows, and reports whether none remain. It looks up the head each time, because another process may have
// removed it and a new session may have its number.
func clearPortion(x *database.Tx, id string) (done bool) {
	key := x.Number("SELECT key FROM head WHERE id = ?", id)
	if key == 0 {
		return true
	}
	for _, r := range removals() {
		in := r.in(key)
		last := x.Number(r.last, in.low, in.high, int64(portionRows), int64(4*portionBytes)) // removing is faster than writing
		if last != 0 {
			x.ExecAll(r.remove, in.low, last)
			return false
		}
	}
	parts := partsOfSession(key)
	x.ExecAll([]string{unindexSpan, "DELETE FROM delta WHERE part BETWEEN ? AND ?"}, parts.low, parts.high)
	x.ExecAll([]string{
		"DELETE FROM todo WHERE session = ?", "DELETE FROM prompt WHERE session = ?",
		"DELETE FROM session WHERE key = ?", "DELETE FROM head WHERE key = ?",
	}, key)
	return true
}

// leftovers returns the hidden heads of dead processes.
func (s *Store) leftovers(ctx context.Context) ([]string, error) {
	return s.unowned(ctx, "SELECT id, node FROM head WHERE "+isHidden)
}

// unowned returns the identifiers of the heads, in the result of a query, that no live node owns.
func (s *Store) unowned(ctx context.Context, query string) (ids []string, err error) {
	err = s.read(ctx, func(x *view) {
		x.Each(query, func(r database.Row) {
			if !s.node.Lives(r.Text(1)) {
				ids = append(ids, r.Text(0))
			}
		})
	})
	return ids, err
}

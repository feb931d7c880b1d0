package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"time"
)

// hiddenPrefix begins the identifier of a head without a session: the rows below it are an unfinished import or the remains of a
// deleted session. No row in the table of sessions refers to them, so no reader finds them. Many short transactions prepare an
// import or clear up after a deletion, and other processes write in between; a single transaction makes the sessions appear or
// vanish. The next import or collection clears the rows of a killed process.
const hiddenPrefix = "/"

// isHidden and isSeen select heads.
const (
	isHidden = "substr(id, 1, 1) = '" + hiddenPrefix + "'"
	isSeen   = "substr(id, 1, 1) <> '" + hiddenPrefix + "'"
)

const (
	// portion is the maximum bytes that one transaction of a large change writes, about 10 ms of work.
	portion = 256 << 10
	// portionRows is the maximum rows that one transaction removes.
	portionRows = 512
	// portionPause is the time between two transactions of a large change, in which others take the lock. It is longer than lockPoll.
	portionPause = 4 * time.Millisecond
)

func hiddenID() string { return hiddenPrefix + rand.Text() }

// hide makes a session vanish and returns the new identifier of its head.
func (s *Store) hide(ctx context.Context, c *conn, key int64) (string, error) {
	id := hiddenID()
	err := errors.Join(
		c.execAll(ctx, []string{"INSERT OR REPLACE INTO gone(id, epoch) SELECT id, epoch FROM head WHERE key = ?", "DELETE FROM session WHERE key = ?"}, key),
		c.execAll(ctx, []string{"UPDATE head SET id = ?, node = ?, pid = ?, turn = 0 WHERE key = ?"}, id, s.node.held(), int64(os.Getpid()), key),
	)
	return id, err
}

func (s *Store) hideAll(ctx context.Context, c *conn, keys []int64) ([]string, error) {
	ids := make([]string, len(keys))
	for i, key := range keys {
		var err error
		if ids[i], err = s.hide(ctx, c, key); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// clearAll removes hidden rows. An error is not returned: the rows are out of sight, their change is made, and the next import or
// collection removes them.
func (s *Store) clearAll(ctx context.Context, ids []string) {
	for _, id := range ids {
		if err := s.clear(context.WithoutCancel(ctx), id); err != nil {
			s.log.Debug("rows of a deleted session are left", "err", err)
			return
		}
	}
}

// clear removes the rows of a hidden head, a portion at a time.
func (s *Store) clear(ctx context.Context, id string) error {
	for {
		done := false
		err := s.submit(ctx, func(ctx context.Context, c *conn) (err error) {
			done, err = clearPortion(ctx, c, id)
			return err
		})
		if err != nil || done {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// pause lets other processes take the lock.
func pause(ctx context.Context) error {
	timer := time.NewTimer(portionPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// removal removes rows of a session a portion at a time.
type removal struct {
	last   string // returns the last key of a portion: of the span ?1 to ?2, at most ?3 rows and about ?4 bytes
	in     func(session int64) span
	remove []string // rows from ?1 to ?2
}

// removals returns the removals of a session in order. The span of blobs starts with the session itself.
func removals() []removal {
	const between = " BETWEEN ?1 AND ?2"
	return []removal{
		{lastOf("key", "octet_length(data)", "part WHERE key"+between), partsOfSession, []string{
			unindexSpan, "DELETE FROM delta WHERE part" + between, "DELETE FROM part WHERE key" + between,
		}},
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

// lastOf returns the query for the last key of a portion. The first row is always in it, however large.
func lastOf(key, size, from string) string {
	return "SELECT max(key) FROM (SELECT key, sum(size) OVER (ORDER BY key) - size AS before" +
		" FROM (SELECT " + key + " AS key, " + size + " AS size FROM " + from + " ORDER BY 1 LIMIT ?3)) WHERE before < ?4"
}

// clearPortion reports whether no rows are left. It finds the head by its name each time: another process may have cleared it, and a
// new session may have its number.
func clearPortion(ctx context.Context, c *conn, id string) (done bool, err error) {
	key, err := c.number(ctx, "SELECT key FROM head WHERE id = ?", id)
	if err != nil || key == 0 {
		return err == nil, err
	}
	for _, r := range removals() {
		in := r.in(key)
		last, err := c.number(ctx, r.last, in.low, in.high, int64(portionRows), int64(4*portion)) // removing is quicker than writing
		if err != nil {
			return false, err
		}
		if last != 0 {
			return false, c.execAll(ctx, r.remove, in.low, last)
		}
	}
	parts := partsOfSession(key)
	return true, errors.Join(
		c.execAll(ctx, []string{unindexSpan, "DELETE FROM delta WHERE part BETWEEN ? AND ?"}, parts.low, parts.high),
		c.execAll(ctx, []string{
			"DELETE FROM todo WHERE session = ?", "DELETE FROM prompt WHERE session = ?",
			"DELETE FROM session WHERE key = ?", "DELETE FROM head WHERE key = ?",
		}, key),
	)
}

// leftovers returns the hidden heads of dead processes.
func (s *Store) leftovers(ctx context.Context) (ids []string, err error) {
	err = s.read(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT id, node FROM head WHERE "+isHidden, func(r row) error {
			if !s.node.lives(r.text(1)) {
				ids = append(ids, r.text(0))
			}
			return nil
		})
	})
	return ids, err
}

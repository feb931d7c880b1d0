package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"time"
)

// hiddenPrefix begins the identifier of a head that is of no session: what an import has written so far, or what is left of
// a session that was deleted. Such rows have no row in the table of sessions, so nobody finds them. That lets many short
// transactions prepare an import or clear up after a deletion, so that other processes write in between, while a single one
// makes the sessions appear or vanish. Rows of a process that was killed are cleared by whoever imports, deletes or
// collects next.
const hiddenPrefix = "/"

// isHidden and isSeen select heads.
const (
	isHidden = "substr(id, 1, 1) = '" + hiddenPrefix + "'"
	isSeen   = "substr(id, 1, 1) <> '" + hiddenPrefix + "'"
)

const (
	// portion is how many bytes one transaction of a large change writes, about 10 ms of work.
	portion = 256 << 10
	// portionRows bounds the rows of one transaction that removes.
	portionRows = 512
	// portionPause is how long the lock is free between two transactions of a large change. It is longer than lockPoll.
	portionPause = 4 * time.Millisecond
)

func hiddenID() string { return hiddenPrefix + rand.Text() }

// hide makes a session vanish, and returns the name its rows have from then on.
func (s *Store) hide(ctx context.Context, c *conn, key int64) (string, error) {
	id := hiddenID()
	for _, d := range []struct {
		sql  string
		args []any
	}{
		{"INSERT OR REPLACE INTO gone(id, epoch) SELECT id, epoch FROM head WHERE key = ?", []any{key}},
		{"UPDATE head SET id = ?, node = ?, pid = ?, turn = 0 WHERE key = ?", []any{id, s.node.held(), int64(os.Getpid()), key}},
		{"DELETE FROM session WHERE key = ?", []any{key}},
	} {
		if _, err := c.exec(ctx, d.sql, d.args...); err != nil {
			return "", err
		}
	}
	return id, nil
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

// clearAll removes hidden rows. What cannot be removed now is left to the next who tries: it is out of sight already, and
// the change it belongs to is made.
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

// pause leaves the lock to others.
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

// clearPortion reports whether nothing is left. It finds the head by its name each time: somebody else may have cleared it,
// and its number may be that of a new session.
func clearPortion(ctx context.Context, c *conn, id string) (done bool, err error) {
	key, err := c.number(ctx, "SELECT key FROM head WHERE id = ?", id)
	if err != nil || key == 0 {
		return err == nil, err
	}
	parts := partsOfSession(key)
	high, err := lastOfPortion(ctx, c, parts)
	if err != nil {
		return false, err
	}
	if high != 0 {
		return false, errors.Join(
			run1(ctx, c, unindexSpan, parts.low, high),
			run1(ctx, c, "DELETE FROM delta WHERE part BETWEEN ? AND ?", parts.low, high),
			run1(ctx, c, "DELETE FROM part WHERE key BETWEEN ? AND ?", parts.low, high),
		)
	}
	messages, stamps := messagesOf(key), stampsOf(key)
	for _, d := range []struct {
		sql  string
		args []any
	}{
		{"DELETE FROM message WHERE key IN (SELECT key FROM message WHERE key BETWEEN ? AND ? LIMIT ?)", []any{messages.low, messages.high}},
		{"DELETE FROM removed WHERE stamp IN (SELECT stamp FROM removed WHERE stamp BETWEEN ? AND ? LIMIT ?)", []any{stamps.low, stamps.high}},
		{"DELETE FROM ledger WHERE key IN (SELECT key FROM ledger WHERE key BETWEEN ? AND ? LIMIT ?)", []any{stamps.low, stamps.high}},
	} {
		if n, err := c.exec(ctx, d.sql, append(d.args, int64(portionRows))...); err != nil || n > 0 {
			return false, err
		}
	}
	if more, err := clearBlobs(ctx, c, key); err != nil || more {
		return false, err
	}
	return true, errors.Join(
		run1(ctx, c, unindexSpan, parts.low, parts.high),
		run1(ctx, c, "DELETE FROM delta WHERE part BETWEEN ? AND ?", parts.low, parts.high),
		run1(ctx, c, "DELETE FROM todo WHERE session = ?", key),
		run1(ctx, c, "DELETE FROM prompt WHERE session = ?", key),
		run1(ctx, c, "DELETE FROM session WHERE key = ?", key),
		run1(ctx, c, "DELETE FROM head WHERE key = ?", key),
	)
}

func run1(ctx context.Context, c *conn, sql string, args ...any) error {
	_, err := c.exec(ctx, sql, args...)
	return err
}

const sizesOfParts = "SELECT key, octet_length(data) FROM part WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?"

// lastOfPortion returns the key of the last part that goes with the first of the span, zero when there is none.
func lastOfPortion(ctx context.Context, c *conn, in span) (last int64, err error) {
	size := int64(0)
	err = c.query(ctx, sizesOfParts, func(r row) error {
		if size < 4*portion { // removing is quicker than writing
			last = r.int(0)
		}
		size += r.int(1)
		return nil
	}, in.low, in.high, int64(portionRows))
	return last, err
}

const blobsOf = "SELECT s.blob, length(b.data) FROM blob_session s JOIN blob b ON b.key = s.blob WHERE s.session = ?"

// clearBlobs takes blobs from a session, and removes those that no other session needs.
func clearBlobs(ctx context.Context, c *conn, session int64) (more bool, err error) {
	var blobs []int64
	size := int64(0)
	err = c.query(ctx, blobsOf, func(r row) error {
		if more = size >= 4*portion; !more {
			blobs = append(blobs, r.int(0))
			size += r.int(1)
		}
		return nil
	}, session)
	for _, blob := range blobs {
		if err == nil {
			err = run1(ctx, c, "DELETE FROM blob_session WHERE session = ? AND blob = ?", session, blob)
		}
		if err == nil {
			err = run1(ctx, c, unusedBlob, blob)
		}
	}
	return more, err
}

// unusedBlob deletes a blob unless a session needs it.
const unusedBlob = "DELETE FROM blob WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM blob_session WHERE blob = ?1)"

// leftovers returns the hidden heads of processes that do not live any more.
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

package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// idle is a session with the blobs that it no longer mentions, as of seq.
type idle struct {
	session int64
	seq     int64
	unused  []int64
}

// errDryRun rolls a transaction back.
var errDryRun = errors.New("dry run")

// Collect looks for garbage while others write. One short transaction takes it out of sight, except in sessions that changed since;
// many short ones remove it. A dry run rolls the first one back.
func (s *Store) Collect(ctx context.Context, o store.GC) (store.Collected, error) {
	left, err := s.leftovers(ctx)
	if err != nil {
		return store.Collected{}, err
	}
	var garbage []idle
	err = s.read(ctx, func(c *conn) (err error) {
		garbage, err = unmentioned(ctx, c)
		return err
	})
	if err != nil {
		return store.Collected{}, err
	}
	var g *collector
	err = s.submit(ctx, func(ctx context.Context, c *conn) error {
		g = &collector{s: s, c: c, out: store.Collected{Leftovers: len(left)}}
		return g.collect(ctx, o, garbage)
	})
	if errors.Is(err, errDryRun) {
		return g.out, nil
	}
	if err != nil {
		return store.Collected{}, err
	}
	s.clearAll(ctx, append(left, g.hidden...))
	return g.out, s.dropBlobs(ctx, g.unused)
}

// dropBlobs removes the blobs, some at a time, unless a session needs them by now.
func (s *Store) dropBlobs(ctx context.Context, keys []int64) error {
	for some := range slices.Chunk(keys, dropAtOnce) {
		err := s.submit(ctx, func(ctx context.Context, c *conn) error {
			for _, key := range some {
				if _, err := c.exec(ctx, dropUnused, key); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			err = pause(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropUnused deletes a blob unless a session needs it.
const dropUnused = "DELETE FROM blob WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM blob_session WHERE blob = ?1)"

// dropAtOnce is the number of blobs that one transaction removes; most have less than 100 KB.
const dropAtOnce = 16

// unmentioned returns the sessions that have blobs.
func unmentioned(ctx context.Context, c *conn) ([]idle, error) {
	var list []idle
	err := c.query(ctx, "SELECT key, seq FROM head WHERE key IN (SELECT session FROM blob_session) AND "+isSeen+" ORDER BY key", func(r row) error {
		list = append(list, idle{session: r.int(0), seq: r.int(1)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range list {
		if err := list[i].look(ctx, c); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (g *idle) look(ctx context.Context, c *conn) error {
	blobs := map[string]int64{}
	err := c.query(ctx, "SELECT b.hash, b.key FROM blob_session s JOIN blob b ON b.key = s.blob WHERE s.session = ?", func(r row) error {
		blobs[r.text(0)] = r.int(1)
		return nil
	}, g.session)
	if err != nil {
		return err
	}
	parts := partsOfSession(g.session)
	err = c.query(ctx, "SELECT CAST(data AS BLOB) FROM part WHERE key BETWEEN ? AND ?", func(r row) error {
		data := r.bytes(0)
		mentions(data, func(hash []byte) { delete(blobs, string(hash)) })
		if !json.Valid(data) { // its damage may hide a mention
			clear(blobs)
		}
		return nil
	}, parts.low, parts.high)
	for _, key := range blobs {
		g.unused = append(g.unused, key)
	}
	return err
}

// collector takes garbage out of sight inside a transaction.
type collector struct {
	s      *Store
	c      *conn
	out    store.Collected
	hidden []string // names of the rows of deleted sessions
	unused []int64  // blobs
}

func (g *collector) collect(ctx context.Context, o store.GC, garbage []idle) error {
	archived := map[int64]bool{}
	if o.Archived != 0 {
		if err := g.sessions(ctx, o.Archived, archived); err != nil {
			return err
		}
	}
	for i := range garbage {
		if archived[garbage[i].session] || len(garbage[i].unused) == 0 {
			continue
		}
		if err := g.forget(ctx, &garbage[i]); err != nil {
			return err
		}
	}
	err := g.c.query(ctx, unusedBlobs, func(r row) error {
		g.unused = append(g.unused, r.int(0))
		g.out.Blobs++
		g.out.BlobBytes += r.int(1)
		return nil
	})
	if err != nil {
		return err
	}
	n, err := g.c.exec(ctx, dropAnswered, o.Untouched)
	g.out.Prompts = int(n)
	if err == nil && o.DryRun {
		err = errDryRun
	}
	return err
}

const (
	archivedBefore = `SELECT id FROM session WHERE archived = 1 AND parent = ''
	AND CASE WHEN json_valid(data) THEN json_extract(data, '$.time.archived') < ? END ORDER BY key`
	unusedBlobs  = "SELECT key, length(data) FROM blob WHERE NOT EXISTS (SELECT 1 FROM blob_session s WHERE s.blob = blob.key) ORDER BY key"
	dropAnswered = "DELETE FROM prompt WHERE data IS NULL AND session IN (SELECT key FROM session WHERE updated < ?)"
)

// sessions deletes archived sessions that are not in use. It adds the keys of all sessions that it considers to seen.
func (g *collector) sessions(ctx context.Context, before sdk.Millis, seen map[int64]bool) error {
	var ids []string
	err := g.c.query(ctx, archivedBefore, func(r row) error {
		ids = append(ids, r.text(0))
		return nil
	}, before)
	if err != nil {
		return err
	}
	for _, id := range ids {
		keys, err := g.s.familyOf(ctx, g.c, id)
		for _, key := range keys {
			seen[key] = true
		}
		if owned(err) {
			g.out.Skipped++
			continue
		}
		if err != nil {
			return err
		}
		hidden, err := g.s.hideAll(ctx, g.c, keys)
		if err != nil {
			return err
		}
		g.out.Sessions = append(g.out.Sessions, id)
		g.hidden = append(g.hidden, hidden...)
	}
	return nil
}

// forget takes from a session the blobs it does not mention, unless it changed since or is in use: a blob is stored
// before what mentions it.
func (g *collector) forget(ctx context.Context, i *idle) error {
	var seq int64
	var node string
	found, err := g.c.first(ctx, "SELECT seq, node FROM head WHERE key = ?", func(r row) { seq, node = r.int(0), r.text(1) }, i.session)
	if err != nil || !found {
		return err
	}
	if seq != i.seq || g.s.node.lives(node) {
		g.out.Skipped++
		return nil
	}
	for _, blob := range i.unused {
		if _, err := g.c.exec(ctx, "DELETE FROM blob_session WHERE session = ? AND blob = ?", i.session, blob); err != nil {
			return err
		}
	}
	return nil
}

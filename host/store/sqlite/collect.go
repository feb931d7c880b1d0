package sqlite

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/tenonhq/tenon/host/store"
)

// idle is a session that was looked through, with the blobs it no longer mentions.
type idle struct {
	session int64
	seq     int64
	unused  []int64
}

// Collect looks for garbage while others write, and takes it out of sight in one short transaction, which leaves out the
// sessions that changed since. Then it removes it a portion at a time.
func (s *Store) Collect(ctx context.Context, o store.GC) (out store.Collected, err error) {
	left, err := s.leftovers(ctx)
	if err != nil {
		return out, err
	}
	var garbage []idle
	err = s.read(ctx, func(c *conn) (err error) {
		garbage, err = unmentioned(ctx, c)
		return err
	})
	if err != nil {
		return out, err
	}
	var g *collector
	err = s.submit(ctx, func(ctx context.Context, c *conn) error {
		g = &collector{s: s, c: c, o: &o, settled: map[int64]bool{}}
		return g.collect(ctx, garbage)
	})
	if err != nil {
		return out, err
	}
	g.out.Leftovers = len(left)
	if !o.DryRun {
		s.clearAll(ctx, append(left, g.left...))
		err = s.dropBlobs(ctx, g.unused)
	}
	return g.out, err
}

// dropBlobs removes blobs that no session needs, some at a time: one may have been needed again since.
func (s *Store) dropBlobs(ctx context.Context, keys []int64) error {
	for some := range slices.Chunk(keys, dropAtOnce) {
		err := s.submit(ctx, func(ctx context.Context, c *conn) error {
			for _, key := range some {
				if err := run1(ctx, c, unusedBlob, key); err != nil {
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

// dropAtOnce is how many blobs one transaction removes; most have less than 100 KB.
const dropAtOnce = 16

// unmentioned looks through the sessions that have blobs.
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
	o      *store.GC
	out    store.Collected
	left   []string // names of the sessions' rows
	unused []int64  // blobs

	settled map[int64]bool // sessions that are deleted, or were left alone
}

func (g *collector) collect(ctx context.Context, garbage []idle) error {
	if err := g.sessions(ctx); err != nil {
		return err
	}
	for i := range garbage {
		if err := g.forget(ctx, &garbage[i]); err != nil {
			return err
		}
	}
	if err := g.blobs(ctx, garbage); err != nil {
		return err
	}
	return g.prompts(ctx)
}

const archivedBefore = `SELECT id FROM session WHERE archived = 1 AND parent = ''
	AND CASE WHEN json_valid(data) THEN json_extract(data, '$.time.archived') < ? END ORDER BY key`

// sessions deletes archived sessions that nobody uses.
func (g *collector) sessions(ctx context.Context) error {
	if g.o.Archived == 0 {
		return nil
	}
	var ids []string
	err := g.c.query(ctx, archivedBefore, func(r row) error {
		ids = append(ids, r.text(0))
		return nil
	}, g.o.Archived)
	if err != nil {
		return err
	}
	for _, id := range ids {
		keys, err := g.s.familyOf(ctx, g.c, id)
		for _, key := range keys {
			g.settled[key] = true
		}
		if owned(err) {
			g.out.Skipped++
			continue
		}
		if err != nil {
			return err
		}
		g.out.Sessions = append(g.out.Sessions, id)
		if g.o.DryRun {
			continue
		}
		left, err := g.s.hideAll(ctx, g.c, keys)
		if err != nil {
			return err
		}
		g.left = append(g.left, left...)
	}
	return nil
}

// forget takes from a session the blobs it does not mention, unless it changed since or is in use: a blob is stored
// before what mentions it.
func (g *collector) forget(ctx context.Context, i *idle) error {
	if g.settled[i.session] {
		i.unused = nil
	}
	if len(i.unused) == 0 {
		return nil
	}
	var seq int64
	var node string
	found, err := g.c.first(ctx, "SELECT seq, node FROM head WHERE key = ?", func(r row) { seq, node = r.int(0), r.text(1) }, i.session)
	if err != nil {
		return err
	}
	if !found || seq != i.seq || g.s.node.lives(node) {
		i.unused = nil
		if found {
			g.out.Skipped++
		}
		return nil
	}
	for _, blob := range i.unused {
		if g.o.DryRun {
			break
		}
		if _, err := g.c.exec(ctx, "DELETE FROM blob_session WHERE session = ? AND blob = ?", i.session, blob); err != nil {
			return err
		}
	}
	return nil
}

// blobs counts the blobs that no session needs. A dry run has taken none from their sessions: it leaves out what it would
// have taken.
func (g *collector) blobs(ctx context.Context, garbage []idle) error {
	taken := map[int64]int64{}
	if g.o.DryRun {
		for _, i := range garbage {
			for _, blob := range i.unused {
				taken[blob]++
			}
		}
	}
	const query = "SELECT key, length(data), (SELECT count(*) FROM blob_session s WHERE s.blob = blob.key) FROM blob ORDER BY key"
	err := g.c.query(ctx, query, func(r row) error {
		if r.int(2) == taken[r.int(0)] {
			g.unused = append(g.unused, r.int(0))
			g.out.BlobBytes += r.int(1)
		}
		return nil
	})
	g.out.Blobs = len(g.unused)
	return err
}

const answered = " FROM prompt WHERE data IS NULL AND session IN (SELECT key FROM session WHERE updated < ?)"

func (g *collector) prompts(ctx context.Context) error {
	n, err := g.c.number(ctx, "SELECT count(*)"+answered, g.o.Untouched)
	if g.out.Prompts = int(n); err != nil || g.o.DryRun {
		return err
	}
	_, err = g.c.exec(ctx, "DELETE"+answered, g.o.Untouched)
	return err
}

package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/sdk"
)

// idle is a session at a seq, with the blobs that it no longer mentions.
type idle struct {
	session int64
	seq     int64
	unused  []int64
}

// errDryRun rolls a transaction back.
var errDryRun = errors.New("dry run")

// Collect looks for garbage while other processes write. One short transaction makes it invisible, except in sessions that changed in the
// meantime; many short ones remove it. A dry run rolls the first one back.
func (s *Store) Collect(ctx context.Context, o store.GC) (store.Collected, error) {
	left, err := s.leftovers(ctx)
	if err != nil {
		return store.Collected{}, err
	}
	var garbage []idle
	if err := s.read(ctx, func(x *view) { garbage = x.unmentioned() }); err != nil {
		return store.Collected{}, err
	}
	var g *collector
	err = s.submit(ctx, func(x *database.Tx) {
		g = &collector{Tx: x, s: s, out: store.Collected{Leftovers: len(left)}}
		g.collect(o, garbage)
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

// dropBlobs removes blobs in portions, except those that a session has put in the meantime.
func (s *Store) dropBlobs(ctx context.Context, keys []int64) error {
	for some := range slices.Chunk(keys, dropAtOnce) {
		_, err := s.portion(ctx, func(x *database.Tx) (done bool) {
			for _, key := range some {
				x.Exec(dropUnused, key)
			}
			return false
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropUnused deletes a blob unless a session needs it.
const dropUnused = "DELETE FROM blob WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM blob_session WHERE blob = ?1)"

// dropAtOnce is the number of blobs that one transaction removes; most are smaller than 100 KB.
const dropAtOnce = 16

// unmentioned returns the sessions that have blobs.
func (x *view) unmentioned() []idle {
	const query = "SELECT key, seq FROM head WHERE key IN (SELECT session FROM blob_session) AND " + isSeen + " ORDER BY key"
	list := database.All(x.Tx, query, func(r database.Row) idle { return idle{session: r.Int(0), seq: r.Int(1)} })
	for i := range list {
		list[i].look(x)
	}
	return list
}

func (g *idle) look(x *view) {
	blobs := map[string]int64{}
	x.Each("SELECT b.hash, b.key FROM blob_session s JOIN blob b ON b.key = s.blob WHERE s.session = ?", func(r database.Row) {
		blobs[r.Text(0)] = r.Int(1)
	}, g.session)
	parts := partsOfSession(g.session)
	x.Each("SELECT CAST(data AS BLOB) FROM part WHERE key BETWEEN ? AND ?", func(r database.Row) {
		data := r.Bytes(0)
		mentions(data, func(hash []byte) { delete(blobs, string(hash)) })
		if !json.Valid(data) { // a damaged part may mention any blob
			clear(blobs)
		}
	}, parts.low, parts.high)
	g.unused = slices.Collect(maps.Values(blobs))
}

// collector makes garbage invisible, in a transaction.
type collector struct {
	*database.Tx
	s      *Store
	out    store.Collected
	hidden []string // identifiers of the heads of deleted sessions
	unused []int64  // blobs
}

func (g *collector) collect(o store.GC, garbage []idle) {
	archived := map[int64]bool{}
	if o.Archived != 0 {
		g.sessions(o.Archived, archived)
	}
	for i := range garbage {
		if !archived[garbage[i].session] && len(garbage[i].unused) > 0 {
			g.forget(&garbage[i])
		}
	}
	g.Each(unusedBlobs, func(r database.Row) {
		g.unused = append(g.unused, r.Int(0))
		g.out.Blobs++
		g.out.BlobBytes += r.Int(1)
	})
	if o.DryRun {
		g.Fail(errDryRun)
	}
}

const (
	archivedBefore = `SELECT id FROM session WHERE archived = 1 AND parent = ''
	AND CASE WHEN json_valid(data) THEN json_extract(data, '$.time.archived') < ? END ORDER BY key`
	unusedBlobs = "SELECT key, length(data) FROM blob WHERE NOT EXISTS (SELECT 1 FROM blob_session s WHERE s.blob = blob.key) ORDER BY key"
)

// sessions deletes archived sessions that are not in use. It adds the keys of all sessions that it considers to seen.
func (g *collector) sessions(before sdk.Millis, seen map[int64]bool) {
	var ids []string
	g.Each(archivedBefore, func(r database.Row) { ids = append(ids, r.Text(0)) }, before)
	for _, id := range ids {
		keys, owned := g.s.familyOf(g.Tx, id)
		for _, key := range keys {
			seen[key] = true
		}
		if owned != nil {
			g.out.Skipped++
			continue
		}
		g.out.Sessions = append(g.out.Sessions, id)
		g.hidden = append(g.hidden, g.s.hideAll(g.Tx, keys)...)
	}
}

// forget removes the unmentioned blobs of a session, unless it changed in the meantime or is in use: a blob is stored before the part that
// mentions it.
func (g *collector) forget(i *idle) {
	var seq int64
	var node string
	found := g.First("SELECT seq, node FROM head WHERE key = ?", func(r database.Row) { seq, node = r.Int(0), r.Text(1) }, i.session)
	if !found {
		return
	}
	if seq != i.seq || g.s.node.Lives(node) {
		g.out.Skipped++
		return
	}
	for _, blob := range i.unused {
		g.Exec("DELETE FROM blob_session WHERE session = ? AND blob = ?", i.session, blob)
	}
}

// mentions calls f with each text in a part that looks like the hash of a blob. A false match only keeps a blob longer.
func mentions(data []byte, f func(hash []byte)) {
	run := 0 // number of hexadecimal digits directly before i
	for i, c := range data {
		if '0' <= c && c <= '9' || 'a' <= c && c <= 'f' {
			if run++; run >= store.HashLength {
				f(data[i+1-store.HashLength : i+1])
			}
			continue
		}
		run = 0
	}
}

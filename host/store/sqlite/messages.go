package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// page is a run of messages as it is stored: rows in the order of their keys.
type page struct {
	messages, parts []stored
	appended        map[int64]*strings.Builder // part -> text; only open parts have any
}

type stored struct {
	key  int64
	data []byte
}

// Messages returns a page of messages: one range scan each for messages, parts and appended text.
// Decoding costs several times what reading does, so it is done apart, on all processors.
func (s *Store) Messages(ctx context.Context, session string, q store.Page) ([]sdk.MessageWithParts, error) {
	var p page
	err := s.readSession(ctx, session, func(c *conn, key int64) error {
		in, err := bounds(ctx, c, messagesOf(key), q)
		if err != nil {
			return err
		}
		return p.read(ctx, c, in, q.Limit)
	})
	if err != nil {
		return nil, err
	}
	return s.decode(&p)
}

func bounds(ctx context.Context, c *conn, in span, q store.Page) (span, error) {
	find := func(id string) (int64, error) {
		key, err := c.number(ctx, findMessage, id, in.low, in.high)
		if err == nil && key == 0 {
			err = fmt.Errorf("message %s: %w", id, store.ErrNotFound)
		}
		return key, err
	}
	out := in
	if q.Before != "" {
		key, err := find(q.Before)
		if err != nil {
			return in, err
		}
		out.high = key - 1
	}
	if q.From != "" {
		key, err := find(q.From)
		if err != nil {
			return in, err
		}
		out.low = key
	}
	return out, nil
}

func (p *page) read(ctx context.Context, c *conn, in span, limit int) (err error) {
	if limit <= 0 {
		limit = -1 // all
	}
	const messages = "SELECT key, CAST(data AS BLOB) FROM message WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT ?"
	if p.messages, err = readRows(ctx, c, messages, in.low, in.high, int64(limit)); err != nil || len(p.messages) == 0 {
		return err
	}
	slices.Reverse(p.messages)
	parts := span{partsOf(p.messages[0].key).low, partsOf(p.messages[len(p.messages)-1].key).high}
	if p.appended, err = readDeltas(ctx, c, parts); err != nil {
		return err
	}
	p.parts, err = readRows(ctx, c, "SELECT key, CAST(data AS BLOB) FROM part WHERE key BETWEEN ? AND ? ORDER BY key", parts.low, parts.high)
	return err
}

func readRows(ctx context.Context, c *conn, query string, args ...any) (out []stored, err error) {
	err = c.query(ctx, query, func(r row) error {
		out = append(out, stored{r.int(0), r.bytes(1)})
		return nil
	}, args...)
	return out, err
}

// readDeltas returns the text that was appended to each part of the span.
func readDeltas(ctx context.Context, c *conn, in span) (map[int64]*strings.Builder, error) {
	texts := map[int64]*strings.Builder{}
	err := c.query(ctx, "SELECT part, text FROM delta WHERE part BETWEEN ? AND ? ORDER BY part, stamp", func(r row) error {
		text := texts[r.int(0)]
		if text == nil {
			text = &strings.Builder{}
			texts[r.int(0)] = text
		}
		text.WriteString(r.text(1))
		return nil
	}, in.low, in.high)
	return texts, err
}

func (s *Store) decode(p *page) ([]sdk.MessageWithParts, error) {
	out := make([]sdk.MessageWithParts, len(p.messages))
	parts := make(sdk.Parts, len(p.parts))
	// Both kinds of rows in one go: messages first, then parts.
	err := inParallel(len(out)+len(parts), func(i int) (err error) {
		if i < len(out) {
			out[i].Info, err = sdk.DecodeMessage(p.messages[i].data)
			return s.damagedRow("message", p.messages[i], err)
		}
		i -= len(out)
		parts[i], err = sdk.DecodePart(p.parts[i].data)
		return s.damagedRow("part", p.parts[i], err)
	})
	if err != nil {
		return nil, err
	}
	for key, text := range p.appended {
		if i, ok := slices.BinarySearchFunc(p.parts, key, func(r stored, key int64) int { return cmp.Compare(r.key, key) }); ok {
			extend(parts[i], text.String())
		}
	}
	for i, from := 0, 0; i < len(out); i++ {
		to := from
		for to < len(parts) && messageOf(p.parts[to].key) == p.messages[i].key {
			to++
		}
		out[i].Parts = parts[from:to:to]
		from = to
	}
	return out, nil
}

func (s *Store) damagedRow(kind string, r stored, err error) error {
	if err == nil {
		return nil
	}
	return s.damaged(fmt.Sprintf("%s %d", kind, r.key), err)
}

// minShare is how many rows are worth a goroutine.
const minShare = 128

// inParallel calls f for each number below n, on as many processors as are worth it, and waits.
func inParallel(n int, f func(int) error) error {
	workers := max(1, min(runtime.GOMAXPROCS(0), n/minShare))
	errs := make([]error, workers)
	share := func(w int) {
		for i := w * n / workers; i < (w+1)*n/workers && errs[w] == nil; i++ {
			errs[w] = f(i)
		}
	}
	var group sync.WaitGroup
	for w := 1; w < workers; w++ {
		group.Go(func() { share(w) })
	}
	share(0)
	group.Wait()
	return errors.Join(errs...)
}

package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/sdk"
)

// page holds the rows of consecutive messages, in the order of their keys.
type page struct {
	session         string
	messages, parts []stored
	appended        map[int64]*strings.Builder // part -> text of open and of long parts
	broken          []broken                   // omitted rows
}

// stored is a row of a message or part. A row that cannot be read has a problem instead of data.
type stored struct {
	key     int64
	id      string
	data    []byte
	problem error
}

// named is the identifier of a row, a line feed and the value in one column, because another column costs the driver as much as another row.
const named = "CAST(id || char(10) || coalesce(data, '') AS BLOB)"

// rowQueries are the queries for the rows of a span of keys.
type rowQueries struct{ last, first string }

func rowsOf(table string) rowQueries {
	const from, between = " FROM ", " WHERE key BETWEEN ? AND ? ORDER BY key"
	return rowQueries{"SELECT key, " + named + from + table + between + " DESC LIMIT ?", "SELECT key" + from + table + between + " LIMIT 1"}
}

var messageRows, partRows = rowsOf("message"), rowsOf("part")

// unlimited is the limit of a query for all rows.
const unlimited = -1

// read returns the last rows of a span in the order of their keys, at most limit. SQLite does not check this order: a damaged key ends a scan
// early, or leads to rows outside of the span.
func (q *rowQueries) read(ctx context.Context, c *database.Conn, in span, limit int) ([]stored, error) {
	out, err := database.All(ctx, c, q.last, func(r database.Row) stored {
		id, data, _ := bytes.Cut(r.Bytes(1), []byte{'\n'})
		return stored{key: r.Int(0), id: string(id), data: data}
	}, in.low, in.high, int64(limit))
	if err != nil {
		return nil, err
	}
	slices.Reverse(out)
	first, err := c.Number(ctx, q.first, in.low, in.high)
	if err != nil {
		return nil, err
	}
	before, ordered := in.low-1, true
	for i := range out {
		ordered = ordered && out[i].key > before && out[i].key <= in.high
		before = out[i].key
	}
	if !ordered || len(out) == 0 && first != 0 || len(out) > 0 && len(out) != limit && first != out[0].key {
		return nil, fmt.Errorf("%w: the rows of a session are not in order", store.ErrCorrupt)
	}
	return out, nil
}

// Messages returns a page of messages with one range scan each for messages, parts and appended text. Decoding costs several times as much as
// reading. It is therefore done outside the read, on all processors.
func (s *Store) Messages(ctx context.Context, session string, q store.Page) ([]sdk.MessageWithParts, error) {
	p := page{session: session}
	err := s.readSession(ctx, session, func(c *database.Conn, key int64) error {
		in, err := bounds(ctx, c, messagesOf(key), q)
		if err != nil {
			return err
		}
		return p.read(ctx, c, in, q.Limit)
	})
	if err != nil {
		return nil, err
	}
	out := p.decode()
	return out, s.damageError(damages(p.broken))
}

func bounds(ctx context.Context, c *database.Conn, in span, q store.Page) (span, error) {
	find := func(id string) (int64, error) {
		key, err := c.Number(ctx, findMessage, id, in.low, in.high)
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

func (p *page) read(ctx context.Context, c *database.Conn, in span, limit int) (err error) {
	if limit <= 0 {
		limit = unlimited
	}
	if p.messages, err = messageRows.read(ctx, c, in, limit); err != nil {
		return err
	}
	// Parts without a message belong to the page, too: the row of their message may be damaged.
	parts := span{partsOf(in.low).low, partsOf(in.high).high}
	if len(p.messages) == limit {
		parts.low = partsOf(p.messages[0].key).low
	}
	if p.appended, err = readDeltas(ctx, c, parts); err != nil {
		return err
	}
	p.parts, err = partRows.read(ctx, c, parts, unlimited)
	return err
}

// readDeltas returns the text that was appended to each part of the span.
func readDeltas(ctx context.Context, c *database.Conn, in span) (map[int64]*strings.Builder, error) {
	texts := map[int64]*strings.Builder{}
	err := c.Query(ctx, "SELECT part, text FROM delta WHERE part BETWEEN ? AND ? ORDER BY part, stamp", func(r database.Row) error {
		text := texts[r.Int(0)]
		if text == nil {
			text = &strings.Builder{}
			texts[r.Int(0)] = text
		}
		text.WriteString(r.Text(1))
		return nil
	}, in.low, in.high)
	return texts, err
}

// decode returns the messages and parts that can be read, and notes the others. If only the message of parts cannot be read, it is
// replaced.
func (p *page) decode() []sdk.MessageWithParts {
	infos := make([]sdk.Message, len(p.messages))
	parts := make(sdk.Parts, len(p.parts))
	// Messages first, then parts.
	inParallel(len(infos)+len(parts), func(i int) {
		if i < len(infos) {
			infos[i] = p.messages[i].message(p.session)
			return
		}
		i -= len(infos)
		parts[i] = p.parts[i].part(p.session)
	})
	for key, text := range p.appended {
		if i, ok := slices.BinarySearchFunc(p.parts, key, func(r stored, key int64) int { return cmp.Compare(r.key, key) }); ok && parts[i] != nil {
			if err := extend(parts[i], text.String()); err != nil {
				parts[i], p.parts[i].problem = nil, err
			}
		}
	}
	return p.join(infos, parts)
}

// join assigns the parts to their messages.
func (p *page) join(infos []sdk.Message, parts sdk.Parts) []sdk.MessageWithParts {
	out := make([]sdk.MessageWithParts, 0, len(infos))
	var before sdk.Message
	for i, at := 0, 0; i < len(infos) || at < len(parts); {
		row := stored{}
		var info sdk.Message
		if i < len(infos) && (at == len(parts) || p.messages[i].key <= messageOf(p.parts[at].key)) {
			row, info = p.messages[i], infos[i]
			i++
		} else {
			row = stored{key: messageOf(p.parts[at].key), problem: errMissing}
		}
		from := at
		for at < len(parts) && messageOf(p.parts[at].key) == row.key {
			at++
		}
		m, ok := p.joinOne(&row, info, parts[from:at:at], p.parts[from:at], before)
		if !ok {
			continue
		}
		before = m.Info
		out = append(out, m)
	}
	return out
}

// joinOne returns one message with its parts, without those that cannot be read. It reports false if none of them can be read.
func (p *page) joinOne(row *stored, info sdk.Message, parts sdk.Parts, rows []stored, before sdk.Message) (m sdk.MessageWithParts, ok bool) {
	id := row.id
	if i := slices.IndexFunc(parts, func(part sdk.Part) bool { return part != nil }); info == nil && i >= 0 {
		id = parts[i].Head().MessageID // more reliable than the ID in a damaged row
	}
	kept := parts[:0]
	for i, part := range parts {
		if part != nil && part.Head().MessageID != id {
			part, rows[i].problem = nil, errIdentity
		}
		if part == nil {
			d := store.Damage{Type: store.DamagedPart, Session: p.session, Message: id, ID: rows[i].id}
			p.broken = append(p.broken, *newBroken(d, rows[i].key, rows[i].data, rows[i].problem))
			continue
		}
		kept = append(kept, part)
	}
	if info == nil {
		if len(kept) > 0 {
			info = store.StandIn(sdk.MessageHead{ID: id, SessionID: p.session}, before, kept)
		}
		b := newBroken(store.Damage{Type: store.DamagedMessage, Session: p.session, ID: id}, row.key, row.data, row.problem)
		b.inPlace = info
		p.broken = append(p.broken, *b)
	}
	return sdk.MessageWithParts{Info: info, Parts: kept}, info != nil
}

var (
	errMissing  = errors.New("the row is missing")
	errIdentity = errors.New("its identifiers do not match its place")
	errContent  = errors.New("its content cannot be decoded")
)

// message decodes the row, or notes its problem.
func (r *stored) message(session string) sdk.Message {
	if r.problem != nil {
		return nil
	}
	m, err := sdk.DecodeMessage(r.data)
	if r.problem = identified(err, err == nil && m.Head().ID == r.id && m.Head().SessionID == session); r.problem != nil {
		return nil
	}
	return m
}

// part decodes the row, or notes its problem.
func (r *stored) part(session string) sdk.Part {
	if r.problem != nil {
		return nil
	}
	p, err := sdk.DecodePart(r.data)
	if r.problem = identified(err, err == nil && p.Head().ID == r.id && p.Head().SessionID == session); r.problem != nil {
		return nil
	}
	return p
}

// identified returns the problem of a row. Errors of decoders quote content, which must not get into logs.
func identified(err error, same bool) error {
	switch {
	case err != nil:
		return errContent
	case !same:
		return errIdentity
	}
	return nil
}

// minShare is the number of rows that justifies a goroutine.
const minShare = 128

// inParallel calls f for each number below n, on several processors if n is large, and waits.
func inParallel(n int, f func(int)) {
	workers := max(1, min(runtime.GOMAXPROCS(0), n/minShare))
	share := func(w int) {
		for i := w * n / workers; i < (w+1)*n/workers; i++ {
			f(i)
		}
	}
	var group sync.WaitGroup
	for w := 1; w < workers; w++ {
		group.Go(func() { share(w) })
	}
	share(0)
	group.Wait()
}

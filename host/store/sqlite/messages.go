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
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/sdk"
)

// page holds the rows of consecutive messages, in the order of their keys.
type page struct {
	session         string
	messages, parts []stored
	appended        map[int64]*strings.Builder // part -> text of open and of long parts
	findings
}

// stored is a row of a message or part. A row that cannot be read has a problem instead of data.
type stored struct {
	key     int64
	id      string
	data    []byte
	problem error
}

// Messages returns a page of messages with one range scan each for messages, parts and appended text. Decoding costs several times as much as
// reading. It is therefore done outside the read, on all processors.
func (s *Store) Messages(ctx context.Context, session string, q store.Page) ([]sdk.MessageWithParts, error) {
	p := page{session: session}
	err := s.readSession(ctx, session, func(x *view, key int64) { p.read(x, x.bounds(messagesOf(key), q), q.Limit) })
	if err != nil {
		return nil, err
	}
	out := p.decode()
	return out, s.damageError(p.damages())
}

func (x *view) bounds(in span, q store.Page) span {
	find := func(id string) int64 {
		key := x.numberOr(findMessage, findMessagePlainly, id, in.low, in.high)
		if key == 0 {
			x.Fail(fmt.Errorf("message %s: %w", id, store.ErrNotFound))
		}
		return key
	}
	out := in
	if q.Before != "" {
		out.high = find(q.Before) - 1
	}
	if q.From != "" {
		out.low = find(q.From)
	}
	return out
}

func (p *page) read(x *view, in span, limit int) {
	limit = cmp.Or(max(limit, 0), unlimited)
	var whole bool
	p.messages, whole = messageRows.newest(x, in, limit)
	p.noteRange(whole, "messages")
	// Parts without a message belong to the page, too: the row of their message may be damaged.
	parts := span{partsOf(in.low).low, partsOf(in.high).high}
	if len(p.messages) == limit {
		parts.low = partsOf(p.messages[0].key).low
	}
	if p.appended = x.deltas(parts); x.Damaged() {
		p.structure(p.session, "text that was appended to parts cannot be read")
	}
	p.parts, whole = partRows.newest(x, parts, unlimited)
	p.noteRange(whole, "parts")
}

// noteRange notes that there may be unknown rows, unless the known ones are all.
func (p *page) noteRange(whole bool, rows string) {
	if !whole {
		p.structure(p.session, "a range of "+rows+" and its indexes cannot be read")
	}
}

// deltas returns the text that was appended to each part of the span.
func (x *view) deltas(in span) map[int64]*strings.Builder {
	texts := map[int64]*strings.Builder{}
	x.Each("SELECT part, text FROM delta WHERE part BETWEEN ? AND ? ORDER BY part, stamp", func(r database.Row) {
		text := texts[r.Int(0)]
		if text == nil {
			text = &strings.Builder{}
			texts[r.Int(0)] = text
		}
		text.WriteString(r.Text(1))
	}, in.low, in.high)
	return texts
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
			p.note(store.Damage{Type: store.DamagedPart, Session: p.session, Message: id, ID: rows[i].id}, rows[i].key, rows[i].data, rows[i].problem)
			continue
		}
		kept = append(kept, part)
	}
	if info == nil {
		if len(kept) > 0 {
			info = store.StandIn(sdk.MessageHead{ID: id, SessionID: p.session}, before, kept)
		}
		p.note(store.Damage{Type: store.DamagedMessage, Session: p.session, ID: id}, row.key, row.data, row.problem).inPlace = info
	}
	return sdk.MessageWithParts{Info: info, Parts: kept}, info != nil
}

var (
	errMissing  = errors.New("the row is missing")
	errIdentity = errors.New("its identifiers do not match its place")
	errContent  = errors.New("its content cannot be decoded")
	errPage     = errors.New("its page of the file cannot be read")
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

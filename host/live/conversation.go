package live

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// loadPage is the number of messages that are read at a time when a session is resumed.
const loadPage = 200

// Conversation is a claimed session in memory: the messages that a request may need, and the journal that makes each change durable. The
// runner's goroutine changes it. The lock is for tools, which report progress and read on their own goroutines.
type Conversation struct {
	IDs     *IDs
	Journal *journal

	updates  sync.Mutex // held while a change of the session is made and recorded, so that the last row has all changes
	mu       sync.Mutex
	session  *sdk.Session
	messages []sdk.MessageWithParts // from the last compaction on, in the order of the store
	streamed map[string][]byte      // by part: the long arguments of open calls that the store already has
}

// Now returns the current time.
func Now() sdk.Millis { return time.Now().UnixMilli() }

// Open reads a claimed session and closes everything that an earlier process, or a turn that could not be stored, left open. It returns the
// damaged rows that are left out. The caller closes the journal.
func Open(ctx context.Context, s store.Store, token store.Token, ids *IDs, publish func(sdk.Event)) (*Conversation, []store.Damage, error) {
	session, _, err := s.Session(ctx, token.Session)
	if err != nil {
		return nil, nil, err
	}
	messages, damaged, err := Load(ctx, s, token.Session)
	if err != nil {
		return nil, damaged, err
	}
	for _, m := range messages {
		for _, part := range m.Parts {
			ids.Follow(part.Head().ID)
		}
		ids.Follow(m.Info.Head().ID)
	}
	c := &Conversation{IDs: ids, session: session, messages: messages, streamed: map[string][]byte{}, Journal: newJournal(ctx, s, token, publish)}
	if ops := CloseInterrupted(messages); len(ops) > 1 {
		c.Journal.Put(ops)
	}
	return c, damaged, nil
}

// Load reads the messages of a session that a turn needs: from the beginning of the last summary's verbatim tail, or of the turn
// whose steps it keeps, or all of them. It returns the damaged rows that are left out.
func Load(ctx context.Context, s store.Store, session string) (out []sdk.MessageWithParts, damaged []store.Damage, err error) {
	page := store.Page{Limit: loadPage}
	for {
		got, err := s.Messages(ctx, session, page)
		rows, err := store.Readable(err)
		if len(out) > 0 && page.Before == out[0].Info.Head().ID && errors.Is(err, store.ErrNotFound) {
			return out, damaged, nil // the session begins with parts whose message is missing
		}
		if err != nil {
			return nil, nil, err
		}
		out, damaged = append(got, out...), append(damaged, rows...)
		if len(got) > 0 {
			page.Before = got[0].Info.Head().ID
		} else {
			page.Before = "" // a damaged part may belong to a message that is not in the store
			if i := slices.IndexFunc(rows, func(row store.Damage) bool { return row.Type == store.DamagedMessage && row.ID != "" }); i >= 0 {
				page.Before = rows[i].ID
			}
		}
		if len(got)+len(rows) < loadPage || page.Before == "" || reachesSummary(out) {
			return out, damaged, nil
		}
	}
}

// CloseInterrupted closes messages and parts that an earlier process left open, and returns the changes: parts keep the content received so far,
// a running call gets an unknown outcome, and nothing is repeated.
func CloseInterrupted(messages []sdk.MessageWithParts) []store.Op {
	var ops []store.Op
	for _, m := range messages {
		a, ok := m.Info.(*sdk.AssistantMessage)
		if !ok || a.Time.Completed != 0 {
			continue
		}
		for _, p := range m.Parts {
			if ClosePart(p, interruptedByCrash) {
				ops = append(ops, store.PutPart{Part: CopyPart(p)})
			}
		}
		a.Time.Completed = Now()
		a.Error = &sdk.NamedError{Name: sdk.ErrorAborted, Data: sdk.ErrorData{Message: "interrupted: the process that ran this turn ended, or could not store it"}}
		ops = append(ops, store.PutMessage{Message: CopyMessage(a)})
	}
	return append(ops, store.SetTurn{Open: false})
}

// ID returns the identifier of the session.
func (c *Conversation) ID() string { return c.Journal.token.Session }

// Snapshot returns the current messages. Only open messages are copied, because closed parts never change: a step must not cost more in a
// longer turn.
func (c *Conversation) Snapshot() []sdk.MessageWithParts {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]sdk.MessageWithParts, len(c.messages))
	for i, m := range c.messages {
		if a, ok := m.Info.(*sdk.AssistantMessage); !ok || a.Time.Completed != 0 {
			out[i] = m
			continue
		}
		out[i] = sdk.MessageWithParts{Info: CopyMessage(m.Info), Parts: make(sdk.Parts, len(m.Parts))}
		for k, p := range m.Parts {
			out[i].Parts[k] = CopyPart(p)
		}
	}
	return out
}

// SessionCopy returns a copy of the session's row.
func (c *Conversation) SessionCopy() *sdk.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return new(*c.session)
}

// UpdateSession changes the session row and records it.
func (c *Conversation) UpdateSession(change func(*sdk.Session)) { c.changeSession(change, nil, nil) }

// changeSession is UpdateSession together with other changes: all become durable or none.
func (c *Conversation) changeSession(change func(*sdk.Session), with []store.Op, events []sdk.Event) {
	c.updates.Lock()
	defer c.updates.Unlock()
	c.mu.Lock()
	change(c.session)
	c.session.Time.Updated = Now()
	s := *c.session
	c.mu.Unlock()
	c.Journal.Put(append(with, store.PutSession{Session: &s}), append(events, sdk.Event{
		Type: sdk.EventSessionUpdated, Properties: &sdk.SessionInfo{SessionID: s.ID, Info: s},
	})...)
}

// Add appends a message with its parts and records them together with other changes: all become durable or none.
func (c *Conversation) Add(m sdk.Message, parts sdk.Parts, with ...store.Op) {
	c.mu.Lock()
	c.messages = append(c.messages, sdk.MessageWithParts{Info: m, Parts: parts})
	m = CopyMessage(m)
	ops, events := append(with, store.PutMessage{Message: m}), []sdk.Event{messageUpdated(m)}
	for _, p := range parts {
		p = CopyPart(p)
		ops, events = append(ops, store.PutPart{Part: p}), append(events, PartUpdated(p))
	}
	c.mu.Unlock()
	c.Journal.Put(ops, events...)
}

// AddPart appends a part to its message and records it.
func (c *Conversation) AddPart(p sdk.Part) {
	c.mu.Lock()
	if i := IndexOf(c.messages, p.Head().MessageID); i >= 0 {
		c.messages[i].Parts = append(c.messages[i].Parts, p)
	}
	c.mu.Unlock()
	c.PutPart(p)
}

// ReplacePart replaces the first part of type P in a message for which change returns true by the copy that change got, and records it. The part
// itself does not change, because parts of closed messages are read without a lock.
func ReplacePart[T any, P interface {
	*T
	sdk.Part
}](c *Conversation, messageID string, change func(P) bool) {
	var changed sdk.Part
	c.mu.Lock()
	if i := IndexOf(c.messages, messageID); i >= 0 {
		m := &c.messages[i]
		for j, p := range m.Parts {
			part, ok := p.(P)
			if !ok {
				continue
			}
			if part = new(*part); change(part) {
				m.Parts = slices.Clone(m.Parts)
				m.Parts[j], changed = part, part
				break
			}
		}
	}
	c.mu.Unlock()
	if changed != nil {
		c.PutPart(changed)
	}
}

// PutMessage records the current state of a message.
func (c *Conversation) PutMessage(m sdk.Message) {
	c.mu.Lock()
	m = CopyMessage(m)
	c.mu.Unlock()
	c.Journal.Put([]store.Op{store.PutMessage{Message: m}}, messageUpdated(m))
}

func messageUpdated(m sdk.Message) sdk.Event {
	return sdk.Event{Type: sdk.EventMessageUpdated, Properties: &sdk.MessageInfo{SessionID: m.Head().SessionID, Info: m}}
}

// PartUpdated returns the event that reports the state of a part.
func PartUpdated(p sdk.Part) sdk.Event {
	return sdk.Event{Type: sdk.EventPartUpdated, Properties: &sdk.PartInfo{SessionID: p.Head().SessionID, Part: p, Time: Now()}}
}

// PutPart records the current state of a part, with blobs it refers to.
func (c *Conversation) PutPart(p sdk.Part, blobs ...[]byte) {
	c.Record(store.PutPart{Part: p}, blobs...)
}

// NoteStreamed notes that the complete arguments of an open call are stored as they were streamed. They are not written again unless they
// change.
func (c *Conversation) NoteStreamed(partID string, args []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streamed[partID] = args
}

// Record is PutPart with the other fields of op.
func (c *Conversation) Record(op store.PutPart, blobs ...[]byte) {
	c.mu.Lock()
	op.Part = CopyPart(op.Part)
	if p, ok := op.Part.(*sdk.ToolPart); ok && c.streamed[p.ID] != nil {
		op.Streamed = bytes.Equal(p.State.Input, c.streamed[p.ID])
		if !op.Streamed || !p.State.Open() {
			delete(c.streamed, p.ID)
		}
	}
	c.mu.Unlock()
	ops := make([]store.Op, 0, 1+len(blobs))
	for _, b := range blobs {
		ops = append(ops, store.PutBlob{Content: b})
	}
	c.Journal.Put(append(ops, op), PartUpdated(op.Part))
}

// AppendText adds streamed text to an open part.
func (c *Conversation) AppendText(p sdk.Part, field, delta string) {
	c.Journal.append(*p.Head(), field, delta)
}

// NewPart returns the identifiers of a new part of a message.
func (c *Conversation) NewPart(m sdk.Message) sdk.PartHead {
	return sdk.PartHead{ID: c.IDs.New(sdk.PrefixPart), SessionID: m.Head().SessionID, MessageID: m.Head().ID}
}

// Parts returns the parts of a message.
func (c *Conversation) Parts(messageID string) sdk.Parts {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := IndexOf(c.messages, messageID); i >= 0 {
		return slices.Clone(c.messages[i].Parts)
	}
	return nil
}

// Locked runs f while no other goroutine reads or changes parts.
func (c *Conversation) Locked(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// RemoveMessages removes messages and changes the session in one step, then reads the conversation again. It returns the damaged rows that are
// left out.
func (c *Conversation) RemoveMessages(ctx context.Context, ids []string, change func(*sdk.Session)) ([]store.Damage, error) {
	ops, events := []store.Op{}, []sdk.Event{}
	for _, id := range ids {
		ops = append(ops, store.RemoveMessage{MessageID: id})
		events = append(events, sdk.Event{Type: sdk.EventMessageRemoved, Properties: &sdk.MessageRef{SessionID: c.ID(), MessageID: id}})
	}
	c.changeSession(change, ops, events)
	if err := c.Journal.Flush(ctx); err != nil {
		return nil, err
	}
	messages, damaged, err := Load(ctx, c.Journal.store, c.ID())
	if err == nil {
		c.Locked(func() { c.messages = messages })
	}
	return damaged, err
}

var (
	// ErrNotFound is returned for an unknown session, message, agent or request.
	ErrNotFound = store.ErrNotFound
	// ErrNothing is returned if there is nothing to undo, redo or summarize, or no summary to remove.
	ErrNothing = errors.New("nothing to do")
)

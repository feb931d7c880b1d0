package host

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// loadPage is how many messages are read at a time when a session is taken up again.
const loadPage = 200

// conversation is a claimed session in memory: the messages a request may need, and the journal that
// makes each change durable. The runner's goroutine changes it; tools report progress and read from
// theirs, which is what the lock is for.
type conversation struct {
	ids     *sdk.IDs
	journal *journal
	tracker *tracker

	mu       sync.Mutex
	session  *sdk.Session
	messages []sdk.MessageWithParts // from the last compaction on, in the order of the store
}

func now() sdk.Millis { return time.Now().UnixMilli() }

// loadMessages reads what a turn needs of a session: the messages back to where the last summary's verbatim tail
// begins, or all of them. It returns the damaged rows that are left out.
func loadMessages(ctx context.Context, s store.Store, session string) (out []sdk.MessageWithParts, damaged []store.Damage, err error) {
	page := store.Page{Limit: loadPage}
	for {
		got, err := s.Messages(ctx, session, page)
		rows, err := store.Readable(err)
		if err != nil {
			return nil, nil, err
		}
		out, damaged = append(got, out...), append(damaged, rows...)
		if len(got)+len(rows) < loadPage || len(got) == 0 || reachesSummary(out) {
			return out, damaged, nil
		}
		page.Before = got[0].Info.Head().ID
	}
}

// snapshot returns the messages as they are now. What is closed does not change any more, so only open
// messages are copied: a step must not cost more the longer the turn is.
func (c *conversation) snapshot() []sdk.MessageWithParts {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]sdk.MessageWithParts, len(c.messages))
	for i, m := range c.messages {
		if a, ok := m.Info.(*sdk.AssistantMessage); !ok || a.Time.Completed != 0 {
			out[i] = m
			continue
		}
		out[i] = sdk.MessageWithParts{Info: copyMessage(m.Info), Parts: make(sdk.Parts, len(m.Parts))}
		for k, p := range m.Parts {
			out[i].Parts[k] = copyPart(p)
		}
	}
	return out
}

// sessionCopy returns the session as it is now.
func (c *conversation) sessionCopy() *sdk.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := *c.session
	return &s
}

// updateSession changes the session row and records it.
func (c *conversation) updateSession(change func(*sdk.Session)) {
	c.mu.Lock()
	change(c.session)
	c.session.Time.Updated = now()
	s := *c.session
	c.mu.Unlock()
	c.journal.put([]store.Op{store.PutSession{Session: &s}}, sdk.Event{
		Type: sdk.EventSessionUpdated, Properties: &sdk.SessionInfo{SessionID: s.ID, Info: s},
	})
}

// add appends a message with its parts and records them.
func (c *conversation) add(m sdk.Message, parts ...sdk.Part) {
	c.mu.Lock()
	c.messages = append(c.messages, sdk.MessageWithParts{Info: m, Parts: parts})
	c.mu.Unlock()
	c.putMessage(m)
	for _, p := range parts {
		c.putPart(p)
	}
}

// addPart appends a part to its message and records it.
func (c *conversation) addPart(p sdk.Part) {
	c.mu.Lock()
	for i := len(c.messages) - 1; i >= 0; i-- {
		if m := &c.messages[i]; m.Info.Head().ID == p.Head().MessageID {
			m.Parts = append(m.Parts, p)
			break
		}
	}
	c.mu.Unlock()
	c.putPart(p)
}

// putMessage records the message as it is.
func (c *conversation) putMessage(m sdk.Message) {
	c.mu.Lock()
	m = copyMessage(m)
	c.mu.Unlock()
	c.journal.put([]store.Op{store.PutMessage{Message: m}}, sdk.Event{
		Type: sdk.EventMessageUpdated, Properties: &sdk.MessageInfo{SessionID: m.Head().SessionID, Info: m},
	})
}

// putPart records the part as it is, with blobs it refers to.
func (c *conversation) putPart(p sdk.Part, blobs ...[]byte) {
	c.record(store.PutPart{Part: p}, blobs...)
}

func (c *conversation) record(op store.PutPart, blobs ...[]byte) {
	c.mu.Lock()
	op.Part = copyPart(op.Part)
	c.mu.Unlock()
	p := op.Part
	ops := make([]store.Op, 0, 1+len(blobs))
	for _, b := range blobs {
		ops = append(ops, store.PutBlob{Content: b})
	}
	c.journal.put(append(ops, op), sdk.Event{
		Type: sdk.EventPartUpdated, Properties: &sdk.PartInfo{SessionID: p.Head().SessionID, Part: p, Time: now()},
	})
}

// appendText adds streamed text to an open part.
func (c *conversation) appendText(p sdk.Part, field, delta string) {
	c.journal.append(*p.Head(), field, delta)
}

// newPart returns the identifiers of a new part of a message.
func (c *conversation) newPart(m sdk.Message) sdk.PartHead {
	return sdk.PartHead{ID: c.ids.New(sdk.PrefixPart), SessionID: m.Head().SessionID, MessageID: m.Head().ID}
}

// parts returns the parts of a message.
func (c *conversation) parts(messageID string) sdk.Parts {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.messages) - 1; i >= 0; i-- {
		if c.messages[i].Info.Head().ID == messageID {
			return slices.Clone(c.messages[i].Parts)
		}
	}
	return nil
}

// locked runs f while nobody else reads or changes parts.
func (c *conversation) locked(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// copyMessage returns a shallow copy: maps and slices are replaced by the host, never changed in place.
func copyMessage(m sdk.Message) sdk.Message {
	switch m := m.(type) {
	case *sdk.UserMessage:
		c := *m
		return &c
	case *sdk.AssistantMessage:
		c := *m
		return &c
	}
	return m
}

// copyPart returns a shallow copy of the kinds of parts that change after they were made.
func copyPart(p sdk.Part) sdk.Part {
	switch p := p.(type) {
	case *sdk.TextPart:
		c := *p
		return &c
	case *sdk.ReasoningPart:
		c := *p
		return &c
	case *sdk.ToolPart:
		c := *p
		return &c
	case *sdk.CompactionPart:
		c := *p
		return &c
	}
	return p
}

// closeInterrupted ends what an earlier process left open and returns the changes: parts keep what came,
// a call that ran has an unknown outcome, and nothing is run again.
func closeInterrupted(messages []sdk.MessageWithParts) []store.Op {
	var ops []store.Op
	for _, m := range messages {
		a, ok := m.Info.(*sdk.AssistantMessage)
		if !ok || a.Time.Completed != 0 {
			continue
		}
		for _, p := range m.Parts {
			if closePart(p, interruptedByCrash) {
				ops = append(ops, store.PutPart{Part: copyPart(p)})
			}
		}
		a.Time.Completed = now()
		a.Error = &sdk.NamedError{Name: sdk.ErrorAborted, Data: sdk.ErrorData{Message: "interrupted: the process that ran this turn ended, or could not store it"}}
		ops = append(ops, store.PutMessage{Message: copyMessage(a)})
	}
	return append(ops, store.SetTurn{Open: false})
}

// interruption says why open parts are closed: what a call is told that had not started, and one that had.
type interruption struct{ pending, running string }

var (
	interruptedByCrash = interruption{
		pending: "interrupted before it ran",
		running: "outcome unknown: the turn was cut off while the call ran; it was not run again",
	}
	interruptedByAbort = interruption{
		pending: "tool execution aborted before it ran",
		running: "tool execution aborted",
	}
	interruptedByCut = interruption{
		pending: "the answer broke off before the call was complete; it did not run",
		running: "the answer broke off before the call was complete; it did not run",
	}
)

// closePart ends an open part in place and reports whether it was open.
func closePart(p sdk.Part, why interruption) bool {
	switch p := p.(type) {
	case *sdk.TextPart:
		if p.Time == nil || p.Time.End != 0 {
			return false
		}
		p.Time = &sdk.PartTime{Start: p.Time.Start, End: now()}
		return true
	case *sdk.ReasoningPart:
		if p.Time.End != 0 {
			return false
		}
		p.Time.End = now()
		return true
	case *sdk.ToolPart:
		if !p.State.Open() {
			return false
		}
		text := why.running
		if p.State.Status == sdk.ToolPending {
			text = why.pending
		}
		metadata := p.State.Metadata.Clone()
		if metadata == nil {
			metadata = sdk.Object{}
		}
		metadata["interrupted"] = true
		start := p.State.Time.Start
		if start == 0 {
			start = now()
		}
		p.State = sdk.ToolState{
			Status: sdk.ToolError, Input: p.State.Input, Error: text, Metadata: metadata,
			Time: sdk.ToolTime{Start: start, End: now()},
		}
		return true
	}
	return false
}

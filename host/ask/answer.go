package ask

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// maxToolCalls bounds the tool calls of one answer; a model that exceeds it is repeating itself.
const maxToolCalls = 128

// Answer turns the events of one answer into parts. Only the turn's goroutine uses it.
type Answer struct {
	*Step
	ctx context.Context // of the single Stream call that this answer belongs to

	open     map[string]*block
	current  *block // the text or reasoning block that is open
	Calls    []*toolCall
	finished bool
	blank    bool // without content so far: then it is requested once more
	Reason   string
	tokens   sdk.Tokens
	failure  error
}

// toolCall is a tool call of the answer.
type toolCall struct {
	Part  *sdk.ToolPart
	block *block // while the arguments arrive
	Raw   []byte // the arguments as the model wrote them
}

// block is one open block of the answer.
type block struct {
	id       string
	part     sdk.Part
	metadata *sdk.Object // of the part
	content  *string     // of the part; nil for a tool call
	text     text        // received so far
}

// take stores one event.
func (a *Answer) take(e sdk.StreamEvent) error {
	switch e.Type {
	case sdk.StreamText, sdk.StreamReasoning:
		return a.takeText(e)
	case sdk.StreamToolCall:
		return a.takeToolCall(e)
	case sdk.StreamFinish:
		a.finished, a.Reason, a.tokens = true, e.Reason, e.Tokens
	}
	return nil
}

func (a *Answer) garbled(format string, args ...any) error {
	return &sdk.ProviderError{ProviderID: a.Model.Provider.ID, Cut: true, Message: fmt.Sprintf(format, args...)}
}

// takeText adds to the open text or reasoning block, or ends it and begins another.
func (a *Answer) takeText(e sdk.StreamEvent) error {
	key := e.Type + e.ID
	b := a.current
	if b == nil || b.id != key {
		if e.Text == "" && len(e.Metadata) == 0 {
			return nil // an empty block becomes no part
		}
		if err := a.endCurrent(); err != nil {
			return err
		}
		b = a.begin(key, e.Type)
	}
	return a.extend(b, "text", e)
}

// extend adds the content of an event to a block, and its text to the field of the part. The error of the journal ends the stream.
func (a *Answer) extend(b *block, field string, e sdk.StreamEvent) error {
	if len(e.Metadata) > 0 {
		a.Conversation.Locked(func() { *b.metadata = e.Metadata })
	}
	if e.Text == "" {
		return nil
	}
	b.text.add(e.Text)
	a.Conversation.AppendText(b.part, field, e.Text)
	a.failure = cmp.Or(a.Conversation.Journal.Failed(), a.failure)
	return a.failure
}

func (a *Answer) begin(key, typ string) *block {
	a.blank = false
	head := a.Conversation.NewPart(a.Msg)
	if typ == sdk.StreamText {
		p := &sdk.TextPart{PartHead: head, Time: &sdk.PartTime{Start: live.Now()}}
		a.current = &block{id: key, part: p, metadata: &p.Metadata, content: &p.Text}
	} else {
		p := &sdk.ReasoningPart{PartHead: head, Time: sdk.PartTime{Start: live.Now()}}
		a.current = &block{id: key, part: p, metadata: &p.Metadata, content: &p.Text}
	}
	a.Conversation.AddPart(a.current.part)
	return a.current
}

// endCurrent closes the open text or reasoning block, text through the hooks at text.complete.
func (a *Answer) endCurrent() error {
	b := a.current
	if b == nil {
		return nil
	}
	a.current = nil
	streamed := b.text.prefix(sdk.MaxModelAnswerBytes)
	b.text.Reset()
	text := streamed
	if p, ok := b.part.(*sdk.TextPart); ok && a.Generation.Engine.Has(sdk.PointTextComplete) {
		in := &sdk.TextCompleteInput{SessionID: p.SessionID, MessageID: p.MessageID, PartID: p.ID}
		v := &sdk.TextCompleteValue{Text: text}
		if err := a.Generation.Fire(a.ctx, sdk.PointTextComplete, a.Ledger, p.ID, in, v); err != nil {
			a.failure = err
			return err
		}
		text = v.Text
	}
	a.Conversation.Locked(func() {
		*b.content = text
		live.ClosePart(b.part, live.Interruption{})
	})
	a.Conversation.Record(store.PutPart{Part: b.part, Streamed: len(text) >= minStreamed && text == streamed})
	return nil
}

// takeToolCall adds to a tool call. Calls may be interleaved; each is complete when the answer is.
func (a *Answer) takeToolCall(e sdk.StreamEvent) error {
	b := a.open[e.ID]
	if b == nil {
		if err := a.endCurrent(); err != nil {
			return err
		}
		if len(a.Calls) == maxToolCalls {
			return a.garbled("more than %d tool calls in one answer", maxToolCalls)
		}
		b = a.beginCall(e)
	}
	return a.extend(b, "raw", e)
}

func (a *Answer) beginCall(e sdk.StreamEvent) *block {
	a.blank = false
	// Results refer to calls by ID, so IDs must be unique. Some servers number the calls of each answer from 0, and other servers refuse
	// such a conversation.
	callID := cmp.Or(e.CallID, a.Conversation.IDs.New("call"))
	for known := range store.PartsOf[*sdk.ToolPart](a.Conversation.Snapshot()...) {
		if known.CallID == callID {
			callID = a.Conversation.IDs.New("call")
		}
	}
	p := &sdk.ToolPart{
		PartHead: a.Conversation.NewPart(a.Msg), CallID: callID, Tool: e.Tool,
		State: sdk.ToolState{Status: sdk.ToolPending, Input: json.RawMessage("{}")},
	}
	b := &block{id: e.ID, part: p, metadata: &p.Metadata}
	a.open[e.ID] = b
	a.Calls = append(a.Calls, &toolCall{Part: p, block: b})
	a.Conversation.AddPart(p)
	return b
}

// end closes the open block and gives each call its arguments. It keeps the received text of a broken answer.
func (a *Answer) end(err error) error {
	if err == nil && !a.finished {
		err = a.garbled("the answer ended without its last event")
	}
	if err == nil && a.blank && a.Reason == sdk.FinishStop && a.tokens.Output+a.tokens.Reasoning == 0 { // gateways end an answer so that failed
		err = a.garbled("the answer is empty")
	}
	if err = cmp.Or(a.failure, err); err != nil { // the host's failure, rather than the provider's
		a.keep(err)
		return err
	}
	if err := a.endCurrent(); err != nil {
		return err
	}
	for _, c := range a.Calls {
		text := c.block.text.bytes()
		c.block.text.Reset()
		c.Raw = bytes.TrimSpace(text)
		if len(text) >= minStreamed {
			a.Conversation.NoteStreamed(c.Part.ID, c.Raw)
		}
		if len(c.Raw) == 0 {
			c.Raw = []byte("{}") // a call of a tool without parameters
		}
	}
	return nil
}

// keep puts the text of the open block into its part; the answer broke off with err. If the answer exceeded its limit, it keeps only the
// beginning: the rest would be useless.
func (a *Answer) keep(err error) {
	limit := sdk.MaxModelAnswerBytes
	if errors.Is(err, sdk.ErrAnswerLimit) {
		limit = live.MaxCutText
	}
	if b := a.current; b != nil {
		a.Conversation.Locked(func() { *b.content = b.text.prefix(limit) })
	}
	for _, c := range a.Calls { // the next request shows which calls were not made
		if raw := c.block.text.bytes(); len(raw) <= limit && value.CheckArguments(raw) == nil {
			a.Conversation.Locked(func() { c.Part.State.Input = jsontext.Compact(raw) })
		}
	}
}

// minStreamed is the length in bytes from which text and arguments stay in the store as they were streamed: writing them again would take four
// more copies in memory.
const minStreamed = 1 << 20

// text is the text of a block so far.
type text struct{ strings.Builder }

// add appends to the text. The capacity of a long text grows fourfold: only written pages take memory, because Grow does not clear the others,
// and a buffer that only doubles leaves more garbage.
func (t *text) add(more string) {
	if n := t.Len() + len(more); n >= minStreamed && n > t.Cap() {
		room := max(n, min(4*n, sdk.MaxModelAnswerBytes))
		t.Grow(max(len(more), room-2*t.Cap())) // Grow adds this to twice the current capacity
	}
	t.WriteString(more)
}

// whole returns the text and frees unused capacity if that is large. Nothing may be added afterwards.
func (t *text) whole() string {
	if t.Cap() > 2*t.Len() {
		return strings.Clone(t.String())
	}
	return t.String()
}

// bytes is whole as bytes, which must not be changed.
func (t *text) bytes() []byte {
	s := t.whole()
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// prefix returns the text, or its beginning if it has more than limit bytes. Nothing may be added afterwards.
func (t *text) prefix(limit int) string {
	if t.Len() <= limit {
		return t.whole()
	}
	return visible.Cut(t.String(), limit, "…") // a copy
}

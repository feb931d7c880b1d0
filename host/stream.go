package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// maxToolCalls bounds the tool calls of one answer: a model that asks for more has lost its way.
const maxToolCalls = 128

// stream sends the request and stores the answer as it comes. A tool call waits for its own start to be
// durable, and with that for everything stored before it.
func (t *turn) stream(ctx context.Context) (event, error) {
	t.startTitle()
	b := &answer{t: t, ctx: ctx, open: map[string]*block{}}
	err := t.askModel(ctx, t.req, b.take)
	t.req = nil
	b.keep(err)
	if err == nil && !b.finished {
		err = &sdk.ProviderError{ProviderID: t.provider.ID, Cut: true, Message: "the answer ended without its last event"}
	}
	if ctx.Err() != nil {
		return evFail, ctx.Err()
	}
	if err != nil {
		if b.failure != nil {
			return evFail, b.failure // ours, not the provider's
		}
		return t.retry(err)
	}
	if err := b.end(); err != nil {
		return evFail, err
	}
	t.calls = b.calls
	t.finishStep(b)
	if len(t.calls) > 0 {
		return evToolCalls, nil
	}
	if b.reason == sdk.FinishContentFilter {
		return evFail, t.msg.Error
	}
	t.closeStep(stateDone)
	return evAnswered, nil
}

// finishStep records how the step ended and what it cost. The message stays open until its tools ran.
func (t *turn) finishStep(b *answer) {
	reason := b.reason
	if len(b.calls) > 0 && reason == sdk.FinishStop {
		reason = sdk.FinishToolCalls
	}
	cost := stepCost(&t.model, b.tokens)
	t.c.addPart(&sdk.StepFinishPart{PartHead: t.c.newPart(t.msg), Reason: reason, Cost: cost, Tokens: b.tokens})
	t.c.locked(func() {
		t.msg.Finish, t.msg.Tokens, t.msg.Cost = reason, b.tokens, cost
		if reason == sdk.FinishContentFilter {
			t.msg.Error = &sdk.NamedError{Name: sdk.ErrorContentFilter, Data: sdk.ErrorData{Message: "the provider's content filter ended the answer"}}
		}
	})
	t.c.putMessage(t.msg)
	t.c.updateSession(func(s *sdk.Session) {
		s.Cost += cost
		s.Tokens = s.Tokens.Add(b.tokens)
	})
}

// answer collects the events of one model answer into parts. It is used by the turn's goroutine alone.
type answer struct {
	t   *turn
	ctx context.Context // of the one Stream call the answer lives for

	open     map[string]*block
	current  *block // the text or reasoning block that is open
	calls    []*call
	finished bool
	reason   string
	tokens   sdk.Tokens
	failure  error
}

// block is one open block of the answer.
type block struct {
	id   string
	part sdk.Part
	text pieces
}

// pieceSize is the size of the buffers of pieces, in bytes.
const pieceSize = 64 << 10

// pieces is text that grows without being copied: a buffer that doubles would hold up to three times what was kept. The zero value is
// empty.
type pieces struct {
	full [][]byte
	last []byte
}

func (p *pieces) add(text string) {
	for {
		room := min(cap(p.last)-len(p.last), len(text))
		p.last = append(p.last, text[:room]...)
		if text = text[room:]; text == "" {
			return
		}
		switch {
		case p.last == nil:
			p.last = make([]byte, 0, min(max(2*len(text), 512), pieceSize))
		case cap(p.last) < pieceSize:
			p.last = slices.Grow(p.last, min(max(len(text), cap(p.last)), pieceSize-len(p.last)))
		default:
			p.full, p.last = append(p.full, p.last), make([]byte, 0, pieceSize)
		}
	}
}

func (p *pieces) bytes() []byte { return bytes.Join(append(p.full, p.last), nil) }

// prefix returns the whole text, or about max bytes of its beginning, to the end of a piece.
func (p *pieces) prefix(max int) string {
	if n := max / pieceSize; n < len(p.full) {
		return string(bytes.ToValidUTF8(bytes.Join(p.full[:n], nil), nil)) + "…"
	}
	size := len(p.last)
	for _, piece := range p.full {
		size += len(piece)
	}
	var b strings.Builder
	b.Grow(size)
	for _, piece := range p.full {
		b.Write(piece)
	}
	b.Write(p.last)
	return b.String()
}

// minStreamed is the length in bytes from which a text stays in the store as it was streamed. To write it a second time takes four more
// copies in memory.
const minStreamed = 1 << 20

// take stores one event. What does not belong where it comes is an error of the provider.
func (a *answer) take(e sdk.StreamEvent) error {
	if a.finished {
		return a.garbled("event %q after the last one", e.Type)
	}
	switch e.Type {
	case sdk.StreamText, sdk.StreamReasoning:
		return a.takeText(e)
	case sdk.StreamToolCall:
		return a.takeToolCall(e)
	case sdk.StreamFinish:
		a.finished, a.reason, a.tokens = true, e.Reason, e.Tokens
		return nil
	}
	return a.garbled("unknown event %q", e.Type)
}

func (a *answer) garbled(format string, args ...any) error {
	return &sdk.ProviderError{ProviderID: a.t.provider.ID, Cut: true, Message: fmt.Sprintf(format, args...)}
}

// takeText adds to the open text or reasoning block, or ends it and begins another.
func (a *answer) takeText(e sdk.StreamEvent) error {
	key := e.Type + e.ID
	b := a.current
	if b == nil || b.id != key {
		if e.Text == "" && len(e.Metadata) == 0 {
			return nil // an empty block leaves no part
		}
		if err := a.endCurrent(); err != nil {
			return err
		}
		b = a.begin(key, e.Type)
	}
	if len(e.Metadata) > 0 {
		a.t.c.locked(func() { setMetadata(b.part, e.Metadata) })
	}
	if e.Text == "" {
		return nil
	}
	b.text.add(e.Text)
	a.t.c.appendText(b.part, "text", e.Text)
	return a.storeFailure()
}

// storeFailure stops the stream when nothing can be stored any more.
func (a *answer) storeFailure() error {
	if err := a.t.c.journal.failed(); err != nil {
		a.failure = err
	}
	return a.failure
}

func (a *answer) begin(key, typ string) *block {
	head := a.t.c.newPart(a.t.msg)
	b := &block{id: key}
	if typ == sdk.StreamText {
		b.part = &sdk.TextPart{PartHead: head, Time: &sdk.PartTime{Start: now()}}
	} else {
		b.part = &sdk.ReasoningPart{PartHead: head, Time: sdk.PartTime{Start: now()}}
	}
	a.current = b
	a.t.c.addPart(b.part)
	return b
}

func setMetadata(p sdk.Part, metadata sdk.Object) {
	switch p := p.(type) {
	case *sdk.TextPart:
		p.Metadata = metadata
	case *sdk.ReasoningPart:
		p.Metadata = metadata
	}
}

// endCurrent closes the open text or reasoning block, text through the hooks at text.complete.
func (a *answer) endCurrent() error {
	b := a.current
	if b == nil {
		return nil
	}
	a.current = nil
	streamed := b.text.prefix(sdk.MaxModelAnswerBytes)
	b.text = pieces{}
	text := streamed
	if p, ok := b.part.(*sdk.TextPart); ok && a.t.g.engine.Has(sdk.PointTextComplete) {
		in := &sdk.TextCompleteInput{SessionID: p.SessionID, MessageID: p.MessageID, PartID: p.ID}
		v := &sdk.TextCompleteValue{Text: text}
		scope := hooks.Scope{Ledger: a.t.ledger, Subject: p.ID}
		if _, err := a.t.g.engine.Transform(a.ctx, sdk.PointTextComplete, scope, in, v); err != nil {
			a.failure = err
			return err
		}
		text = v.Text
	}
	a.t.c.locked(func() {
		setText(b.part, text)
		closePart(b.part, interruption{})
	})
	a.t.c.record(store.PutPart{Part: b.part, Streamed: len(text) >= minStreamed && text == streamed})
	return nil
}

func setText(p sdk.Part, text string) {
	switch p := p.(type) {
	case *sdk.TextPart:
		p.Text = text
	case *sdk.ReasoningPart:
		p.Text = text
	}
}

// takeToolCall adds to a tool call. Calls may be interleaved; each is complete when the answer is.
func (a *answer) takeToolCall(e sdk.StreamEvent) error {
	b := a.open[e.ID]
	if b == nil {
		if err := a.endCurrent(); err != nil {
			return err
		}
		if len(a.calls) == maxToolCalls {
			return a.garbled("more than %d tool calls in one answer", maxToolCalls)
		}
		b = a.beginCall(e)
	}
	if len(e.Metadata) > 0 {
		p := b.part.(*sdk.ToolPart)
		a.t.c.locked(func() { p.Metadata = e.Metadata })
	}
	if e.Text == "" {
		return nil
	}
	b.text.add(e.Text)
	a.t.c.appendText(b.part, "raw", e.Text)
	return a.storeFailure()
}

func (a *answer) beginCall(e sdk.StreamEvent) *block {
	callID := e.CallID
	if callID == "" || a.knows(callID) {
		callID = a.t.c.ids.New("call") // every call needs one of its own to get its result
	}
	p := &sdk.ToolPart{
		PartHead: a.t.c.newPart(a.t.msg), CallID: callID, Tool: e.Tool,
		State: sdk.ToolState{Status: sdk.ToolPending, Input: json.RawMessage("{}")},
	}
	b := &block{id: e.ID, part: p}
	a.open[e.ID] = b
	a.calls = append(a.calls, &call{part: p, block: b})
	a.t.c.addPart(p)
	return b
}

func (a *answer) knows(callID string) bool {
	for _, c := range a.calls {
		if c.part.CallID == callID {
			return true
		}
	}
	return false
}

// keep puts what came of the open blocks into their parts, when err broke the answer off. Of one without end it keeps the beginning:
// the rest would be stored, loaded and shown for nothing.
func (a *answer) keep(err error) {
	if err == nil && a.finished {
		return // end does it
	}
	most := sdk.MaxModelAnswerBytes
	if errors.Is(err, sdk.ErrAnswerLimit) {
		most = maxCutText
	}
	a.t.c.locked(func() {
		if b := a.current; b != nil {
			setText(b.part, b.text.prefix(most))
		}
		for _, c := range a.calls {
			c.part.State.Raw = c.block.text.prefix(most)
		}
	})
}

// end closes what is open and gives each call its arguments.
func (a *answer) end() error {
	if err := a.endCurrent(); err != nil {
		return err
	}
	for _, c := range a.calls {
		c.raw = bytes.TrimSpace(c.block.text.bytes())
		c.block = nil
		if len(c.raw) == 0 {
			c.raw = []byte("{}") // a call of a tool without parameters
		}
	}
	return nil
}

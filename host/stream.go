package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

// maxToolCalls bounds the tool calls of one answer: a model that asks for more has lost its way.
const maxToolCalls = 128

// step is an answer of a model that becomes a message of the conversation.
type step struct {
	*setup
	c      *live.Conversation
	user   *sdk.UserMessage // that is answered
	number int              // of the turn, from 1; 0 beside a turn
	msg    *sdk.AssistantMessage
	ledger *hooks.Ledger
}

// ask streams the answer into the message, with retries. It stores the parts of failed tries, marked so that the model does not get them.
func (s *step) ask(ctx context.Context, build func(context.Context) (*sdk.ModelRequest, error)) (*answer, error) {
	var a *answer
	err := s.setup.ask(ctx, question{
		build: build,
		sink: func() sink {
			a = &answer{step: s, ctx: ctx, open: map[string]*block{}}
			return a
		},
		retrying: func(try int, wait time.Duration, err error) {
			s.setAside()
			s.c.AddPart(&sdk.RetryPart{PartHead: s.c.NewPart(s.msg), Attempt: try, Error: *s.Set.WireError(err), Time: sdk.RetryTime{Created: live.Now()}})
			status(s.c, sdk.SessionStatus{Type: sdk.StatusRetry, Attempt: try, Message: s.Set.Hide(err.Error()), Next: time.Now().Add(wait).UnixMilli()})
		},
		retry: func() { status(s.c, sdk.SessionStatus{Type: sdk.StatusBusy}) },
	})
	if errors.Is(err, sdk.ErrAnswerLimit) || model.Classify(err) == model.ClassOverflow {
		s.setAside() // it would fill the context of every later request
	}
	return a, err
}

// message returns a new message of the setup's agent that answers parent.
func (s *step) message(parent string) *sdk.AssistantMessage {
	return &sdk.AssistantMessage{
		MessageHead: sdk.MessageHead{ID: s.c.IDs.New(sdk.PrefixMessage), SessionID: s.SessionID}, ParentID: parent,
		ModelID: s.Model.ID, ProviderID: s.Model.ProviderID, Mode: s.Agent.Name, Agent: s.Agent.Name,
		Path: sdk.MessagePath{Cwd: s.Project.Directory, Root: s.Project.Worktree}, Time: sdk.MessageTime{Created: live.Now()},
	}
}

func status(c *live.Conversation, s sdk.SessionStatus) {
	c.Journal.Put(nil, sdk.Event{Type: sdk.EventSessionStatus, Properties: &sdk.SessionStatusInfo{SessionID: c.ID(), Status: s}})
}

// setAside closes the parts of a broken answer, keeps the beginning of their texts and marks them so that the model does not get them.
func (s *step) setAside() {
	for _, p := range s.c.Parts(s.msg.ID) {
		changed := false
		s.c.Locked(func() { changed = live.SetAsidePart(p) })
		if changed {
			s.c.PutPart(p)
		}
	}
}

// finish records how the step ended and what it cost. The message stays open until its tools ran.
func (s *step) finish(a *answer) {
	reason := a.reason
	if len(a.calls) > 0 && reason == sdk.FinishStop {
		reason = sdk.FinishToolCalls
	}
	cost := model.StepCost(&s.Model.Model, a.tokens)
	s.c.AddPart(&sdk.StepFinishPart{PartHead: s.c.NewPart(s.msg), Reason: reason, Cost: cost, Tokens: a.tokens})
	s.c.Locked(func() {
		s.msg.Finish, s.msg.Tokens, s.msg.Cost = reason, a.tokens, cost
		if reason == sdk.FinishContentFilter {
			s.msg.Error = &sdk.NamedError{Name: sdk.ErrorContentFilter, Data: sdk.ErrorData{Message: "the provider's content filter ended the answer"}}
		}
	})
	s.c.PutMessage(s.msg)
	account(s.c, s.Model, a.tokens)
}

// close ends the message and the parts that are open still. failure is the turn's; nil when it did not fail.
func (s *step) close(why live.Interruption, failure *TurnError) {
	for _, p := range s.c.Parts(s.msg.ID) {
		open := false
		s.c.Locked(func() { open = live.ClosePart(p, why) })
		if open {
			s.c.PutPart(p)
		}
	}
	s.c.Locked(func() {
		if failure != nil && s.msg.Error == nil {
			s.msg.Error = failure.Named
		}
		s.msg.Time.Completed = live.Now()
	})
	s.c.PutMessage(s.msg)
	storeLedger(s.c, s.Set, s.msg.ID, s.Purpose, s.ledger)
}

// answer collects the events of one model answer into parts. It is used by the turn's goroutine alone.
type answer struct {
	*step
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

// prefix returns at most max bytes from the beginning, to the end of a piece.
func (p *pieces) prefix(max int) string {
	if n := max / pieceSize; n < len(p.full) {
		return string(bytes.ToValidUTF8(bytes.Join(p.full[:n], nil), nil)) + "…"
	}
	var b strings.Builder
	b.Grow(len(p.full)*pieceSize + len(p.last))
	for _, piece := range p.full {
		b.Write(piece)
	}
	b.Write(p.last)
	return b.String()
}

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
	return &sdk.ProviderError{ProviderID: a.Model.Provider.ID, Cut: true, Message: fmt.Sprintf(format, args...)}
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
		a.c.Locked(func() { setMetadata(b.part, e.Metadata) })
	}
	if e.Text == "" {
		return nil
	}
	b.text.add(e.Text)
	a.c.AppendText(b.part, "text", e.Text)
	return a.storeFailure()
}

// storeFailure stops the stream when nothing can be stored any more.
func (a *answer) storeFailure() error {
	if err := a.c.Journal.Failed(); err != nil {
		a.failure = err
	}
	return a.failure
}

func (a *answer) begin(key, typ string) *block {
	head := a.c.NewPart(a.msg)
	b := &block{id: key}
	if typ == sdk.StreamText {
		b.part = &sdk.TextPart{PartHead: head, Time: &sdk.PartTime{Start: live.Now()}}
	} else {
		b.part = &sdk.ReasoningPart{PartHead: head, Time: sdk.PartTime{Start: live.Now()}}
	}
	a.current = b
	a.c.AddPart(b.part)
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
	text := b.text.prefix(sdk.MaxModelAnswerBytes)
	if p, ok := b.part.(*sdk.TextPart); ok {
		in := &sdk.TextCompleteInput{SessionID: p.SessionID, MessageID: p.MessageID, PartID: p.ID}
		v := &sdk.TextCompleteValue{Text: text}
		if err := a.Set.Fire(a.ctx, sdk.PointTextComplete, a.ledger, p.ID, in, v); err != nil {
			a.failure = err
			return err
		}
		text = v.Text
	}
	a.c.Locked(func() {
		setText(b.part, text)
		live.ClosePart(b.part, live.Interruption{})
	})
	a.c.PutPart(b.part)
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
		a.c.Locked(func() { p.Metadata = e.Metadata })
	}
	if e.Text == "" {
		return nil
	}
	b.text.add(e.Text)
	a.c.AppendText(b.part, "raw", e.Text)
	return a.storeFailure()
}

func (a *answer) beginCall(e sdk.StreamEvent) *block {
	callID := e.CallID
	if callID == "" || a.knows(callID) {
		callID = a.c.IDs.New("call") // every call needs one of its own to get its result
	}
	p := &sdk.ToolPart{
		PartHead: a.c.NewPart(a.msg), CallID: callID, Tool: e.Tool,
		State: sdk.ToolState{Status: sdk.ToolPending, Input: json.RawMessage("{}")},
	}
	b := &block{id: e.ID, part: p}
	a.open[e.ID] = b
	a.calls = append(a.calls, &call{part: p, block: b})
	a.c.AddPart(p)
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
		most = live.MaxCutText
	}
	a.c.Locked(func() {
		if b := a.current; b != nil {
			setText(b.part, b.text.prefix(most))
		}
		for _, c := range a.calls {
			c.part.State.Raw = c.block.text.prefix(most)
		}
	})
}

// end closes what is open and gives each call its arguments. Of a broken answer it keeps what came.
func (a *answer) end(err error) error {
	a.keep(err)
	switch {
	case a.failure != nil:
		return a.failure // the host's, not the provider's
	case err != nil:
		return err
	case !a.finished:
		return a.garbled("the answer ended without its last event")
	case a.ctx.Err() != nil:
		return a.ctx.Err()
	}
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

package openai

import (
	"crypto/rand"
	"fmt"
	"strconv"

	"github.com/tenonhq/tenon/sdk"
)

// answer converts decoded data to stream events: blocks with stable IDs, tool
// calls whose first event has a name and an ID, one finish at the end.
type answer struct {
	sink   func(sdk.StreamEvent) error
	kind   string // the type of the open text or reasoning block
	block  string // its ID
	blocks int
	calls  []*call
	held   int    // bytes of the calls' pending arguments
	began  bool   // an event was passed on
	reason string // a Finish constant; empty until the server sent a reason
	tokens sdk.Tokens
}

// call is one tool call of the answer.
type call struct {
	block    string
	id       string
	tool     string
	metadata sdk.Object
	pending  []byte // arguments received before the name
	started  bool
	args     bool // arguments were received
}

// words passes on a delta of text or reasoning. A block ends when the other kind, or a tool call,
// begins.
func (a *answer) words(kind, text string, metadata sdk.Object) error {
	if text == "" && metadata == nil {
		return nil
	}
	if a.kind != kind {
		a.kind, a.block = kind, kind+"-"+strconv.Itoa(a.blocks)
		a.blocks++
	}
	return a.emit(sdk.StreamEvent{Type: kind, ID: a.block, Text: text, Metadata: metadata})
}

// Bounds of the data kept until it can be passed on. No known server sends a call's name late, or hundreds of calls.
const (
	maxCalls = 512     // more than the host accepts
	maxItems = 4 << 10 // output items of a Responses answer, entries of reasoning_details
	maxHeld  = 1 << 20 // bytes of arguments before their call has a name
)

// newCall adds a tool call. Its name and ID can follow later.
func (a *answer) newCall() (*call, error) {
	if len(a.calls) == maxCalls {
		return nil, fmt.Errorf("%w: more than %d tool calls", sdk.ErrAnswerLimit, maxCalls)
	}
	c := &call{block: "call-" + strconv.Itoa(len(a.calls))}
	a.calls = append(a.calls, c)
	return c, nil
}

// arguments passes on a delta of a tool call's arguments. If delta is empty, it announces the call as soon as
// its name is known.
func (a *answer) arguments(c *call, delta string) error {
	c.args = c.args || delta != ""
	if c.started {
		if delta == "" {
			return nil
		}
		return a.emit(sdk.StreamEvent{Type: sdk.StreamToolCall, ID: c.block, Text: delta})
	}
	if a.held += len(delta); a.held > maxHeld && c.tool == "" {
		return fmt.Errorf("%w: %d bytes of arguments before the name of their tool", errMalformed, a.held)
	}
	c.pending = append(c.pending, delta...)
	if c.tool == "" {
		return nil
	}
	return a.start(c)
}

func (a *answer) start(c *call) error {
	if c.id == "" {
		c.id = "call_" + rand.Text()
	}
	c.started = true
	a.kind = ""
	pending := string(c.pending)
	a.held -= len(pending)
	c.pending = nil
	return a.emit(sdk.StreamEvent{
		Type: sdk.StreamToolCall, ID: c.block, Text: pending, CallID: c.id, Tool: c.tool, Metadata: c.metadata,
	})
}

// finish ends the answer. It passes on a call without a name as a call of the tool "unknown", so
// that the model learns of its mistake. Because servers disagree on the reason of an answer with tool calls,
// the calls decide.
func (a *answer) finish() error {
	for _, c := range a.calls {
		if c.started {
			continue
		}
		if c.tool == "" {
			c.tool = "unknown"
		}
		if err := a.start(c); err != nil {
			return err
		}
	}
	switch {
	case len(a.calls) > 0 && (a.reason == sdk.FinishStop || a.reason == ""):
		a.reason = sdk.FinishToolCalls
	case len(a.calls) == 0 && (a.reason == sdk.FinishToolCalls || a.reason == ""):
		a.reason = sdk.FinishStop
	}
	return a.emit(sdk.StreamEvent{Type: sdk.StreamFinish, Reason: a.reason, Tokens: a.tokens})
}

func (a *answer) emit(ev sdk.StreamEvent) error {
	a.began = true
	if err := a.sink(ev); err != nil {
		return &sinkError{err}
	}
	return nil
}

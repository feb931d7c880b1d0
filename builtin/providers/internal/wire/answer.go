package wire

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Answer converts decoded data to stream events: blocks with stable IDs, tool calls whose first event has a name and an ID, one
// finish at the end. After the first error, which it keeps, it passes no more events on, so that decoders need not check each step.
type Answer struct {
	// Reason is a Finish constant; empty until the server sent a reason.
	Reason string
	Tokens sdk.Tokens
	// Calls are the tool calls so far, in their order.
	Calls []*Call

	sink   func(sdk.StreamEvent) error
	err    error
	words  *Block         // of Words; nil: none is open
	open   map[int]*Block // by the server's number
	blocks int            // so far
	held   int            // bytes of the calls' pending arguments
	kept   int            // bytes of Keep
	began  bool           // an event was passed on
}

// Call is one tool call of the answer.
type Call struct {
	ID       string
	Tool     string
	Metadata sdk.Object
	Args     bool // arguments were received

	block   string
	pending []byte // arguments received before the name
	started bool
}

// Started reports whether the call was passed on.
func (c *Call) Started() bool { return c.started }

// Began reports whether any part of the answer was passed on.
func (a *Answer) Began() bool { return a.began }

// Open reports whether the last event belongs to a block of this type.
func (a *Answer) Open(kind string) bool { return a.words != nil && a.words.Kind == kind }

// Complete reports whether the server sent a reason. Some servers leave out the rest, such as the usage.
func (a *Answer) Complete() bool { return a.Reason != "" }

// Err returns the first error.
func (a *Answer) Err() error { return a.err }

// Fail ends the answer with an error, unless it has one.
func (a *Answer) Fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// Refused fails the answer if the server sent an error; body contains it.
func (a *Answer) Refused(sent json.RawMessage, body []byte) {
	if Present(sent) {
		a.Fail(&Refusal{Body: body})
	}
}

// Decode decodes a part of the answer. If that fails, it fails the answer and sets the zero value, because decoders continue and
// must not use half of an event.
func (a *Answer) Decode(data []byte, into any) {
	if err := Unmarshal(data, into); err != nil {
		reflect.ValueOf(into).Elem().SetZero()
		a.Fail(err)
	}
}

// Whole handles a document in place of a stream, which is an error. Formats whose servers may answer with documents override it.
func (a *Answer) Whole(data []byte) {
	if json.Valid(data) && readError(data).message != "" {
		a.Fail(&Refusal{Body: data})
		return
	}
	a.Fail(fmt.Errorf("%w: %q: a document instead of a stream", ErrMalformed, visible.Cut(string(data), 200, "…")))
}

// Words passes on a delta of text or reasoning. A block ends when the other kind, or a tool call,
// begins.
func (a *Answer) Words(kind, text string, metadata sdk.Object) {
	if text == "" && metadata == nil {
		return
	}
	if !a.Open(kind) {
		a.blocks++
		a.words = &Block{answer: a, number: a.blocks}
	}
	a.words.Say(kind, text, metadata)
}

// EndWords ends the block of Words: the next delta begins another.
func (a *Answer) EndWords() { a.words = nil }

// Bounds of the data kept until it can be passed on. No known server sends the name of a call late, or hundreds of calls.
const (
	// MaxItems is the maximum number of blocks of an answer, or of entries of a list that it collects.
	MaxItems = 4 << 10

	maxCalls = 512     // more than the host accepts
	maxHeld  = 1 << 20 // bytes of arguments before their call has a name

	// valueSize is the approximate memory in bytes of a decoded JSON value, in addition to its text: 80 for an empty object in a list, up to
	// 300 for a member of an object.
	valueSize = 128
)

// Keep counts data that is kept until its block ends, such as a signature. The host cannot bound this data, because its deltas cause no
// events. bytes is the approximate memory that it takes.
func (a *Answer) Keep(bytes int) {
	if a.kept += bytes; a.kept > sdk.MaxModelAnswerBytes {
		a.Fail(fmt.Errorf("%w: more than %d MiB of signatures, citations and similar data", sdk.ErrAnswerLimit, sdk.MaxModelAnswerBytes>>20))
	}
}

// KeepJSON decodes data that is kept until its block ends. It also counts the values, because small decoded values take several times
// the size of their text.
func (a *Answer) KeepJSON(raw []byte, into any) {
	if a.Keep(len(raw) + valueSize*value.Count(raw)); a.err == nil {
		a.Decode(raw, into)
	}
}

// NewCall adds a tool call. Its name and ID can follow later.
func (a *Answer) NewCall() *Call {
	if len(a.Calls) == maxCalls {
		a.Fail(fmt.Errorf("%w: more than %d tool calls", sdk.ErrAnswerLimit, maxCalls))
		return &Call{}
	}
	c := &Call{block: "call-" + strconv.Itoa(len(a.Calls))}
	a.Calls = append(a.Calls, c)
	return c
}

// Arguments passes on a delta of a tool call's arguments. If delta is empty, it announces the call as soon as
// its name is known.
func (a *Answer) Arguments(c *Call, delta string) {
	c.Args = c.Args || delta != ""
	if c.started {
		if delta != "" {
			a.emit(sdk.StreamEvent{Type: sdk.StreamToolCall, ID: c.block, Text: delta})
		}
		return
	}
	if a.held += len(delta); a.held > maxHeld && c.Tool == "" {
		a.Fail(fmt.Errorf("%w: %d bytes of arguments before the name of their tool", ErrMalformed, a.held))
		return
	}
	c.pending = append(c.pending, delta...)
	if c.Tool != "" {
		a.start(c)
	}
}

func (a *Answer) start(c *Call) {
	if c.ID == "" {
		c.ID = "call_" + rand.Text()
	}
	c.started, a.words = true, nil
	pending := string(c.pending)
	a.held -= len(pending)
	c.pending = nil
	a.emit(sdk.StreamEvent{
		Type: sdk.StreamToolCall, ID: c.block, Text: pending, CallID: c.ID, Tool: c.Tool, Metadata: c.Metadata,
	})
}

// Finish ends the answer and its open blocks. It passes on a call without a name as a call of the tool "unknown", so
// that the model learns of its mistake. Servers disagree on the reason of an answer with tool calls, so the calls
// decide. An answer without calls that the model ended with an error fails: another attempt can succeed.
func (a *Answer) Finish() {
	for index := range a.open {
		a.EndBlock(index)
	}
	if len(a.Calls) == 0 && a.Reason == sdk.FinishError {
		a.Fail(errModel)
	}
	for _, c := range a.Calls {
		if !c.started {
			c.Tool = cmp.Or(c.Tool, "unknown")
			a.start(c)
		}
	}
	switch {
	case len(a.Calls) > 0 && (a.Reason == sdk.FinishStop || a.Reason == ""):
		a.Reason = sdk.FinishToolCalls
	case len(a.Calls) == 0 && (a.Reason == sdk.FinishToolCalls || a.Reason == ""):
		a.Reason = sdk.FinishStop
	}
	a.emit(sdk.StreamEvent{Type: sdk.StreamFinish, Reason: a.Reason, Tokens: a.Tokens})
}

func (a *Answer) emit(ev sdk.StreamEvent) {
	if a.err != nil {
		return
	}
	a.began = true
	if err := a.sink(ev); err != nil {
		a.err = &sinkError{err}
	}
}

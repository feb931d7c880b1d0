package fakellm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"
)

// Reply is one scripted answer. Its methods return a changed copy, so that a Reply can be shared and
// extended; the order of calls is the order on the wire.
type Reply struct {
	ops      []op
	finish   string // a Chat Completions finish_reason; "" picks stop or tool_calls, NoFinish none
	usage    *Usage
	status   int
	header   map[string]string
	body     []byte // replaces the answer
	never    bool
	perEvent bool
}

// Usage is the number of tokens that the answer reports, counted as by OpenAI: Cached is part of Input, Reasoning
// part of Output.
type Usage struct {
	Input, Output, Cached, Reasoning int64
}

// NoFinish as a finish reason leaves it out.
const NoFinish = "-"

// ToolCall is a tool call of a reply. Args is sent verbatim and need not be JSON.
type ToolCall struct {
	ID     string // default: call_N, numbered through the server's life
	Name   string
	Args   string
	Chunks int // how many deltas the arguments are cut into; default 1
}

type opKind int

const (
	opText opKind = iota
	opReasoning
	opCallStart
	opCallArgs
	opRaw
	opAct
)

// op is a delta of an answer, bytes, or something else that happens at its place.
type op struct {
	kind    opKind
	text    string
	field   string // of reasoning
	call    *ToolCall
	index   int // of the call within the reply
	endless bool
	act     func(*stream) bool // of opAct; false ends the answer
}

// Text answers with text, one delta per chunk.
func Text(chunks ...string) Reply { return Reply{}.Text(chunks...) }

// Call answers with one tool call.
func Call(name, args string) Reply { return Reply{}.Calls(ToolCall{Name: name, Args: args}) }

// Calls answers with tool calls, one after the other.
func Calls(calls ...ToolCall) Reply { return Reply{}.Calls(calls...) }

// Repeat answers with n text deltas of the same chunk.
func Repeat(chunk string, n int) Reply { return Text(slices.Repeat([]string{chunk}, n)...) }

// Raw answers with these bytes instead of events; then the stream ends.
func Raw(data string) Reply { return Reply{finish: NoFinish}.Raw(data) }

// Text adds text, one delta per chunk.
func (r Reply) Text(chunks ...string) Reply { return r.deltas(op{kind: opText}, chunks) }

// Reasoning adds reasoning, one delta per chunk. In Chat Completions it travels in the named field:
// reasoning_content or reasoning.
func (r Reply) Reasoning(field string, chunks ...string) Reply {
	return r.deltas(op{kind: opReasoning, field: field}, chunks)
}

func (r Reply) deltas(o op, chunks []string) Reply {
	ops := make([]op, len(chunks))
	for i, c := range chunks {
		ops[i], ops[i].text = o, c
	}
	return r.add(ops...)
}

// Call adds one tool call.
func (r Reply) Call(name, args string) Reply { return r.Calls(ToolCall{Name: name, Args: args}) }

// Calls adds tool calls, one after the other.
func (r Reply) Calls(calls ...ToolCall) Reply {
	base := r.countCalls()
	var ops []op
	for i, c := range calls {
		ops = append(ops, callOps(c, base+i)...)
	}
	return r.add(ops...)
}

// Raw adds bytes verbatim; write whole events ("data: …\n\n") or garbage.
func (r Reply) Raw(data string) Reply { return r.add(op{kind: opRaw, text: data}) }

// Pause waits, then continues.
func (r Reply) Pause(d time.Duration) Reply {
	return r.do(func(s *stream) bool { return s.wait(nil, d) })
}

// Wait waits until ch is closed or sends a value, then continues.
func (r Reply) Wait(ch <-chan struct{}) Reply {
	return r.do(func(s *stream) bool { return s.wait(ch, 0) })
}

// Stall sends nothing more until the client goes away.
func (r Reply) Stall() Reply { return r.do(func(s *stream) bool { return s.wait(nil, 0) }) }

// Cut closes the connection here.
func (r Reply) Cut() Reply { return r.do((*stream).cut) }

func (r Reply) do(act func(*stream) bool) Reply { return r.add(op{kind: opAct, act: act}) }

// Endless repeats the last delta until the client goes away: of text, of reasoning or of a call's arguments.
func (r Reply) Endless() Reply {
	r.ops = slices.Clone(r.ops)
	r.ops[len(r.ops)-1].endless = true
	return r
}

// Finish sets the finish reason, in the words of Chat Completions (stop, length, tool_calls,
// content_filter), or NoFinish.
func (r Reply) Finish(reason string) Reply {
	r.finish = reason
	return r
}

// Usage sets the reported tokens. Default: 10 in, 5 out.
func (r Reply) Usage(u Usage) Reply {
	r.usage = &u
	return r
}

// Header adds a response header.
func (r Reply) Header(name, value string) Reply {
	header := map[string]string{}
	maps.Copy(header, r.header)
	header[name] = value
	r.header = header
	return r
}

// FlushEach sends each event in its own write. Default: as few writes as possible.
func (r Reply) FlushEach() Reply {
	r.perEvent = true
	return r
}

func (r Reply) add(ops ...op) Reply {
	r.ops = append(slices.Clip(r.ops), ops...)
	return r
}

// withIDs returns the reply with its tool calls numbered from first, except calls that have an identifier.
func (r Reply) withIDs(first int) Reply {
	r.ops = slices.Clone(r.ops)
	for i, o := range r.ops {
		if o.call == nil || o.call.ID != "" {
			continue
		}
		call := *o.call
		call.ID = fmt.Sprintf("call_%d", first+o.index)
		r.ops[i].call = &call
	}
	return r
}

func callOps(c ToolCall, index int) []op {
	ops := []op{{kind: opCallStart, call: &c, index: index}}
	chars, rest := utf8.RuneCountInString(c.Args), c.Args // a delta never ends within a character
	n := max(1, min(c.Chunks, chars))
	for i := range n {
		end := 0
		for range (i+1)*chars/n - i*chars/n {
			_, size := utf8.DecodeRuneInString(rest[end:])
			end += size
		}
		ops = append(ops, op{kind: opCallArgs, call: &c, index: index, text: rest[:end]})
		rest = rest[end:]
	}
	return ops
}

// appendJSON appends v; what tests script always encodes. Invalid UTF-8 becomes U+FFFD.
func appendJSON(b []byte, v any) []byte {
	buf := bytes.NewBuffer(b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

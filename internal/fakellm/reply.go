package fakellm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Reply is one scripted answer. Its methods return a changed copy, so that a Reply can be shared and
// extended; the order of calls is the order on the wire.
type Reply struct {
	steps     []step
	calls     int    // number of tool calls in the steps
	finish    string // a Chat Completions finish_reason; "" selects stop or tool_calls, NoFinish omits it
	usage     Usage  // the zero value means the default
	status    int    // 0: 200
	header    map[string]string
	flushEach bool
}

// step sends a part of an answer, or waits. It returns false to end the answer.
type step func(s *stream) bool

// Usage is the number of tokens that the answer reports, counted as by OpenAI: Cached is part of Input, Reasoning
// part of Output.
type Usage struct {
	Input, Output, Cached, Reasoning int64
}

// NoFinish is the finish reason that omits the field.
const NoFinish = "-"

// ToolCall is a tool call of a reply. Args is sent verbatim and need not be JSON.
type ToolCall struct {
	ID     string // default: call_N, numbered through the server's life
	Name   string
	Args   string
	Chunks int // how many deltas the arguments are cut into; default 1
}

// Text answers with text, one delta per chunk.
func Text(chunks ...string) Reply { return Reply{}.Text(chunks...) }

// Call answers with one tool call.
func Call(name, args string) Reply { return Reply{}.Call(name, args) }

// Calls answers with tool calls, one after the other.
func Calls(calls ...ToolCall) Reply { return Reply{}.Calls(calls...) }

// Repeat answers with n text deltas of the same chunk.
func Repeat(chunk string, n int) Reply {
	return Reply{steps: slices.Repeat([]step{sends(delta(fields{"content": chunk}))}, n)}
}

// Raw answers with these bytes instead of events; then the stream ends.
func Raw(data string) Reply { return Reply{finish: NoFinish}.Raw(data) }

// Text adds text, one delta per chunk.
func (r Reply) Text(chunks ...string) Reply { return r.deltas("content", chunks) }

// Reasoning adds reasoning, one delta per chunk. In Chat Completions it travels in the named field:
// reasoning_content or reasoning.
func (r Reply) Reasoning(field string, chunks ...string) Reply { return r.deltas(field, chunks) }

func (r Reply) deltas(field string, chunks []string) Reply {
	steps := make([]step, len(chunks))
	for i, chunk := range chunks {
		steps[i] = sends(delta(fields{field: chunk}))
	}
	return r.add(steps...)
}

// Call adds one tool call.
func (r Reply) Call(name, args string) Reply { return r.Calls(ToolCall{Name: name, Args: args}) }

// Calls adds tool calls, one after the other.
func (r Reply) Calls(calls ...ToolCall) Reply {
	for _, c := range calls {
		index := r.calls
		r = r.add(func(s *stream) bool {
			id := cmp.Or(c.ID, fmt.Sprintf("call_%d", s.firstCall+index))
			return s.write(callDelta(fields{
				"index": index, "id": id, "type": "function", "function": fields{"name": c.Name, "arguments": ""},
			}))
		})
		args := []rune(c.Args) // a delta never ends within a character
		chunks := max(1, min(c.Chunks, len(args)))
		for i := range chunks {
			part := args[i*len(args)/chunks : (i+1)*len(args)/chunks]
			r = r.add(sends(callDelta(fields{"index": index, "function": fields{"arguments": string(part)}})))
		}
		r.calls++
	}
	return r
}

// Raw adds bytes verbatim; write whole events ("data: …\n\n") or garbage.
func (r Reply) Raw(data string) Reply { return r.add(sends([]byte(data))) }

// Pause waits, then continues.
func (r Reply) Pause(d time.Duration) Reply {
	return r.flushed(func(s *stream) bool { return s.wait(nil, d) })
}

// Wait waits until ch is closed or sends a value, then continues.
func (r Reply) Wait(ch <-chan struct{}) Reply {
	return r.flushed(func(s *stream) bool { return s.wait(ch, 0) })
}

// Stall sends nothing more until the client goes away.
func (r Reply) Stall() Reply { return r.Wait(nil) }

// Cut closes the connection here.
func (r Reply) Cut() Reply { return r.flushed((*stream).cut) }

// Endless repeats the last delta until the client goes away: of text, of reasoning or of a call's arguments.
func (r Reply) Endless() Reply {
	last := len(r.steps) - 1
	repeated := r.steps[last]
	r.steps = r.steps[:last]
	return r.add(func(s *stream) bool {
		for !s.over() && repeated(s) {
		}
		return false
	})
}

// Finish sets the finish reason, in the words of Chat Completions (stop, length, tool_calls,
// content_filter), or NoFinish.
func (r Reply) Finish(reason string) Reply {
	r.finish = reason
	return r
}

// Usage sets the reported tokens. Default: 10 in, 5 out.
func (r Reply) Usage(u Usage) Reply {
	r.usage = u
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
	r.flushEach = true
	return r
}

func (r Reply) add(steps ...step) Reply {
	r.steps = append(slices.Clip(r.steps), steps...)
	return r
}

// flushed adds a step. Everything written before it is sent first.
func (r Reply) flushed(do step) Reply {
	return r.add(func(s *stream) bool { return s.flush() && do(s) })
}

// sends returns a step that sends data. The caller has encoded the data, so that this is done only once.
func sends(data []byte) step { return func(s *stream) bool { return s.write(data) } }

package fakellm

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// fields is a JSON object.
type fields = map[string]any

const chatHead = `data: {"id":"chatcmpl-fake","object":"chat.completion.chunk","created":1767225600,"model":"fake-model","system_fingerprint":"fp_fake","choices":[{"index":0,"delta":`

const chatTail = `,"logprobs":null,"finish_reason":null}]}` + "\n\n"

// delta returns the event of a delta.
func delta(d fields) []byte { return slices.Concat([]byte(chatHead), encode(d), []byte(chatTail)) }

// callDelta returns the event of a part of a tool call.
func callDelta(call fields) []byte { return delta(fields{"tool_calls": []any{call}}) }

// end returns the finish reason, the usage in its own chunk, as OpenAI does, and the end mark.
func end(r Reply) []byte {
	reason := "stop"
	if r.calls > 0 {
		reason = "tool_calls"
	}
	chunk := fields{"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": created, "model": "fake-model"}
	chunk["choices"] = []any{fields{"index": 0, "delta": fields{}, "finish_reason": cmp.Or(r.finish, reason)}}
	last := encode(chunk)
	u := cmp.Or(r.usage, Usage{Input: 10, Output: 5})
	chunk["choices"] = []any{}
	chunk["usage"] = fields{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     fields{"cached_tokens": u.Cached},
		"completion_tokens_details": fields{"reasoning_tokens": u.Reasoning},
	}
	var out bytes.Buffer
	for _, data := range [][]byte{last, encode(chunk), []byte("[DONE]")} {
		out.WriteString("data: ")
		out.Write(data)
		out.WriteString("\n\n")
	}
	return out.Bytes()
}

// created is the time that every answer reports, so that answers can be compared: the beginning of 2026.
const created = 1767225600

// encode returns the JSON of v; what tests script always encodes. Invalid UTF-8 becomes U+FFFD.
func encode(v any) []byte {
	out, err := jsontext.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}

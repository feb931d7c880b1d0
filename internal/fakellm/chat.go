package fakellm

// fields is a JSON object.
type fields = map[string]any

const chatHead = `data: {"id":"chatcmpl-fake","object":"chat.completion.chunk","created":1767225600,"model":"fake-model","system_fingerprint":"fp_fake","choices":[{"index":0,"delta":`

const chatTail = `,"logprobs":null,"finish_reason":null}]}` + "\n\n"

// appendDelta appends the event of a delta.
func appendDelta(b []byte, o op) []byte {
	b = append(b, chatHead...)
	switch o.kind {
	case opText:
		b = append(b, `{"content":`...)
		b = appendString(b, o.text)
		b = append(b, '}')
	case opReasoning:
		b = appendJSON(b, fields{o.field: o.text})
	default:
		call := fields{"function": fields{"arguments": o.text}, "index": o.index}
		if o.kind == opCallStart {
			call = fields{"id": o.call.ID, "type": "function", "function": fields{"name": o.call.Name, "arguments": ""}, "index": o.index}
		}
		b = appendJSON(b, fields{"tool_calls": []any{call}})
	}
	return append(b, chatTail...)
}

// appendEnd appends the finish reason, the usage in its own chunk, as OpenAI does, and the end mark.
func appendEnd(b []byte, r Reply) []byte {
	chunk := fields{"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": created(), "model": "fake-model"}
	chunk["choices"] = []any{fields{"index": 0, "delta": fields{}, "finish_reason": r.finishReason()}}
	b = appendEvent(b, chunk)
	u := r.tokens()
	chunk["choices"] = []any{}
	chunk["usage"] = fields{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     fields{"cached_tokens": u.Cached},
		"completion_tokens_details": fields{"reasoning_tokens": u.Reasoning},
	}
	return append(appendEvent(b, chunk), "data: [DONE]\n\n"...)
}

func appendEvent(b []byte, v any) []byte {
	b = append(b, "data: "...)
	b = appendJSON(b, v)
	return append(b, "\n\n"...)
}

// appendString appends a JSON string; plain ASCII takes no encoder.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\' {
			return appendJSON(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

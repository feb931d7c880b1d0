package fakellm

// fields is a JSON object.
type fields = map[string]any

// chatDialect renders Chat Completions.
type chatDialect struct{}

const chatHead = `data: {"id":"chatcmpl-fake","object":"chat.completion.chunk","created":1767225600,"model":"fake-model","system_fingerprint":"fp_fake","choices":[{"index":0,"delta":`

const chatTail = `,"logprobs":null,"finish_reason":null}]}` + "\n\n"

func (chatDialect) open(b []byte) []byte { return b }

func (chatDialect) event(b []byte, o op, it *item, _ bool) []byte {
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
			call = it.call.chat(o.text)
			call["index"] = o.index
		}
		b = appendJSON(b, fields{"tool_calls": []any{call}})
	}
	return append(b, chatTail...)
}

// chat returns a call of Chat Completions.
func (c *ToolCall) chat(args string) fields {
	call := fields{"type": "function", "function": fields{"name": c.Name, "arguments": args}}
	if c.sendsID() {
		call["id"] = c.ID
	}
	return call
}

func (chatDialect) end(b []byte, r Reply, _ []*item) []byte {
	last := chatDocument("chat.completion.chunk", fields{"index": 0, "delta": fields{}, "finish_reason": r.finishReason()})
	usage := chatDocument("chat.completion.chunk")
	usage["usage"] = chatUsage(r)
	return append(appendEvent(appendEvent(b, last), usage), "data: [DONE]\n\n"...)
}

func chatDocument(object string, choices ...any) fields {
	if choices == nil {
		choices = []any{}
	}
	return fields{"id": "chatcmpl-fake", "object": object, "created": created(), "model": "fake-model", "choices": choices}
}

func chatUsage(r Reply) fields {
	u := r.tokens()
	return fields{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     fields{"cached_tokens": u.Cached},
		"completion_tokens_details": fields{"reasoning_tokens": u.Reasoning},
	}
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

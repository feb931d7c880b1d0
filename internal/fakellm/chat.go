package fakellm

import "strings"

// chatDialect renders Chat Completions.
type chatDialect struct{}

const chatHead = `data: {"id":"chatcmpl-fake","object":"chat.completion.chunk","created":1767225600,"model":"fake-model","system_fingerprint":"fp_fake","choices":[{"index":0,"delta":`

const chatTail = `,"logprobs":null,"finish_reason":null}]}` + "\n\n"

func (*chatDialect) open(b []byte) []byte { return b }

func (*chatDialect) event(b []byte, o op) []byte {
	b = append(b, chatHead...)
	switch o.kind {
	case opText:
		b = append(b, `{"content":`...)
		b = appendString(b, o.text)
		b = append(b, '}')
	case opReasoning:
		b = appendJSON(b, map[string]any{o.field: o.text})
	case opCallStart, opCallArgs:
		b = appendJSON(b, map[string]any{"tool_calls": []any{chatCallDelta(o)}})
	}
	return append(b, chatTail...)
}

func chatCallDelta(o op) map[string]any {
	call := map[string]any{"function": map[string]any{"arguments": o.text}, "index": o.index}
	if o.kind == opCallStart {
		call["type"] = "function"
		call["function"] = map[string]any{"name": o.call.Name, "arguments": o.text}
		if o.call.ID != "" && !o.call.NoID {
			call["id"] = o.call.ID
		}
	}
	return call
}

func (*chatDialect) end(b []byte, r Reply) []byte {
	last := chatDocument("chat.completion.chunk")
	last["choices"] = []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": r.finishReason()}}
	if r.usageAt == UsageFinishChunk {
		last["usage"] = chatUsage(r)
	}
	b = appendEvent(b, last)
	if r.usageAt == UsageOwnChunk {
		own := chatDocument("chat.completion.chunk")
		own["choices"], own["usage"] = []any{}, chatUsage(r)
		b = appendEvent(b, own)
	}
	if r.noDone {
		return b
	}
	return append(b, "data: [DONE]\n\n"...)
}

func (*chatDialect) whole(r Reply) []byte {
	message := map[string]any{"role": "assistant", "content": nil}
	var text strings.Builder
	var calls []map[string]any // by the index of the call
	for _, o := range r.ops {
		switch o.kind {
		case opText:
			text.WriteString(o.text)
		case opReasoning:
			old, _ := message[o.field].(string)
			message[o.field] = old + o.text
		case opCallStart:
			call := chatCallDelta(o)
			delete(call, "index")
			calls = append(calls, call)
		case opCallArgs:
			function := calls[o.index]["function"].(map[string]any)
			function["arguments"] = function["arguments"].(string) + o.text
		}
	}
	if text.Len() > 0 {
		message["content"] = text.String()
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	doc := chatDocument("chat.completion")
	doc["choices"] = []any{map[string]any{"index": 0, "message": message, "finish_reason": r.finishReason()}}
	doc["usage"] = chatUsage(r)
	return appendJSON(nil, doc)
}

func chatDocument(object string) map[string]any {
	return map[string]any{"id": "chatcmpl-fake", "object": object, "created": created(), "model": "fake-model"}
}

func chatUsage(r Reply) map[string]any {
	u := r.tokens()
	return map[string]any{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.Cached},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
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

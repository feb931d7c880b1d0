package fakellm

import "fmt"

// responsesDialect renders the Responses protocol, in which events announce and close each item.
type responsesDialect struct {
	sequence int
	unclosed *item // a text or reasoning
}

func (d *responsesDialect) open(b []byte) []byte {
	return d.emit(b, "response.created", fields{"response": responseDocument("in_progress", Reply{}, nil)})
}

func (d *responsesDialect) event(b []byte, o op, it *item, first bool) []byte {
	if first {
		b = d.close(b)
		b = d.emit(b, "response.output_item.added", fields{"output_index": it.index, "item": it.json("in_progress")})
		if it.call == nil {
			d.unclosed = it
		}
	}
	switch {
	case o.kind == opText:
		// Written by hand: benchmarks render tens of thousands of these.
		d.sequence++
		b = append(b, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\","...)
		b = fmt.Appendf(b, `"sequence_number":%d,"item_id":"msg_%d","output_index":%d,"content_index":0,"delta":`, d.sequence, it.index, it.index)
		b = appendString(b, o.text)
		b = append(b, ",\"logprobs\":[]}\n\n"...)
	case o.kind == opReasoning:
		b = d.emit(b, "response.reasoning_summary_text.delta", fields{"item_id": it.id(), "output_index": it.index, "summary_index": 0, "delta": o.text})
	case o.text != "":
		b = d.emit(b, "response.function_call_arguments.delta", fields{"item_id": it.id(), "output_index": it.index, "delta": o.text})
	}
	return b
}

// close ends the text or reasoning that is not closed.
func (d *responsesDialect) close(b []byte) []byte {
	it := d.unclosed
	if it == nil {
		return b
	}
	d.unclosed = nil
	return d.emit(b, "response.output_item.done", fields{"output_index": it.index, "item": it.json("completed")})
}

func (d *responsesDialect) end(b []byte, r Reply, items []*item) []byte {
	b = d.close(b)
	for _, it := range items {
		if it.call != nil {
			b = d.emit(b, "response.function_call_arguments.done", fields{"item_id": it.id(), "output_index": it.index, "arguments": string(it.text)})
			b = d.emit(b, "response.output_item.done", fields{"output_index": it.index, "item": it.json("completed")})
		}
	}
	status := responseStatus(r)
	return d.emit(b, "response."+status, fields{"response": responseDocument(status, r, items)})
}

func responseStatus(r Reply) string {
	if f := r.finishReason(); f == "length" || f == "content_filter" {
		return "incomplete"
	}
	return "completed"
}

func (it *item) id() string {
	return fmt.Sprint(map[opKind]string{opText: "msg_", opReasoning: "rs_", opCallStart: "fc_"}[it.kind], it.index)
}

// json returns the item with its text so far, or without any while it is in progress.
func (it *item) json(status string) fields {
	part := func(kind string) []any {
		if status == "in_progress" {
			return []any{}
		}
		return []any{fields{"type": kind, "text": string(it.text)}}
	}
	switch it.kind {
	case opText:
		return fields{"type": "message", "id": it.id(), "role": "assistant", "status": status, "content": part("output_text")}
	case opReasoning:
		doc := fields{"type": "reasoning", "id": it.id(), "summary": part("summary_text")}
		if status == "completed" {
			doc["encrypted_content"] = "encrypted-" + it.id()
		}
		return doc
	}
	doc := fields{"type": "function_call", "id": it.id(), "status": status, "name": it.call.Name, "arguments": string(it.text)}
	if it.call.sendsID() {
		doc["call_id"] = it.call.ID
	}
	return doc
}

func responseDocument(status string, r Reply, items []*item) fields {
	output := []any{}
	doc := fields{
		"id": "resp_fake", "object": "response", "created_at": created(), "model": "fake-model", "status": status, "error": nil, "incomplete_details": nil,
	}
	if status == "incomplete" {
		reason := "max_output_tokens"
		if r.finishReason() == "content_filter" {
			reason = "content_filter"
		}
		doc["incomplete_details"] = fields{"reason": reason}
	}
	if status != "in_progress" {
		u := r.tokens()
		doc["usage"] = fields{
			"input_tokens": u.Input, "input_tokens_details": fields{"cached_tokens": u.Cached},
			"output_tokens": u.Output, "output_tokens_details": fields{"reasoning_tokens": u.Reasoning},
			"total_tokens": u.Input + u.Output,
		}
	}
	for _, it := range items {
		output = append(output, it.json("completed"))
	}
	doc["output"] = output
	return doc
}

func (d *responsesDialect) emit(b []byte, typ string, event fields) []byte {
	d.sequence++
	event["type"], event["sequence_number"] = typ, d.sequence
	return appendEvent(append(b, "event: "+typ+"\n"...), event)
}

package fakellm

import (
	"fmt"
	"slices"
)

// responsesDialect renders the Responses protocol. It keeps which output item is open, because every
// item is announced and closed by its own events.
type responsesDialect struct {
	sequence int
	items    int         // output items so far
	kind     opKind      // of the open text or reasoning item
	opened   bool        // there is one
	text     []byte      // its text so far
	index    map[int]int // call index in the reply to output index
	calls    map[int]*openCall
	output   []any // the finished items
}

type openCall struct {
	call *ToolCall
	args []byte
}

func (d *responsesDialect) open(b []byte) []byte {
	return d.emit(b, "response.created", map[string]any{"response": d.response("in_progress", Reply{})})
}

func (d *responsesDialect) event(b []byte, o op) []byte {
	switch o.kind {
	case opText, opReasoning:
		return d.delta(b, o)
	case opCallStart:
		b = d.close(b)
		d.index[o.index] = d.items
		d.calls[o.index] = &openCall{call: o.call}
		b = d.emit(b, "response.output_item.added", map[string]any{
			"output_index": d.items, "item": d.callItem(o.index, "in_progress"),
		})
		d.items++
	}
	if o.text == "" {
		return b
	}
	call := d.calls[o.index]
	call.args = append(call.args, o.text...)
	return d.emit(b, "response.function_call_arguments.delta", map[string]any{
		"item_id": fmt.Sprintf("fc_%d", o.index), "output_index": d.index[o.index], "delta": o.text,
	})
}

func (d *responsesDialect) delta(b []byte, o op) []byte {
	if d.opened && d.kind != o.kind {
		b = d.close(b)
	}
	if !d.opened {
		d.opened, d.kind, d.text = true, o.kind, nil
		b = d.emit(b, "response.output_item.added", map[string]any{"output_index": d.items, "item": d.item("in_progress")})
		d.items++
	}
	d.text = append(d.text, o.text...)
	if o.kind == opReasoning {
		return d.emit(b, "response.reasoning_summary_text.delta", map[string]any{
			"item_id": fmt.Sprintf("rs_%d", d.items-1), "output_index": d.items - 1, "summary_index": 0, "delta": o.text,
		})
	}
	// Written by hand: benchmarks render tens of thousands of these.
	d.sequence++
	b = append(b, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\","...)
	b = fmt.Appendf(b, `"sequence_number":%d,"item_id":"msg_%d","output_index":%d,"content_index":0,"delta":`, d.sequence, d.items-1, d.items-1)
	b = appendString(b, o.text)
	return append(b, ",\"logprobs\":[]}\n\n"...)
}

// close ends the open text or reasoning item.
func (d *responsesDialect) close(b []byte) []byte {
	if !d.opened {
		return b
	}
	item := d.item("completed")
	d.opened = false
	d.output = append(d.output, item)
	return d.emit(b, "response.output_item.done", map[string]any{"output_index": d.items - 1, "item": item})
}

func (d *responsesDialect) closeCalls(b []byte) []byte {
	var order []int
	for i := range d.calls {
		order = append(order, i)
	}
	slices.Sort(order)
	for _, i := range order {
		item := d.callItem(i, "completed")
		d.output = append(d.output, item)
		b = d.emit(b, "response.function_call_arguments.done", map[string]any{
			"item_id": item["id"], "output_index": d.index[i], "arguments": item["arguments"],
		})
		b = d.emit(b, "response.output_item.done", map[string]any{"output_index": d.index[i], "item": item})
	}
	return b
}

func (d *responsesDialect) end(b []byte, r Reply) []byte {
	b = d.close(b)
	b = d.closeCalls(b)
	if r.noDone {
		return b
	}
	status := responseStatus(r)
	return d.emit(b, "response."+status, map[string]any{"response": d.response(status, r)})
}

func (d *responsesDialect) whole(r Reply) []byte {
	for _, o := range r.ops {
		if o.kind <= opCallArgs {
			d.event(nil, o)
		}
	}
	d.close(nil)
	d.closeCalls(nil)
	return appendJSON(nil, d.response(responseStatus(r), r))
}

func responseStatus(r Reply) string {
	if f := r.finishReason(); f == "length" || f == "content_filter" {
		return "incomplete"
	}
	return "completed"
}

// item is the open text or reasoning item.
func (d *responsesDialect) item(status string) map[string]any {
	n := d.items
	if status == "completed" {
		n--
	}
	if d.kind == opReasoning {
		item := map[string]any{"type": "reasoning", "id": fmt.Sprintf("rs_%d", n), "summary": []any{}}
		if status == "completed" {
			item["summary"] = []any{map[string]any{"type": "summary_text", "text": string(d.text)}}
			item["encrypted_content"] = "encrypted-" + fmt.Sprint(n)
		}
		return item
	}
	content := []any{}
	if status == "completed" {
		content = append(content, map[string]any{"type": "output_text", "text": string(d.text), "annotations": []any{}})
	}
	return map[string]any{"type": "message", "id": fmt.Sprintf("msg_%d", n), "role": "assistant", "status": status, "content": content}
}

func (d *responsesDialect) callItem(index int, status string) map[string]any {
	c := d.calls[index]
	item := map[string]any{
		"type": "function_call", "id": fmt.Sprintf("fc_%d", index), "status": status, "name": c.call.Name,
		"arguments": string(c.args),
	}
	if c.call.ID != "" && !c.call.NoID {
		item["call_id"] = c.call.ID
	}
	return item
}

func (d *responsesDialect) response(status string, r Reply) map[string]any {
	doc := map[string]any{
		"id": "resp_fake", "object": "response", "created_at": created(), "model": "fake-model", "status": status,
		"error": nil, "incomplete_details": nil, "output": d.output, "usage": nil,
	}
	if status == "in_progress" {
		return doc
	}
	if status == "incomplete" {
		reason := "max_output_tokens"
		if r.finishReason() == "content_filter" {
			reason = "content_filter"
		}
		doc["incomplete_details"] = map[string]any{"reason": reason}
	}
	u := r.tokens()
	doc["usage"] = map[string]any{
		"input_tokens": u.Input, "input_tokens_details": map[string]any{"cached_tokens": u.Cached},
		"output_tokens": u.Output, "output_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
		"total_tokens": u.Input + u.Output,
	}
	return doc
}

func (d *responsesDialect) emit(b []byte, typ string, fields map[string]any) []byte {
	d.sequence++
	fields["type"], fields["sequence_number"] = typ, d.sequence
	b = append(b, "event: "...)
	b = append(b, typ...)
	b = append(b, '\n')
	return appendEvent(b, fields)
}

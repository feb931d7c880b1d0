package fakellm

import "time"

// segment is a run of bytes and what the server does after it.
type segment struct {
	data []byte
	act  func(*stream) bool // false ends the answer; nil: nothing
}

// item is a text, a piece of reasoning or a tool call of an answer.
type item struct {
	kind  opKind
	field string
	call  *ToolCall
	index int    // of the item, and in opCallStart
	text  []byte // all deltas
}

// dialect renders one protocol.
type dialect interface {
	open(b []byte) []byte
	// event appends the events of a delta. first is true for the first one of its item.
	event(b []byte, o op, it *item, first bool) []byte
	// end appends the end of the stream.
	end(b []byte, r Reply, items []*item) []byte
}

func dialectFor(responses bool) dialect {
	if responses {
		return &responsesDialect{}
	}
	return chatDialect{}
}

// assembly joins the deltas of each item.
type assembly struct {
	items []*item
	open  *item // the text or reasoning that the next delta continues
	calls []*item
}

// add adds a delta, and returns its item.
func (a *assembly) add(o op) (it *item, first bool) {
	switch {
	case o.kind == opCallArgs:
		it = a.calls[o.index]
	case o.kind != opCallStart && a.open != nil && a.open.kind == o.kind:
		it = a.open
	default:
		it, first = &item{kind: o.kind, field: o.field, call: o.call, index: len(a.items)}, true
		a.items = append(a.items, it)
		if a.open = it; o.kind == opCallStart {
			a.open = nil
			a.calls = append(a.calls, it)
		}
	}
	it.text = append(it.text, o.text...)
	return it, first
}

// render turns the reply into segments, so that sending takes no more work than writing.
func render(r Reply, responses bool) []segment {
	d := dialectFor(responses)
	var segs []segment
	var all assembly
	buf := d.open(nil)
	seal := func(act func(*stream) bool) {
		segs = append(segs, segment{buf, act})
		buf = nil
	}
	for _, o := range r.ops {
		switch {
		case o.kind == opAct:
			seal(o.act)
			continue
		case o.kind == opRaw:
			buf = append(buf, o.text...)
		case o.endless:
			seal(nil)
			it, first := all.add(o)
			data := d.event(nil, o, it, first)
			seal(func(s *stream) bool { return s.repeat(data) })
		default:
			it, first := all.add(o)
			buf = d.event(buf, o, it, first)
		}
		if r.perEvent {
			seal(nil)
		}
	}
	if r.finish != NoFinish {
		buf = d.end(buf, r, all.items)
	}
	seal(nil)
	return segs
}

func (r Reply) finishReason() string {
	switch {
	case r.finish != "":
		return r.finish
	case r.countCalls() > 0:
		return "tool_calls"
	}
	return "stop"
}

func (r Reply) countCalls() (n int) {
	for i := range r.ops {
		if r.ops[i].kind == opCallStart {
			n++
		}
	}
	return n
}

func (r Reply) tokens() Usage {
	if r.usage == nil {
		return Usage{Input: 10, Output: 5}
	}
	return *r.usage
}

// created is the time every answer reports; a constant keeps answers comparable.
func created() int64 { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix() }

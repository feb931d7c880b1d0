package fakellm

import "time"

// segment is a run of bytes and the operation after it.
type segment struct {
	data []byte
	then op
	last bool // the stream ends here
}

// dialect renders events of one protocol.
type dialect interface {
	open(b []byte) []byte
	event(b []byte, o op) []byte
	// end appends the end of the stream.
	end(b []byte, r Reply) []byte
	whole(r Reply) []byte
}

func dialectFor(responses bool) dialect {
	if responses {
		return &responsesDialect{index: map[int]int{}, calls: map[int]*openCall{}}
	}
	return &chatDialect{}
}

// render turns the reply into segments, so that sending takes no more work than writing.
func render(r Reply, responses bool) []segment {
	d := dialectFor(responses)
	var segs []segment
	var buf []byte
	seal := func(then op, last bool) {
		segs = append(segs, segment{data: buf, then: then, last: last})
		buf = nil
	}
	buf = d.open(buf)
	for _, o := range r.ops {
		switch o.kind {
		case opPause, opWait, opStall, opCut:
			seal(o, o.kind == opStall || o.kind == opCut)
			continue
		case opEndless:
			seal(op{}, false)
			buf = d.event(buf, *o.repeat)
			seal(o, true)
			continue
		case opRaw:
			buf = append(buf, o.text...)
		default:
			buf = d.event(buf, o)
		}
		if r.perEvent {
			seal(op{}, false)
		}
	}
	if r.finish != NoFinish {
		buf = d.end(buf, r)
	}
	seal(op{}, true)
	return segs
}

func (r Reply) finishReason() string {
	if r.finish != "" {
		return r.finish
	}
	if r.countCalls() > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (r Reply) tokens() Usage {
	if r.usage == nil {
		return Usage{Input: 10, Output: 5}
	}
	return *r.usage
}

// created is the time every answer reports; a constant keeps answers comparable.
func created() int64 { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix() }

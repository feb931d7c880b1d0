package fakellm

import "time"

// segment is a run of bytes and what the server does after it.
type segment struct {
	data []byte
	act  func(*stream) bool // false ends the answer; nil: nothing
}

// render turns the reply into segments, so that sending takes no more work than writing.
func render(r Reply) []segment {
	var segs []segment
	var buf []byte
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
			data := appendDelta(nil, o)
			seal(func(s *stream) bool { return s.repeat(data) })
		default:
			buf = appendDelta(buf, o)
		}
		if r.perEvent {
			seal(nil)
		}
	}
	if r.finish != NoFinish {
		buf = appendEnd(buf, r)
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

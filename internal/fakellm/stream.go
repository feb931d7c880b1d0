package fakellm

import (
	"net/http"
	"time"
)

// maxPending is how much of an answer is collected before it is written.
const maxPending = 64 << 10

// stream is an answer that is being sent.
type stream struct {
	w            http.ResponseWriter
	control      *http.ResponseController
	gone, closed <-chan struct{} // the client went away; the server was closed
	firstCall    int             // the number of the first tool call
	pending      []byte
}

// send sends the reply until it is complete or the client or the server goes away.
func (s *stream) send(reply Reply) {
	head := s.w.Header()
	head.Set("Content-Type", "text/event-stream")
	for name, value := range reply.header {
		head.Set(name, value)
	}
	if reply.status != 0 {
		s.w.WriteHeader(reply.status)
	}
	for _, do := range reply.steps {
		if !do(s) || reply.flushEach && !s.flush() {
			return
		}
	}
	if reply.finish != NoFinish {
		s.write(end(reply))
	}
	s.push()
}

// write reports whether the client still reads.
func (s *stream) write(data []byte) bool {
	s.pending = append(s.pending, data...)
	return len(s.pending) < maxPending || s.push()
}

// push writes the pending data.
func (s *stream) push() bool {
	_, err := s.w.Write(s.pending)
	s.pending = s.pending[:0]
	return err == nil
}

// flush writes the pending data and sends it.
func (s *stream) flush() bool { return s.push() && s.control.Flush() == nil }

// over reports whether the client or the server went away.
func (s *stream) over() bool {
	select {
	case <-s.gone:
	case <-s.closed:
	default:
		return false
	}
	return true
}

func (s *stream) cut() bool {
	if conn, _, err := s.control.Hijack(); err == nil {
		_ = conn.Close()
	}
	return false
}

// wait returns true when ch is ready or d has passed, and false when the client or the server has gone
// away. Without ch and d, it waits for the latter.
func (s *stream) wait(ch <-chan struct{}, d time.Duration) bool {
	var timer <-chan time.Time
	if d > 0 {
		timer = time.After(d)
	}
	select {
	case <-ch:
	case <-timer:
	case <-s.gone:
		return false
	case <-s.closed:
		return false
	}
	return true
}

package fakellm

import (
	"net/http"
	"time"
)

// send writes the reply until it is complete or the client or the server goes away.
func (s *Server) send(w http.ResponseWriter, r *http.Request, req Request, reply *rendered) {
	out := &stream{w: w, control: http.NewResponseController(w), gone: r.Context().Done(), closed: s.done}
	if reply.never {
		out.wait(nil, 0)
		return
	}
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	for name, value := range reply.header {
		head.Set(name, value)
	}
	if reply.status != 0 {
		w.WriteHeader(reply.status)
		out.write(reply.body)
		return
	}
	for i, seg := range reply.segments() {
		if i > 0 {
			out.flush()
		}
		if !out.write(seg.data) {
			return
		}
		if seg.act == nil {
			continue
		}
		if out.flush(); !seg.act(out) {
			return
		}
	}
}

// stream is an answer that is being sent.
type stream struct {
	w            http.ResponseWriter
	control      *http.ResponseController
	gone, closed <-chan struct{} // the client went away; the server was closed
}

// write reports whether the client still reads.
func (s *stream) write(data []byte) bool {
	_, err := s.w.Write(data)
	return err == nil
}

func (s *stream) flush() { _ = s.control.Flush() }

// repeat writes data until the client goes away.
func (s *stream) repeat(data []byte) bool {
	for {
		select {
		case <-s.gone:
			return false
		default:
		}
		if !s.write(data) {
			return false
		}
	}
}

func (s *stream) cut() bool {
	if conn, _, err := s.control.Hijack(); err == nil {
		_ = conn.Close()
	}
	return false
}

// wait returns true when ch is ready or d is over, false when the client or the server went away. With
// neither ch nor d it waits for the latter.
func (s *stream) wait(ch <-chan struct{}, d time.Duration) bool {
	var timer <-chan time.Time
	if d > 0 {
		timer = time.After(d)
	}
	select {
	case <-ch:
		return true
	case <-timer:
		return true
	case <-s.gone:
	case <-s.closed:
	}
	return false
}

package fakellm

import (
	"net/http"
	"time"
)

// send writes the reply until it is complete or the client or the server goes away.
func (s *Server) send(w http.ResponseWriter, r *http.Request, req Request, reply *rendered) {
	if reply.never {
		s.wait(r, nil, 0)
		return
	}
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	for name, value := range reply.header {
		head.Set(name, value)
	}
	stream, _ := req.Body["stream"].(bool)
	switch {
	case reply.status != 0:
		w.WriteHeader(reply.status)
		_, _ = w.Write(reply.body)
		return
	case reply.whole || (!stream && len(reply.ops) > 0 && reply.finish != NoFinish):
		head.Set("Content-Type", "application/json")
		_, _ = w.Write(dialectFor(req.Responses()).whole(reply.Reply))
		return
	}
	segs := reply.chat
	if req.Responses() {
		segs = reply.responses
	}
	for _, seg := range segs() {
		if !s.sendSegment(w, r, seg, reply.fragment) {
			return
		}
	}
}

// sendSegment writes one run of bytes and does what follows it; false ends the answer.
func (s *Server) sendSegment(w http.ResponseWriter, r *http.Request, seg segment, fragment int) bool {
	control := http.NewResponseController(w)
	data := seg.data
	for fragment > 0 && len(data) > fragment {
		if _, err := w.Write(data[:fragment]); err != nil {
			return false
		}
		_ = control.Flush()
		data = data[fragment:]
	}
	if seg.then.kind != opEndless {
		if _, err := w.Write(data); err != nil {
			return false
		}
	}
	if !seg.last || seg.then.kind != opText {
		_ = control.Flush()
	}
	switch seg.then.kind {
	case opPause:
		return s.wait(r, nil, seg.then.dur)
	case opWait:
		return s.wait(r, seg.then.wait, 0)
	case opStall:
		s.wait(r, nil, 0)
	case opCut:
		if conn, _, err := control.Hijack(); err == nil {
			_ = conn.Close()
		}
	case opEndless:
		for r.Context().Err() == nil {
			if _, err := w.Write(data); err != nil {
				return false
			}
		}
	}
	return !seg.last
}

// wait returns true when ch is ready or d is over, false when the client or the server went away. With
// neither ch nor d it waits for the latter.
func (s *Server) wait(r *http.Request, ch <-chan struct{}, d time.Duration) bool {
	var timer <-chan time.Time
	if d > 0 {
		timer = time.After(d)
	}
	select {
	case <-ch:
		return true
	case <-timer:
		return true
	case <-r.Context().Done():
	case <-s.done:
	}
	return false
}

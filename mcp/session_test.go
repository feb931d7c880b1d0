package mcp_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenonhq/tenon/mcp"
)

// sessions is a hand-made server over streamable HTTP that forgets its session.
type sessions struct {
	refuse       http.HandlerFunc // answers requests in another session; default: 404
	capabilities string           // default: tools
	mu           sync.Mutex
	current      int
	calls        atomic.Int32
	inits        atomic.Int32
}

func (s *sessions) refused(w http.ResponseWriter, r *http.Request) {
	if s.refuse == nil {
		http.NotFound(w, r)
		return
	}
	s.refuse(w, r)
}

func (s *sessions) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current++
}

func (s *sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	session := fmt.Sprintf("session-%d", s.current)
	s.mu.Unlock()
	var m fakeMessage
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if m.Method != "initialize" && r.Header.Get("Mcp-Session-Id") != session {
		s.refused(w, r)
		return
	}
	result := `{}`
	switch m.Method {
	case "initialize":
		s.inits.Add(1)
		w.Header().Set("Mcp-Session-Id", session)
		result = `{"protocolVersion":"2025-06-18","capabilities":` + cmp.Or(s.capabilities, `{"tools":{}}`) + `,"serverInfo":{"name":"s","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"count","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		s.calls.Add(1)
		result = `{"content":[{"type":"text","text":"counted"}]}`
	}
	if len(m.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// A session that ended is reopened, and the call that noticed is repeated, once.
func TestSessionThatEnded(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]http.HandlerFunc{
		"404": http.NotFound,
		"400 of the SDK for TypeScript": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`)
		},
		"400 of the SDK for Python": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Bad Request: No valid session ID provided", http.StatusBadRequest)
		},
		"400 of the SDK for Python, as an error": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Server not initialized"}}`)
		},
		"503": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Session not found"},"id":null}`)
		},
		"410, as an error of no protocol": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusGone)
			_, _ = io.WriteString(w, `{"error":"Session expired"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sessions{refuse: refuse}
			p := ready(t, newTestHost(t), remote(mcp.TransportHTTP, listen(t, s).URL))
			for i := range 5 {
				if got := mustRun(t, p, "far_count", "{}").Output; got != "counted" {
					t.Errorf("count = %q", got)
				}
				if n := s.calls.Load(); n != int32(i+1) {
					t.Errorf("after %d calls the server ran %d", i+1, n)
				}
				s.forget()
			}
			if n := s.inits.Load(); n < 5 {
				t.Errorf("the session was begun %d times", n)
			}
		})
	}
}

// All parallel calls that notice the end of a session are repeated, once.
func TestParallelCallsInEndedSession(t *testing.T) {
	t.Parallel()
	const parallel = 4
	var arrived sync.WaitGroup
	s := &sessions{refuse: func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") != "" { // a call
			arrived.Done()
			arrived.Wait()
		}
		http.NotFound(w, r)
	}}
	p := ready(t, newTestHost(t), remote(mcp.TransportHTTP, listen(t, s).URL))
	for round := range 3 {
		s.forget()
		arrived.Add(parallel)
		var calls sync.WaitGroup
		for range parallel {
			calls.Go(func() { // ends with its answer
				if r, err := run(t.Context(), t, p, "far_count", "{}"); err != nil || r.Output != "counted" {
					t.Errorf("count = %v, %v", r, err)
				}
			})
		}
		calls.Wait()
		if n := s.calls.Load(); n != int32((round+1)*parallel) {
			t.Errorf("the server ran %d calls", n)
		}
	}
}

// restarting is a hand-made server with a stream of news that ends when the server restarts; then it has another tool.
type restarting struct {
	sessions
	opened   atomic.Int32
	refusals atomic.Int32
	restart  chan int // the status of the next request of the stream
	status   atomic.Int32
	keeps    bool // its session
	json     bool // answers with a status have a body of JSON
}

func (s *restarting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		s.sessions.ServeHTTP(w, r)
		return
	}
	if status := s.status.Swap(0); status != 0 {
		if s.json {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(int(status))
			_, _ = io.WriteString(w, `{"message": "restarting"}`)
		} else {
			http.Error(w, "restarting", int(status))
		}
		s.refusals.Add(1)
		return
	}
	s.mu.Lock()
	known := r.Header.Get("Mcp-Session-Id") == fmt.Sprintf("session-%d", s.current)
	s.mu.Unlock()
	if !known {
		s.refused(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "retry: 1\n\n")
	_ = http.NewResponseController(w).Flush()
	s.opened.Add(1)
	select {
	case status := <-s.restart:
		s.status.Store(int32(status))
		if !s.keeps {
			s.forget()
		}
	case <-r.Context().Done():
	}
}

// If the stream of news ends with its session, a new session lists what changed, without a call.
func TestNewsOfSessionThatEnded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		first, then int
		json        bool
	}{"404": {0, 404, false}, "400": {0, 400, false}, "404 after 502 of a proxy": {502, 404, false}, "404 after 502 with JSON": {502, 404, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &restarting{restart: make(chan int), json: test.json}
			s.refuse = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no session", test.then) }
			ready(t, newTestHost(t), remote(mcp.TransportHTTP, listen(t, s).URL))
			eventually(t, "the stream", func() bool { return s.opened.Load() == 1 })
			s.restart <- test.first
			eventually(t, "another session with a stream", func() bool { return s.inits.Load() == 2 && s.opened.Load() == 2 })
		})
	}
}

// A server that refuses to continue the stream of news with the status 400, for example because of the event ID, keeps its session.
func TestNewsNotContinued(t *testing.T) {
	t.Parallel()
	s := &restarting{restart: make(chan int), keeps: true}
	s.refuse = http.NotFound
	p := ready(t, newTestHost(t), remote(mcp.TransportHTTP, listen(t, s).URL))
	eventually(t, "the stream", func() bool { return s.opened.Load() == 1 })
	s.restart <- http.StatusBadRequest
	eventually(t, "the refusal", func() bool { return s.refusals.Load() == 1 })
	for range 20 {
		mustRun(t, p, "far_count", "{}")
	}
	if n := s.inits.Load(); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// A server may refuse the stream of news with any status. Its session continues.
func TestNoNews(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest, http.StatusBadGateway} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			s := &restarting{}
			s.refuse = http.NotFound
			s.status.Store(int32(status))
			p := ready(t, newTestHost(t), remote(mcp.TransportHTTP, listen(t, s).URL))
			for range 2 {
				mustRun(t, p, "far_count", "{}")
			}
			if n := s.inits.Load(); n != 1 || s.opened.Load() != 0 {
				t.Errorf("%d sessions, %d streams", n, s.opened.Load())
			}
		})
	}
}

// A call whose answer is wrong or incomplete ends neither the other calls nor the session.
func TestBadAnswerDuringAnotherCall(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string][2]string{
		"kind": {"text/html", "<html>"}, "text": {"application/json", "{"}, "cut": {"text/event-stream", ": wait\n\n"},
		"long": {"application/json", `"` + strings.Repeat("x", 17<<20) + `"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, calls, answered := &sessions{}, atomic.Int32{}, make(chan struct{})
			p := ready(t, newTestHost(t), remote(mcp.TransportHTTP, listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				raw, _ := io.ReadAll(r.Body)
				if bytes.Contains(raw, []byte("tools/call")) && calls.Add(1) == 1 {
					<-answered // and a little later, when the client has handled it
					<-time.After(100 * time.Millisecond)
				} else if bytes.Contains(raw, []byte("tools/call")) {
					w.Header().Set("Content-Type", bad[0])
					_, _ = io.WriteString(w, bad[1])
					close(answered)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(raw))
				s.ServeHTTP(w, r)
			})).URL))
			var first sync.WaitGroup
			first.Go(func() { // ends with its answer
				if r, err := run(t.Context(), t, p, "far_count", "{}"); err != nil || r.Output != "counted" {
					t.Errorf("the other call = %v, %v", r, err)
				}
			})
			eventually(t, "the first call", func() bool { return calls.Load() == 1 })
			if r, err := run(t.Context(), t, p, "far_count", "{}"); err == nil {
				t.Errorf("the bad answer = %v", r)
			}
			first.Wait()
			if n := s.inits.Load(); n != 1 {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

// A server that announces changed lists at the end of a run is not a problem for the user.
func TestListsAtTheEnd(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "record")
	h := newTestHost(t)
	p := ready(t, h, fake(t, "lists once", "COUNT="+record))
	mustRun(t, p, "fake_change", "{}")
	eventually(t, "the request of the lists", func() bool { return len(lines(t, record)) > 0 })
	if err := p.Close(t.Context()); err != nil || strings.Contains(h.log.String(), "could not be read") {
		t.Errorf("Close() = %v, log: %s", err, h.log.String())
	}
}

// A server that refuses a call for now is not asked for a new session, and the error names the status.
func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	s := &sessions{}
	p := ready(t, newTestHost(t), remote(mcp.TransportHTTP, listen(t, refusing(s, "tools/call", http.StatusTooManyRequests, "application/json", `{"error":"slow down"}`)).URL))
	for range 2 {
		_, err := run(t.Context(), t, p, "far_count", "{}")
		if want := `HTTP status 429 (Too Many Requests): {"error":"slow down"}`; err == nil || !strings.Contains(err.Error(), want) || s.inits.Load() != 1 {
			t.Errorf("%v in %d sessions, want %q in 1", err, s.inits.Load(), want)
		}
	}
}

package fakellm

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Server is a running model server. Safe for use from many goroutines.
type Server struct {
	http *httptest.Server
	done chan struct{} // closed by Close: stalled answers end

	mu       sync.Mutex
	script   []Reply
	routes   []route
	handle   func(Request) Reply
	requests []Request
	arrived  chan struct{} // closed and replaced at each request
	models   []string
	calls    int                              // tool calls numbered so far
	failed   func(format string, args ...any) // reports a request without a scripted reply; may be nil
}

type route struct {
	match   func(Request) bool
	replies []Reply
}

// New starts a server that the test's end closes. A request beyond the script fails the test.
func New(t testing.TB, replies ...Reply) *Server {
	t.Helper()
	s := Start(replies...)
	s.failed = t.Errorf
	t.Cleanup(s.Close)
	return s
}

// Start starts a server on a free loopback port; the caller closes it. A request beyond the script is
// answered with status 400.
func Start(replies ...Reply) *Server {
	s := &Server{done: make(chan struct{}), arrived: make(chan struct{}), models: []string{"fake-model"}}
	s.Add(replies...)
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// URL returns the base URL, ending in /v1.
func (s *Server) URL() string { return s.http.URL + "/v1" }

// Close ends all answers and waits for them. It may be called twice.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.done:
	default:
		close(s.done)
	}
	s.mu.Unlock()
	s.http.CloseClientConnections()
	s.http.Close()
}

// Add appends replies to the script.
func (s *Server) Add(replies ...Reply) {
	s.locked(func() { s.script = append(s.script, replies...) })
}

// Always answers every request beyond the script with the reply.
func (s *Server) Always(reply Reply) { s.Handle(func(Request) Reply { return reply }) }

// Handle answers every request beyond the script with f's reply. f may be called concurrently.
func (s *Server) Handle(f func(Request) Reply) { s.locked(func() { s.handle = f }) }

// Route answers matching requests with these replies, in order; the last one repeats.
// Routes are tried in the order they were added, before the script. Requests for a title get a fixed
// title unless a route matches them (see Request.IsTitle).
func (s *Server) Route(match func(Request) bool, replies ...Reply) {
	s.locked(func() { s.routes = append(s.routes, route{match, replies}) })
}

// SetModels sets the models that GET /v1/models lists. Default: fake-model.
func (s *Server) SetModels(ids ...string) { s.locked(func() { s.models = ids }) }

func (s *Server) locked(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Requests returns the model requests so far, in the order in which they arrived. It omits requests for the list of models.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Turns returns the requests that did not ask for a title.
func (s *Server) Turns() []Request {
	return slices.DeleteFunc(s.Requests(), Request.IsTitle)
}

// WaitRequests waits until n model requests have come; it reports whether they did in time.
func (s *Server) WaitRequests(n int, timeout time.Duration) bool {
	deadline := time.After(timeout)
	for {
		s.mu.Lock()
		enough, arrived := len(s.requests) >= n, s.arrived
		s.mu.Unlock()
		if enough {
			return true
		}
		select {
		case <-arrived:
		case <-deadline:
			return false
		}
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.done:
		return
	default:
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	if r.Method == http.MethodGet {
		s.listModels(w, r)
		return
	}
	req := Request{Path: r.URL.Path, Header: r.Header.Clone(), Raw: raw, Arrived: time.Now()}
	_ = json.Unmarshal(raw, &req.Body) // stays nil unless it is an object
	req.Time = time.Now()
	reply := s.pick(req)
	out := &stream{w: w, control: http.NewResponseController(w), gone: r.Context().Done(), closed: s.done}
	s.locked(func() {
		out.firstCall = s.calls + 1
		s.calls += reply.calls
	})
	out.send(reply)
}

// pick records the request and chooses the reply.
func (s *Server) pick(req Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	close(s.arrived)
	s.arrived = make(chan struct{})
	for i := range s.routes {
		if rt := &s.routes[i]; rt.match(req) {
			reply := rt.replies[0]
			if len(rt.replies) > 1 {
				rt.replies = rt.replies[1:]
			}
			return reply
		}
	}
	switch {
	case req.IsTitle():
		return Text("A fine title")
	case len(s.script) > 0:
		reply := s.script[0]
		s.script = s.script[1:]
		return reply
	case s.handle != nil:
		// handle is called without the lock, because it may be slow or use the server.
		handle := s.handle
		s.mu.Unlock()
		defer s.mu.Lock()
		return handle(req)
	}
	if s.failed != nil {
		s.failed("fakellm: request %d to %s has no reply in the script", len(s.requests), req.Path)
	}
	return Error(http.StatusBadRequest, "script_exhausted", "fakellm: the script has no more replies")
}

func (s *Server) listModels(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/models" {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	data := []any{}
	for _, id := range s.models {
		data = append(data, fields{"id": id, "object": "model", "created": created, "owned_by": "fakellm"})
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(fields{"object": "list", "data": data}))
}

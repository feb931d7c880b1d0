package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/sdk"
)

// remote returns a server of the user's own at an address.
func remote(kind mcp.Transport, url string) mcp.Server {
	return mcp.Server{Name: "far", Transport: kind, URL: url, Own: true, Timeout: 10 * time.Second, Headers: map[string]string{"Authorization": "Bearer t0ken"}}
}

// realServer returns a server made with mcp-go.
func realServer(options ...server.ServerOption) *server.MCPServer {
	s := server.NewMCPServer("real", "1.0", append([]server.ServerOption{server.WithToolCapabilities(true), server.WithElicitation()}, options...)...)
	s.AddTool(mcpgo.NewTool("echo", mcpgo.WithString("text")), func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return mcpgo.NewToolResultText(r.GetString("text", "")), nil
	})
	s.AddTool(mcpgo.NewTool("ask"), func(ctx context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		form := mcpgo.ElicitationParams{
			Message: "Which?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}},
		}
		answer, err := s.RequestElicitation(ctx, mcpgo.ElicitationRequest{Params: form})
		if err == nil {
			raw, err := json.Marshal(answer)
			return mcpgo.NewToolResultText(string(raw)), err
		}
		if given, ok := r.Params.InputResponses["form"]; ok { // the stateless revision: the call comes again with the answer
			raw, err := json.Marshal(given)
			return mcpgo.NewToolResultText(string(raw)), err
		}
		again := &mcpgo.CallToolResult{}
		again.ResultType = mcpgo.ResultTypeInputRequired
		again.InputRequests = mcpgo.InputRequests{"form": mcpgo.NewElicitationInputRequest(form)}
		return again, nil
	})
	return s
}

// authorized refuses requests without the token.
func authorized(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t0ken" {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://auth.example/.well-known/oauth-protected-resource"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func listen(t testing.TB, h http.Handler) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func TestHTTPTransports(t *testing.T) {
	t.Parallel()
	//lint:ignore SA1019 it makes a server of the kind that is common today
	legacy := realServer(server.WithLegacyServerInitiatedRequests())
	tests := map[string]struct {
		kind    mcp.Transport
		handler http.Handler
		path    string
	}{
		"streamable":              {mcp.TransportHTTP, server.NewStreamableHTTPServer(realServer(), server.WithStateful(true)), "/mcp"},
		"sse":                     {mcp.TransportSSE, sseServer(), "/sse"},
		"sse by way of http":      {mcp.TransportHTTP, sseServer(), "/sse"},
		"streamable, old servers": {mcp.TransportHTTP, onlyLegacy(server.NewStreamableHTTPServer(legacy, server.WithStateful(true))), "/mcp"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := listen(t, authorized(test.handler))
			p := ready(t, newTestHost(t), remote(test.kind, web.URL+test.path))
			t.Logf("protocol %s", p.Current().Protocol)
			for range 3 {
				if got := mustRun(t, p, "far_echo", `{"text":"over the wire"}`).Output; got != "over the wire" {
					t.Errorf("echo = %q", got)
				}
			}
			if test.kind == mcp.TransportSSE || strings.HasPrefix(name, "sse") {
				return // the server of mcp-go cannot ask over it; TestQuestionsOverSSE does
			}
			h := &toolHost{answers: func(q []sdk.Question) ([][]string, error) { return [][]string{{"this one"}}, nil }}
			r, err := runOn(t.Context(), t, p, "far_ask", "{}", h)
			if err != nil || !strings.Contains(r.Output, "this one") {
				t.Errorf("ask = %v, %v", r, err)
			}
		})
	}
}

// sseServer serves a server over the older transport.
func sseServer() http.Handler {
	return server.NewSSEServer(realServer(), server.WithUseFullURLForMessageEndpoint(false))
}

// onlyLegacy is a server from before the stateless revision.
func onlyLegacy(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "server/discover" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// A server of the stateless revision that is slow to answer its first request refuses the handshake, and gets another chance.
func TestSlowStatelessServer(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			var discoveries atomic.Int32
			modern := server.NewStreamableHTTPServer(realServer())
			web := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch method := r.Header.Get("Mcp-Method"); {
				case method == "server/discover" && discoveries.Add(1) == 1:
					hanging().ServeHTTP(w, r) // longer than the client waits
				case method == "initialize":
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(status)
					_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}`)
				default:
					modern.ServeHTTP(w, r)
				}
			}))
			p := ready(t, newTestHost(t), remote(mcp.TransportHTTP, web.URL+"/mcp"))
			if got := p.Current().Protocol; got != mcpgo.LATEST_PROTOCOL_VERSION || discoveries.Load() != 2 {
				t.Errorf("protocol %q after %d discoveries, want %s after 2", got, discoveries.Load(), mcpgo.LATEST_PROTOCOL_VERSION)
			}
		})
	}
}

// A server that is slow to answer its first request, and refuses the handshake, may require sign-in.
func TestSlowServerWithSignIn(t *testing.T) {
	t.Parallel()
	var discoveries atomic.Int32
	private := authorized(http.NotFoundHandler())
	web := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Mcp-Method") != "server/discover":
			w.WriteHeader(http.StatusBadRequest)
		case discoveries.Add(1) == 1:
			hanging().ServeHTTP(w, r)
		default:
			private.ServeHTTP(w, r)
		}
	}))
	s := remote(mcp.TransportHTTP, web.URL+"/mcp")
	s.Headers = nil
	p := start(t, newTestHost(t), s, mcp.Options{})
	eventually(t, "failed", func() bool { return p.Status().State == "failed" })
	if reason := p.Status().Reason; !strings.Contains(reason, "requires sign-in") {
		t.Errorf("reason = %q", reason)
	}
}

// Each message names its method in a header, even in the handshake, which a slow server of the stateless revision gets.
func TestMethodsInHeaders(t *testing.T) {
	t.Parallel()
	legacy := onlyLegacy(server.NewStreamableHTTPServer(realServer(), server.WithStateful(true)))
	var seen sync.Map
	web := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var m struct{ Method string }
		if err == nil && json.Unmarshal(body, &m) == nil && r.Header.Get("Mcp-Method") != m.Method {
			t.Errorf("header %q in the message %s", r.Header.Get("Mcp-Method"), body)
		}
		seen.Store(m.Method, true)
		r.Body = io.NopCloser(bytes.NewReader(body))
		legacy.ServeHTTP(w, r)
	}))
	ready(t, newTestHost(t), remote(mcp.TransportHTTP, web.URL+"/mcp"))
	for _, method := range []string{"server/discover", "initialize", "notifications/initialized", "tools/list"} {
		if _, ok := seen.Load(method); !ok {
			t.Errorf("the server did not get %s", method)
		}
	}
}

func TestNewToolsOverHTTP(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"stateless": func(h http.Handler) http.Handler { return h }, "legacy": onlyLegacy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := realServer()
			web := listen(t, wrap(server.NewStreamableHTTPServer(s, server.WithStateful(true))))
			p := ready(t, newTestHost(t), remote(mcp.TransportHTTP, web.URL+"/mcp"))
			eventually(t, "the new tool", func() bool {
				s.AddTool(mcpgo.NewTool("added"), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) { return nil, nil })
				return len(p.Status().Withheld) == 1 // the stream of news may open later than the tools are there
			})
			if w := p.Status().Withheld[0]; w.Name != "added" || !strings.Contains(w.Reason, "approve") {
				t.Errorf("withheld = %+v", w)
			}
		})
	}
}

func TestRefusedOverHTTP(t *testing.T) {
	t.Parallel()
	status := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "go away \x1b[31m", code) })
	}
	elsewhere := listen(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another origin got a request with the headers %v", r.Header)
	}))
	tests := map[string]struct {
		handler http.Handler
		headers map[string]string
		want    string
	}{
		"who are you":   {authorized(status(500)), map[string]string{}, "the server requires sign-in (HTTP status 401); put a token"},
		"wrong token":   {authorized(status(500)), map[string]string{"Authorization": "Bearer old"}, "refused the token"},
		"broken":        {status(500), nil, "HTTP status 500 (Internal Server Error): go away [31m"},
		"not there":     {status(404), nil, "no streamable HTTP or SSE endpoint"},
		"redirect":      {http.RedirectHandler(elsewhere.URL+"/mcp", http.StatusTemporaryRedirect), nil, "another origin"},
		"hangs":         {hanging(), nil, "did not"},
		"drips":         {dripping(), nil, "did not"},
		"endless":       {endless("application/json"), nil, "16 MiB"},
		"long header":   {challenging(100 << 10), nil, "headers exceeded"},
		"endless event": {endless("text/event-stream"), nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := remote(mcp.TransportHTTP, listen(t, test.handler).URL+"/mcp")
			if name == "hangs" || name == "drips" {
				s.Timeout = 2 * time.Second
			}
			if test.headers != nil {
				s.Headers = test.headers
			}
			p := start(t, newTestHost(t), s, mcp.Options{})
			if len(p.Tools()) != 0 {
				t.Error("there are tools")
			}
			eventually(t, "failed", func() bool { return p.Status().State == "failed" })
			if reason := p.Status().Reason; !strings.Contains(reason, test.want) {
				t.Errorf("reason = %q, want %q in it", reason, test.want)
			}
		})
	}
}

func hanging() http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
}

// challenging requires sign-in with a header of a length, which takes time to read.
func challenging(length int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", strings.Repeat("A ,", length/3))
		w.WriteHeader(http.StatusUnauthorized)
	})
}

func dripping() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	})
}

func endless(kind string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", kind)
		chunk := []byte(`"` + strings.Repeat("x", 1<<16))
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
			chunk = chunk[1:2:2]
			chunk = append(chunk, strings.Repeat("x", 1<<16)...)
		}
	})
}

// refusing is a server with sessions that answers a method with a status and a body, in which THIS is the ID of the request.
func refusing(s *sessions, method string, status int, kind, body string) http.Handler {
	s.refuse = http.NotFound
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var m fakeMessage
		if json.Unmarshal(raw, &m) == nil && m.Method == method {
			s.calls.Add(1)
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "THIS", string(m.ID)))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		s.ServeHTTP(w, r)
	})
}

// A call that is answered with the status 400 is not repeated, and its session continues, unless the answer says that it ended.
func TestBadRequest(t *testing.T) {
	t.Parallel()
	const jsonType = "application/json"
	for name, test := range map[string]struct{ kind, body, want string }{
		"the error of the call":                  {jsonType, `{"jsonrpc":"2.0","id":THIS,"error":{"code":-32602,"message":"no such thing"}}`, "no such thing"},
		"the error of the call, about a session": {jsonType, `{"jsonrpc":"2.0","id":"THIS","error":{"code":-32602,"message":"no such session"}}`, "no such session"},
		"the error of the call, without code":    {jsonType, `{"jsonrpc":"2.0","id":THIS,"error":{"message":"no such session"}}`, "no such session"},
		"the error of the call, with a text":     {jsonType, `{"jsonrpc":"2.0","id":THIS,"error":{"code":"E_NONE","message":"no such session"}}`, "no such session"},
		"an error without ID":                    {jsonType, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no such thing"}}`, "no such thing"},
		"an error with another ID":               {jsonType, `{"jsonrpc":"2.0","id":"x","error":{"code":-32602,"message":"no such thing"}}`, "no such thing"},
		"an error of no protocol":                {jsonType, `{"error":"row 7 is invalid"}`, "row 7 is invalid"},
		"another object":                         {jsonType, `{"detail":"row 7 is invalid"}`, `HTTP status 400 (Bad Request): {"detail":"row 7 is invalid"}`},
		"text":                                   {"text/plain", "row 7 is invalid", "HTTP status 400 (Bad Request): row 7 is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sessions{}
			p := ready(t, newTestHost(t), remote(mcp.TransportHTTP, listen(t, refusing(s, "tools/call", http.StatusBadRequest, test.kind, test.body)).URL))
			for i := range 2 {
				_, err := run(t.Context(), t, p, "far_count", "{}")
				if err == nil || !strings.Contains(err.Error(), test.want) || s.calls.Load() != int32(i+1) || s.inits.Load() != 1 {
					t.Errorf("%v after %d calls in %d sessions, want %q", err, s.calls.Load(), s.inits.Load(), test.want)
				}
			}
		})
	}
}

// A server that fails outside of the protocol gets a new session: it may have lost the old one.
func TestServerError(t *testing.T) {
	t.Parallel()
	s := &sessions{}
	p := ready(t, newTestHost(t), remote(mcp.TransportHTTP, listen(t, refusing(s, "tools/call", http.StatusInternalServerError, "application/json", `{"error":"oops"}`)).URL))
	for i := range 2 {
		_, err := run(t.Context(), t, p, "far_count", "{}")
		if err == nil || !strings.Contains(err.Error(), `HTTP status 500 (Internal Server Error): {"error":"oops"}`) || s.calls.Load() != int32(i+1) || s.inits.Load() != int32(i+1) {
			t.Errorf("%v after %d calls in %d sessions", err, s.calls.Load(), s.inits.Load())
		}
	}
}

// A server that refuses an optional request with the status 400 works. The refusal of the handshake is reported with its text.
func TestBadRequestAtStart(t *testing.T) {
	t.Parallel()
	s := &sessions{capabilities: `{"tools":{},"logging":{}}`}
	p := ready(t, newTestHost(t), remote(mcp.TransportHTTP, listen(t, refusing(s, "logging/setLevel", http.StatusBadRequest, "text/plain", "unknown method")).URL))
	if n := s.calls.Load(); n != 1 {
		t.Errorf("the level was set %d times", n)
	}
	mustRun(t, p, "far_count", "{}")
	if n := s.inits.Load(); n != 1 {
		t.Errorf("%d sessions", n)
	}
	for method, answer := range map[string][2]string{
		"notifications/initialized": {"text/plain", "tenant is not set up"},
		"initialize":                {"application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"tenant is not set up"}}`},
	} {
		web := listen(t, refusing(&sessions{}, method, http.StatusBadRequest, answer[0], answer[1]))
		p = begin(t, newTestHost(t), remote(mcp.TransportHTTP, web.URL), mcp.Options{})
		if reason := p.Status().Reason; !strings.Contains(reason, "no streamable HTTP or SSE endpoint") || !strings.Contains(reason, "tenant is not set up") {
			t.Errorf("%s: reason = %q", method, reason)
		}
	}
}

// answering returns a server that answers calls with a body, in which THIS is the ID of the request and OTHER the next one.
func answering(kind, body string) http.Handler {
	s := &sessions{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var m struct {
			ID     int64
			Method string
		}
		if json.Unmarshal(raw, &m) == nil && m.Method == "tools/call" {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, strings.NewReplacer("THIS", fmt.Sprint(m.ID), "OTHER", fmt.Sprint(m.ID+1)).Replace(body))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		s.ServeHTTP(w, r)
	})
}

// The answer to a call is the message with its ID.
func TestAnswersOfOtherRequests(t *testing.T) {
	t.Parallel()
	const jsonType, events = "application/json", "text/event-stream"
	answer := func(id, text string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"` + text + `"}]}}`
	}
	for name, test := range map[string]struct{ kind, body, want, fails string }{
		"no event":             {events, "", "", "the server ended its answer before it was complete$"},
		"another":              {jsonType, answer("OTHER", "wrong"), "", "it does not answer the request"},
		"another event":        {events, "data: " + answer("OTHER", "wrong") + "\n\n", "", "before it was complete"},
		"another event before": {events, "data: " + answer("OTHER", "wrong") + "\n\ndata: " + answer("THIS", "right") + "\n\n", "right", ""},
		"in a batch":           {jsonType, "[" + answer("THIS", "right") + "," + answer("OTHER", "wrong") + "]", "right", ""},
		"a string":             {jsonType, answer(`"THIS"`, "right"), "right", ""},
		"an error without ID":  {jsonType, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"cannot read it"}}`, "", "cannot read it"},
		"a result without ID":  {jsonType, answer("null", "wrong"), "", "it does not answer the request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := ready(t, newTestHost(t), remote(mcp.TransportHTTP, listen(t, answering(test.kind, test.body)).URL))
			r, err := run(t.Context(), t, p, "far_count", "{}")
			switch {
			case test.fails == "" && (err != nil || r.Output != test.want):
				t.Errorf("count = %v, %v; want %q", r, err, test.want)
			case test.fails != "" && (err == nil || !strings.Contains(err.Error()+"$", test.fails)):
				t.Errorf("count = %v, %v; want the error %q", r, err, test.fails)
			}
		})
	}
}

// The user's headers stay with the server's origin, even if the server names another address for messages.
func TestMessagesElsewhere(t *testing.T) {
	t.Parallel()
	elsewhere := listen(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("received %s, headers %v", r.URL, r.Header) }))
	server := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: note\ndata: x\n\nevent: endpoint\ndata: %s/messages\n\n", elsewhere.URL)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	_, err := mcp.Probe(t.Context(), remote(mcp.TransportSSE, server.URL), newTestHost(t).project, mcp.Options{Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "the url") {
		t.Errorf("error = %v, want one about the address", err)
	}
}

// oldServer is a hand-made server over the transport from before streamable HTTP, which requests the roots before it answers a call.
type oldServer struct {
	events chan string
	roots  chan json.RawMessage
}

func (s *oldServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": hello\nevent: endpoint\ndata: /messages?session=1\n\n")
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case event := <-s.events:
				// In two lines, as the format allows it.
				at := strings.Index(event, `"jsonrpc"`)
				fmt.Fprintf(w, "data: %s\r\ndata: %s\r\n\r\n", event[:at], event[at:])
			case <-r.Context().Done():
				return
			}
		}
	}
	var m fakeMessage
	if r.URL.RequestURI() != "/messages?session=1" || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	answer := func(result string) { s.events <- fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s","result":%s}`, m.ID, result) } // a text, as of some servers
	switch m.Method {
	case "":
		s.roots <- m.Result
	case "initialize":
		answer(`{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`)
	case "tools/list":
		answer(`{"tools":[{"name":"roots","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		go func() { // ends with the answer to the question
			s.events <- `{"id":"q1","jsonrpc":"2.0","method":"roots/list"}`
			quoted, _ := json.Marshal(string(<-s.roots))
			answer(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
		}()
	}
}

func TestQuestionsOverSSE(t *testing.T) {
	t.Parallel()
	s := &oldServer{events: make(chan string, 8), roots: make(chan json.RawMessage, 8)}
	h := newTestHost(t)
	p := ready(t, h, remote(mcp.TransportSSE, listen(t, s).URL))
	if got := mustRun(t, p, "far_roots", "{}").Output; !strings.Contains(got, "file://") || !strings.Contains(got, h.project.Worktree) {
		t.Errorf("the server was told the roots %s, want %s", got, h.project.Worktree)
	}
}

// resuming is a hand-made server that ends its answer to a call early and sends the rest on request.
type resuming struct {
	sessions
	breaks bool // the connection breaks instead
}

func (s *resuming) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if last := r.Header.Get("Last-Event-Id"); r.Method == http.MethodGet && last != "" {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"the rest\"}]}}\n\n", strings.TrimPrefix(last, "event-"))
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m fakeMessage
	if json.Unmarshal(body, &m) == nil && m.Method == "tools/call" {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		fmt.Fprintf(w, "retry: 1\nid: event-%s\n\n", m.ID)
		if s.breaks {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	s.sessions.ServeHTTP(w, r)
}

// An answer that the server ends on purpose, or that a proxy breaks off, is resumed where it ended, see SEP-1699.
func TestAnswerInParts(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]bool{"ends": false, "breaks": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := ready(t, newTestHost(t), remote(mcp.TransportHTTP, listen(t, &resuming{breaks: breaks}).URL))
			if got := mustRun(t, p, "far_count", "{}").Output; got != "the rest" {
				t.Errorf("count = %q", got)
			}
		})
	}
}

// A notification has no answer, but some servers open a stream for it. Nothing waits for its end.
func TestStreamForNotification(t *testing.T) {
	t.Parallel()
	s := &sessions{}
	p := ready(t, newTestHost(t), remote(mcp.TransportHTTP, listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m fakeMessage
		if json.Unmarshal(body, &m) == nil && m.Method != "" && m.ID == nil {
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.ServeHTTP(w, r)
	})).URL))
	if got := mustRun(t, p, "far_count", "{}").Output; got != "counted" {
		t.Errorf("count = %q", got)
	}
}

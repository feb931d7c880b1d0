package openai_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/providers/openai"
	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/sdk"
)

// TestMisbehavingServers tests everything that a server can do wrong, over HTTP.
func TestMisbehavingServers(t *testing.T) {
	t.Parallel()
	hasty := sdk.Object{"timeout": 1000.0} // with less, a busy machine also exceeds the time between two events
	for _, protocol := range []string{openai.ProtocolChat, openai.ProtocolResponses} {
		cases := map[string]struct {
			reply   fakellm.Reply
			options sdk.Object
			status  int
			cut     bool
			message string // what the message contains
			events  int    // that came before the error
		}{
			"429":                  {reply: fakellm.Error(429, "rate_limit_exceeded", "Rate limit reached").Header("Retry-After", "3"), status: 429, message: "Rate limit reached"},
			"500 plain":            {reply: fakellm.Status(500, "upstream fell over"), status: 500, message: "upstream fell over"},
			"502 page":             {reply: fakellm.Status(502, "<html>Bad Gateway</html>"), status: 502, message: "bad gateway; the answer is a web page"},
			"529 page":             {reply: fakellm.Status(529, "<html>Overloaded</html>"), status: 529, message: "the server gave no reason; the answer is a web page"},
			"401 empty":            {reply: fakellm.Status(401, ""), status: 401, message: "unauthorized"},
			"404":                  {reply: fakellm.Error(404, "model_not_found", "no such model"), status: 404, message: "no such model"},
			"404 of an address":    {reply: fakellm.Status(404, "404 page not found"), status: 404, message: "404 page not found; the address of the request was http://127.0.0.1:"},
			"redirect to nowhere":  {reply: fakellm.Status(304, ""), status: 304, message: "not modified"},
			"html":                 {reply: fakellm.Status(200, "<!DOCTYPE html>\n<html><body>Sign in</body></html>\n").Header("Content-Type", "text/html"), status: 200, message: "baseURL"},
			"empty":                {reply: fakellm.Status(200, "").Header("Content-Type", "text/event-stream"), status: 200, cut: true, message: "empty"},
			"garbage":              {reply: fakellm.Raw("\x00\x01\xff\xfe\r\rnot: an\x00event\n\n\x7f\n"), status: 200, cut: true, message: "broke off"},
			"garbage json":         {reply: fakellm.Raw("data: {\"choices\":[{\"delta\":{\"con\n\ndata: }}}\n\n"), status: 200, cut: true, message: "unexpected end of JSON input"},
			"list":                 {reply: fakellm.Raw("data: [1]\n\n"), status: 200, cut: true, message: `"[1]": invalid data: want an object`},
			"cut":                  {reply: begun(protocol, "a", "b").Cut(), status: 200, cut: true, message: "broke off", events: 2},
			"cut within an event":  {reply: begun(protocol, "a").Raw("data: {\"cho").Cut(), status: 200, cut: true, message: "broke off", events: 1},
			"end without finish":   {reply: begun(protocol, "a").Finish(fakellm.NoFinish), status: 200, cut: true, message: "broke off", events: 1},
			"stall":                {reply: begun(protocol, "a").Stall(), options: hasty, status: 200, cut: true, message: "nothing more for 1s", events: 1},
			"never":                {reply: fakellm.Never(), options: hasty, message: "did not answer within 1s"},
			"header timeout":       {reply: fakellm.Never(), options: sdk.Object{"timeout": false, "headerTimeout": 1000.0}, message: "did not answer"},
			"chunk timeout":        {reply: begun(protocol, "a").Stall(), options: sdk.Object{"timeout": false, "chunkTimeout": 1000.0}, status: 200, cut: true, message: "nothing more", events: 1},
			"error in the stream":  {reply: begun(protocol, "a").Raw(`data: {"error":{"message":"it broke","code":"server_error"}}` + "\n\n"), status: 200, message: "it broke", events: 1},
			"error with a status":  {reply: fakellm.Raw(`data: {"error":{"message":"slow down","code":429}}` + "\n\n"), status: 429, message: "slow down"},
			"error as a document":  {reply: fakellm.Status(200, `{"error":{"message":"no","code":"nope"}}`), status: 200, message: "no"},
			"detail as a document": {reply: fakellm.Status(200, `{"detail":"not here"}`), status: 200, message: "not here"},
			"half a document":      {reply: fakellm.Status(200, `{"choices":[{"mess`), status: 200, cut: true, message: "malformed"},
			"another format":       {reply: fakellm.Raw(`data: {"type":"response.output_text.delta","delta":5,"choices":[{"index":"0"}]}` + "\n\n"), status: 200, message: "is not in the format of the provider"},
		}
		for name, c := range cases {
			t.Run(name+"/"+protocol, func(t *testing.T) {
				t.Parallel()
				srv := fakellm.New(t, c.reply)
				events, err := ask(t, open(t, protocol, sdk.ProviderInfo{BaseURL: srv.URL(), Options: c.options}), nil)
				var got *sdk.ProviderError
				if !errors.As(err, &got) {
					t.Fatalf("error %v, want a *sdk.ProviderError", err)
				}
				if got.StatusCode != c.status || got.Cut != c.cut || !strings.Contains(got.Message, c.message) || got.ProviderID != "test" {
					t.Errorf("status %d, cut %v, message %q; want %d, %v, %q", got.StatusCode, got.Cut, got.Message, c.status, c.cut, c.message)
				}
				if len(events) != c.events {
					t.Errorf("%d events before the error, want %d", len(events), c.events)
				}
				if strings.Contains(name, "timeout") && !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%v is not a timeout", err)
				}
			})
		}
	}
}

// TestErrorsInAStream tests errors in other forms than OpenAI's, after the beginning of an answer. The message of each is the server's.
func TestErrorsInAStream(t *testing.T) {
	t.Parallel()
	begun := map[string]string{
		openai.ProtocolChat:      delta(`"content":"x"`),
		openai.ProtocolResponses: `data: {"type":"response.output_text.delta","delta":"x"}` + "\n\n",
	}
	both := []string{openai.ProtocolChat, openai.ProtocolResponses}
	for name, c := range map[string]struct {
		stream    string
		protocols []string
		status    int
		message   string
	}{
		"vllm":            {`data: {"object":"error","message":"it broke","type":"BadRequestError","param":null,"code":400}`, both[:1], 400, "it broke"},
		"fastapi":         {`data: {"detail":"it broke"}`, both[:1], 200, "it broke"},
		"choice":          {`data: {"choices":[{"index":0,"delta":{"content":""},"error":{"code":402,"message":"it broke"}}]}`, both[:1], 402, "it broke"},
		"groq":            {`data: {"choices":[],"x_groq":{"error":"it broke"}}`, both[:1], 200, "it broke"},
		"text code":       {`data: {"error":{"message":"it broke","type":"None","code":"503"}}`, both, 503, "it broke"},
		"event":           {"event: error\n" + `data: {"message":"it broke","code":429}`, both, 429, "it broke"},
		"event of a text": {"event: error\ndata: it broke", both, 200, "it broke"},
		"no reason":       {`data: {"error":{"code":500}}`, both, 500, "the server gave no reason"},
		"failed":          {`data: {"type":"response.failed","response":{"status":"failed","error":null}}`, both[1:], 200, "the server gave no reason"},
		"failed, done":    {`data: {"type":"response.completed","response":{"status":"failed"}}`, both[1:], 200, "the server gave no reason"},
	} {
		for _, protocol := range c.protocols {
			_, err := openai.Decode(protocol, []byte(begun[protocol]+c.stream+"\n\n"+chatDone))
			var got *sdk.ProviderError
			if !errors.As(err, &got) || got.StatusCode != c.status || got.Message != c.message || got.Cut {
				t.Errorf("%s, %s: error %+v, want status %d, %q", name, protocol, got, c.status, c.message)
			}
		}
	}
}

// A server may compress, because a request that names no coding accepts all.
func TestCompressedAnswers(t *testing.T) {
	t.Parallel()
	pack := func(text string) string {
		var b strings.Builder
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, text) // to memory
		_ = z.Close()
		return b.String()
	}
	answer := pack(`data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}` + "\n\n")
	for name, c := range map[string]struct {
		status          int
		body, want, err string
	}{
		"stream":  {200, answer, "x", ""},
		"cut":     {200, answer[:20], "", "broke off"},
		"no gzip": {200, "data: {}\n\n", "", "gzip"},
		"bomb":    {200, pack("data: " + strings.Repeat("x", 8<<20)), "", "too large"},
		"error":   {400, pack(`{"error":{"message":"no such thing"}}`), "", "no such thing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer srv.Close()
			events, err := ask(t, open(t, openai.ProtocolChat, sdk.ProviderInfo{BaseURL: srv.URL}), nil)
			switch {
			case c.err == "" && (err != nil || len(events) == 0 || events[0].Text != c.want):
				t.Errorf("%+v, %v", events, err)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("error %v, want one with %q", err, c.err)
			}
		})
	}
}

func TestErrorsKeepHeadersBodyAndCode(t *testing.T) {
	t.Parallel()
	for name, reply := range fakellm.Overflows() {
		srv := fakellm.New(t, reply.Header("X-Request-Id", "r1"))
		_, err := ask(t, open(t, openai.ProtocolChat, sdk.ProviderInfo{BaseURL: srv.URL()}), nil)
		var got *sdk.ProviderError
		if !errors.As(err, &got) {
			t.Fatalf("%s: error %v", name, err)
		}
		if got.Headers["x-request-id"] != "r1" || got.Body == "" || len(got.Message) < 10 || strings.HasPrefix(got.Message, "{") {
			t.Errorf("%s: %+v", name, got)
		}
		if name == "openai" && got.Code != "context_length_exceeded" {
			t.Errorf("code %q", got.Code)
		}
	}
}

// TestConnectionErrorsAreClear tests failures before there is an answer.
func TestConnectionErrorsAreClear(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := listener.Addr().String()
	_ = listener.Close()
	tlsServer := httptest.NewUnstartedServer(http.NotFoundHandler())
	tlsServer.Config.ErrorLog = nil
	tlsServer.StartTLS()
	t.Cleanup(tlsServer.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	cases := map[string]struct{ url, want string }{
		"refused":     {"http://" + refused + "/v1", "is the server running"},
		"certificate": {tlsServer.URL + "/v1", "certificate"},
		"no tls":      {strings.Replace(plain.URL, "http:", "https:", 1) + "/v1", "does not support TLS"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ask(t, open(t, openai.ProtocolChat, sdk.ProviderInfo{BaseURL: c.url}), nil)
			var got *sdk.ProviderError
			if !errors.As(err, &got) || got.StatusCode != 0 || got.Cut || !strings.Contains(got.Message, c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestSecretsStayOutOfErrors has a server that repeats everything it was sent.
func TestSecretsStayOutOfErrors(t *testing.T) {
	t.Parallel()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := fmt.Sprintf("%v %s", r.Header, r.URL)
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, strings.ReplaceAll(`{"error":{"message":"MSG"}}`, "MSG", strings.ReplaceAll(said, `"`, "")))
	}))
	t.Cleanup(echo.Close)
	info := sdk.ProviderInfo{
		BaseURL: strings.Replace(echo.URL, "://", "://user:hunter22@", 1) + "/v1?sig=query-secret",
		Key:     "sk-very-secret", Headers: map[string]string{"X-Api-Key": "other-secret", "X-Title": "shown"},
	}
	check := func(err error) {
		t.Helper()
		var got *sdk.ProviderError
		if !errors.As(err, &got) {
			t.Fatalf("error %v", err)
		}
		all := fmt.Sprintf("%v %+v %v", err, *got, got.Err)
		for _, secret := range []string{"sk-very-secret", "other-secret", "hunter22", "query-secret"} {
			if strings.Contains(all, secret) {
				t.Errorf("%q is in the error: %s", secret, all)
			}
		}
		if got.StatusCode == 401 && !strings.Contains(all, "shown") {
			t.Errorf("the error lost public text: %s", all)
		}
	}
	for _, protocol := range []string{openai.ProtocolChat, openai.ProtocolResponses} {
		client := open(t, protocol, info)
		_, err := ask(t, client, nil)
		check(err)
		_, err = client.(sdk.ModelLister).ListModels(t.Context())
		check(err)
	}
	echo.Close()
	_, err := ask(t, open(t, openai.ProtocolChat, info), nil)
	check(err)
}

// TestNothingLeaksFromTheEnvironment is not parallel: it sets variables.
func TestNothingLeaksFromTheEnvironment(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(name, "leak")
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/leak")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: leak")
	srv := fakellm.New(t, fakellm.Text("a"), fakellm.Raw(responsesAnswer))
	for _, protocol := range []string{openai.ProtocolChat, openai.ProtocolResponses} {
		if _, err := ask(t, open(t, protocol, sdk.ProviderInfo{BaseURL: srv.URL()}), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, req := range srv.Requests() {
		if got := fmt.Sprint(req.Header); strings.Contains(got, "leak") || req.Header.Get("Authorization") != "" || strings.Contains(got, "Stainless") {
			t.Errorf("headers %s", got)
		}
	}
}

func TestHeadersAndQuery(t *testing.T) {
	t.Parallel()
	var got *http.Request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)
	}))
	t.Cleanup(srv.Close)
	client := open(t, openai.ProtocolChat, sdk.ProviderInfo{
		BaseURL: srv.URL + "/api/v1?api-version=2", Key: "k1",
		Headers: map[string]string{"X-A": "provider", "X-B": "provider", "X-C": "provider", "X-D": "A", "x-d": "a", "X-d": "B"},
		Options: sdk.Object{"organization": "org-1", "project": "prj-1"},
	})
	req := hello()
	req.Model.Headers = map[string]string{"X-B": "model", "X-C": "model"}
	req.Headers = map[string]string{"X-C": "request"}
	if _, err := ask(t, client, req); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, name := range []string{"Authorization", "X-A", "X-B", "X-C", "X-D", "User-Agent", "Accept", "Content-Type", "OpenAI-Organization", "OpenAI-Project"} {
		values[name] = got.Header.Get(name)
	}
	values["url"] = got.URL.String()
	want := map[string]string{
		"Authorization": "Bearer k1", "X-A": "provider", "X-B": "model", "X-C": "request", "X-D": "a", "User-Agent": "tenon",
		"Accept": "text/event-stream", "Content-Type": "application/json", "url": "/api/v1/chat/completions?api-version=2",
		"OpenAI-Organization": "org-1", "OpenAI-Project": "prj-1",
	}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Error(diff)
	}
	open2 := open(t, openai.ProtocolChat, sdk.ProviderInfo{BaseURL: srv.URL, Key: "k1", Headers: map[string]string{"Authorization": "Basic abc"}})
	if _, err := ask(t, open2, nil); err != nil || got.Header.Get("Authorization") != "Basic abc" {
		t.Errorf("authorization %q, error %v; a configured header wins over the key", got.Header.Get("Authorization"), err)
	}
}

func TestCallerEndsTheStream(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	for _, protocol := range []string{openai.ProtocolChat, openai.ProtocolResponses} {
		srv := fakellm.New(t, begun(protocol, "a").Stall(), begun(protocol, "a").Stall(), fakellm.Never())
		client := open(t, protocol, sdk.ProviderInfo{BaseURL: srv.URL()})
		if err := client.Stream(t.Context(), hello(), func(sdk.StreamEvent) error { return mine }); !errors.Is(err, mine) {
			t.Errorf("%s: error %v, want the receiver's", protocol, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err := client.Stream(ctx, hello(), func(sdk.StreamEvent) error { cancel(); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want %v", protocol, err, context.Canceled)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := client.Stream(ctx, hello(), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: error %v, want %v", protocol, err, context.DeadlineExceeded)
		}
		cancel()
	}
}

// TestFinishedAnswerDoesNotWaitForASlowEnd has a server that never closes the stream.
func TestFinishedAnswerDoesNotWaitForASlowEnd(t *testing.T) {
	t.Parallel()
	ended := strings.TrimSuffix(finish("stop"), "}\n\n") + `,"usage":{"prompt_tokens":1,"completion_tokens":1}}` + "\n\n"
	for name, raw := range map[string]string{
		"after finish": delta(`"content":"a"`) + ended,
		"after done":   delta(`"content":"a"`) + finish("stop") + chatDone,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakellm.New(t, fakellm.Raw(raw).Stall())
			start := time.Now()
			if _, err := ask(t, open(t, openai.ProtocolChat, sdk.ProviderInfo{BaseURL: srv.URL()}), nil); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	var opened int
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, delta(`"content":"x"`)+finish("stop")+chatDone)
	}))
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened++
		}
	}
	srv.Start()
	client := open(t, openai.ProtocolChat, sdk.ProviderInfo{BaseURL: srv.URL})
	for range 5 {
		if _, err := ask(t, client, nil); err != nil {
			t.Fatal(err)
		}
	}
	srv.Close() // waits for the handlers, so opened is safe to read
	if opened != 1 {
		t.Errorf("%d connections for five requests, want 1", opened)
	}
}

func TestEndlessAnswerEnds(t *testing.T) {
	t.Parallel()
	srv := fakellm.New(t, fakellm.Raw(": "+strings.Repeat("x", 1<<20)+"\n").Text(strings.Repeat("y", 1<<20)).Endless())
	n := 0
	err := open(t, openai.ProtocolChat, sdk.ProviderInfo{BaseURL: srv.URL()}).Stream(t.Context(), hello(), func(ev sdk.StreamEvent) error {
		n += len(ev.Text)
		return nil
	})
	if !errors.Is(err, sdk.ErrAnswerLimit) || n > 300<<20 {
		t.Errorf("error %v after %d bytes", err, n)
	}
}

// A redirect is followed within the server's origin, with the request as it was, and nowhere else.
func TestRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another origin got a request with the headers %v", r.Header)
	}))
	defer elsewhere.Close()
	models := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/models":
			http.Redirect(w, r, "/v2/models", http.StatusTemporaryRedirect)
		case r.URL.Path == "/v2/models" && r.Header.Get("Authorization") == "Bearer sk-test":
			_, _ = io.WriteString(w, `{"data":[{"id":"one"}]}`)
		case r.URL.Path == "/far/models":
			http.Redirect(w, r, elsewhere.URL+"/v1/models", http.StatusTemporaryRedirect)
		case r.URL.Path == "/loop/models":
			http.Redirect(w, r, "/loop/models", http.StatusFound)
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	}
	srv := httptest.NewServer(http.HandlerFunc(models))
	defer srv.Close()
	for path, want := range map[string]string{"/v1": "", "/far": "another origin, " + elsewhere.URL, "/loop": "redirected 10 times"} {
		client := open(t, openai.ProtocolChat, sdk.ProviderInfo{BaseURL: srv.URL + path, Key: "sk-test"})
		list, err := client.(sdk.ModelLister).ListModels(t.Context())
		switch {
		case want == "" && (err != nil || len(list) != 1 || list[0].ID != "one"):
			t.Errorf("%s: %v, %v; want one model", path, list, err)
		case want != "":
			var got *sdk.ProviderError
			if !errors.As(err, &got) || !strings.Contains(got.Message, want) || got.StatusCode/100 != 3 {
				t.Errorf("%s: error %v, want %q and the status of the redirect in it", path, err, want)
			}
		}
	}
}

// The configuration decides the address of a request, and its headers in the order in which they replace each other.
func TestAddressAndHeaders(t *testing.T) {
	t.Parallel()
	var got *http.Request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.WithoutCancel(r.Context()))
		w.WriteHeader(http.StatusTeapot)
	}))
	defer srv.Close()
	tests := map[string]struct {
		info    sdk.ProviderInfo
		request map[string]string
		uri     string
		headers map[string]string
	}{
		"key":         {sdk.ProviderInfo{BaseURL: srv.URL, Key: "k1"}, nil, "/chat/completions", map[string]string{"Authorization": "Bearer k1", "Content-Type": "application/json", "Accept": "text/event-stream", "User-Agent": "tenon"}},
		"no key":      {sdk.ProviderInfo{BaseURL: srv.URL + "/v1"}, nil, "/v1/chat/completions", map[string]string{"Authorization": ""}},
		"query":       {sdk.ProviderInfo{BaseURL: srv.URL + "/a%2Fb/?api-version=1&x=a%20b"}, nil, "/a%2Fb/chat/completions?api-version=1&x=a%20b", nil},
		"own headers": {sdk.ProviderInfo{BaseURL: srv.URL, Key: "k1", Headers: map[string]string{"authorization": "Basic x", "x-a": "1", "x-b": "1"}}, map[string]string{"X-A": "2"}, "/chat/completions", map[string]string{"Authorization": "Basic x", "X-A": "2", "X-B": "1"}},
	}
	for name, test := range tests {
		req := hello()
		req.Headers = test.request
		if _, err := ask(t, open(t, openai.ProtocolChat, test.info), req); err == nil {
			t.Errorf("%s: no error", name)
		}
		if got.RequestURI != test.uri {
			t.Errorf("%s: asked for %s, want %s", name, got.RequestURI, test.uri)
		}
		for header, want := range test.headers {
			if v := got.Header.Get(header); v != want {
				t.Errorf("%s: header %s = %q, want %q", name, header, v, want)
			}
		}
		for header := range got.Header {
			if strings.HasPrefix(header, "X-Stainless") {
				t.Errorf("%s: header %s tells of this machine", name, header)
			}
		}
	}
}

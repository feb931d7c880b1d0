package ability_test

import (
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// echo answers with the request as it came.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s %s %s\n", r.Method, r.Host, r.RequestURI, r.Proto)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&text, "%s: %s\n", name, strings.Join(r.Header[name], "|"))
	}
	w.Header().Add("X-Two", "1")
	w.Header().Add("X-Two", "2")
	w.WriteHeader(http.StatusTeapot)
	_, _ = fmt.Fprintf(w, "%s%s", &text, body)
}

func fetch(tb testing.TB, b *ability.Broker, req sdk.FetchRequest) (*sdk.FetchResponse, guest.Status, string) {
	tb.Helper()
	status, text := do(tb, b, "http", marshal(tb, req))
	if status != guest.StatusOK {
		return &sdk.FetchResponse{}, status, text
	}
	var resp sdk.FetchResponse
	if err := json.Unmarshal([]byte(text), &resp); err != nil {
		tb.Fatal(err)
	}
	return &resp, status, ""
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	b, n := httpBroker(t, "http://api.example:8080")
	n.serve(publicAddr+":8080", echo)
	resp, status, text := fetch(t, b, sdk.FetchRequest{
		Method: "POST", URL: "http://API.example.:8080/a%20b?q=1#top", Headers: map[string]string{"x-key": "k", "Content-Type": "text/plain"}, Body: sdk.Bytes("\xff\x00"),
	})
	want := "POST api.example:8080 /a%20b?q=1 HTTP/1.1\nAccept-Encoding: gzip\nConnection: close\nContent-Length: 2\nContent-Type: text/plain\nUser-Agent: tenon\nX-Key: k\n\xff\x00"
	if status != guest.StatusOK || resp.Status != http.StatusTeapot || resp.Headers["x-two"] != "1, 2" || string(resp.Body) != want {
		t.Errorf("answer %v %s, headers %v, body\n%s\nwant\n%s", status, text, resp.Headers, resp.Body, want)
	}
	if len(n.lookups) != 1 || n.lookups[0] != "api.example" {
		t.Errorf("looked up %v", n.lookups)
	}
}

func TestHTTPBadRequests(t *testing.T) {
	t.Parallel()
	b, n := httpBroker(t, "http://allowed.example")
	n.serve(publicAddr+":80", hello)
	header := func(name, value string) sdk.FetchRequest {
		return sdk.FetchRequest{URL: "http://allowed.example/", Headers: map[string]string{name: value}}
	}
	method := func(m string) sdk.FetchRequest { return sdk.FetchRequest{URL: "http://allowed.example/", Method: m} }
	for name, c := range map[string]struct {
		req  sdk.FetchRequest
		text string
	}{
		"CRLF in a value":     {header("X-A", "1\r\nHost: evil.example"), "line break"},
		"LF in a value":       {header("X-A", "1\n"), "line break"},
		"NUL in a value":      {header("X-A", "1\x00"), "control character"},
		"CRLF in a name":      {header("X-A: 1\r\nHost", "evil.example"), "not allowed"},
		"space in a name":     {header("X A", "1"), "not allowed"},
		"colon in a name":     {header("X-A:", "1"), "not allowed"},
		"empty name":          {header("", "1"), "not allowed"},
		"Host":                {header("hOsT", "evil.example"), "set by tenon"},
		"Connection":          {header("connection", "X-Secret"), "set by tenon"},
		"Transfer-Encoding":   {header("Transfer-Encoding", "chunked"), "set by tenon"},
		"Content-Length":      {header("Content-Length", "0"), "set by tenon"},
		"Upgrade":             {header("Upgrade", "websocket"), "set by tenon"},
		"Proxy-Authorization": {header("Proxy-Authorization", "x"), "set by tenon"},
		"Proxy-Connection":    {header("Proxy-Connection", "x"), "set by tenon"},
		"Expect":              {header("Expect", "100-continue"), "set by tenon"},
		"CRLF in the method":  {method("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\nGET"), "method"},
		"space in the method": {method("GET /x"), "method"},
		"CONNECT":             {method("CONNECT"), "method"},
		"TRACE":               {method("TRACE"), "method"},
		"a name twice":        {sdk.FetchRequest{URL: "http://allowed.example/", Headers: map[string]string{"x-a": "1", "X-A": "2"}}, "duplicate header"},
	} {
		if _, status, text := fetch(t, b, c.req); status != guest.StatusFailed || !strings.Contains(text, c.text) {
			t.Errorf("%s = %v %s, want failed with %q", name, status, text, c.text)
		}
	}
	if _, status, text := fetch(t, b, header("X-A", strings.Repeat("x", 70_000))); status != guest.StatusLimited {
		t.Errorf("large headers = %v %s, want limited", status, text)
	}
	if len(n.reached()) != 0 {
		t.Errorf("a bad request reached %v", n.reached())
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code   int
		target string
		method string // of the last request
		keeps  bool   // the headers of the plugin's own
	}{
		"within the origin":       {http.StatusFound, "/end", "GET", true},
		"within the origin, 307":  {http.StatusTemporaryRedirect, "http://a.example:80/end", "POST", true},
		"to another granted host": {http.StatusTemporaryRedirect, "http://b.a.example/end", "POST", false},
		"to another port":         {http.StatusPermanentRedirect, "http://a.example:8080/end", "POST", false},
		"to another one and back": {http.StatusTemporaryRedirect, "http://b.a.example/back", "POST", false},
		"after a 303":             {http.StatusSeeOther, "http://a.example/end", "GET", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, n := httpBroker(t, "http://a.example", "http://*.a.example", "http://a.example:8080")
			serve := func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/start":
					http.Redirect(w, r, c.target, c.code)
				case "/back":
					http.Redirect(w, r, "http://a.example/end", c.code)
				default:
					echo(w, r)
				}
			}
			n.serve(publicAddr+":80", serve)
			n.serve(publicAddr+":8080", serve)
			resp, status, text := fetch(t, b, sdk.FetchRequest{
				Method: "POST", URL: "http://a.example/start?token=t0ken", Body: sdk.Bytes("data"),
				Headers: map[string]string{"Authorization": "s3cret", "Cookie": "s3cret", "X-Api-Key": "s3cret", "Accept": "text/x"},
			})
			got := string(resp.Body)
			if status != guest.StatusOK || !strings.HasPrefix(got, c.method+" ") || !strings.Contains(got, "Accept: text/x") {
				t.Fatalf("%v %s\n%s", status, text, got)
			}
			if n := strings.Count(got, "s3cret"); n != 0 && !c.keeps || n != 3 && c.keeps {
				t.Errorf("%d of the plugin's headers went along, want all: %v\n%s", n, c.keeps, got)
			}
			if strings.Contains(got, "Referer") || strings.Contains(got, "t0ken") {
				t.Errorf("the query went along:\n%s", got)
			}
		})
	}
}

func TestNoCookiesAreKept(t *testing.T) {
	t.Parallel()
	b, n := httpBroker(t, "http://a.example")
	n.serve(publicAddr+":80", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
		echo(w, r)
	})
	for range 2 {
		if resp, status, text := fetch(t, b, sdk.FetchRequest{URL: "http://a.example/"}); status != guest.StatusOK || strings.Contains(string(resp.Body), "Cookie") {
			t.Errorf("%v %s\n%s", status, text, resp.Body)
		}
	}
}

// Not parallel: it sets the environment.
func TestEscapeProxyEnvironment(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	b, n := httpBroker(t, "http://a.example")
	n.serve(publicAddr+":80", hello)
	if _, status, text := fetch(t, b, sdk.FetchRequest{URL: "http://a.example/"}); status != guest.StatusOK {
		t.Errorf("%v %s", status, text)
	}
}

// Answers that do not end, or not at the size they say.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	const size = 10_000
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(make([]byte, 5_000_000)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		serve  http.HandlerFunc
		status guest.Status
		text   string
	}{
		"just small enough": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) }, guest.StatusOK, ""},
		"too large":         {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size+1)) }, guest.StatusLimited, "more than 10000 bytes"},
		"endless body": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 1000))
			}
		}, guest.StatusLimited, "more than 10000 bytes"},
		"gzip bomb": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		}, guest.StatusLimited, "more than 10000 bytes"},
		"slow drip": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, guest.StatusFailed, "no complete answer within"},
		"no answer": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, guest.StatusFailed, "no complete answer within"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("x"))
		}, guest.StatusFailed, "broke off after 1 bytes"},
		"endless headers": {raw(func(c net.Conn) {
			_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for err == nil {
				_, err = io.WriteString(c, "X-Header: "+strings.Repeat("x", 1000)+"\r\n")
			}
		}), guest.StatusFailed, "header"},
		"one endless header": {raw(func(c net.Conn) {
			_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nX-Header: ")
			for err == nil {
				_, err = io.WriteString(c, strings.Repeat("x", 1000))
			}
		}), guest.StatusFailed, "header"},
		"no HTTP":        {raw(func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n") }), guest.StatusFailed, "malformed"},
		"closes at once": {raw(func(net.Conn) {}), guest.StatusFailed, "EOF"},
		"switches protocol": {raw(func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 101 x\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nraw")
		}), guest.StatusOK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t, ability.Options{Grants: []sdk.Capability{grant("http", "http://a.example")}, Limits: ability.Limits{HTTPBytes: size}})
			n := newInternet(t, b)
			n.serve(publicAddr+":80", c.serve)
			req := sdk.FetchRequest{URL: "http://a.example/"}
			if c.text == "no complete answer within" {
				req.TimeoutMS = 100
			}
			if _, status, text := fetch(t, b, req); status != c.status || !strings.Contains(text, c.text) {
				t.Errorf("%v %s, want %v with %q", status, text, c.status, c.text)
			}
		})
	}
}

// raw answers on the connection itself.
func raw(answer func(c net.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		answer(c)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(echo))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail on purpose
	s.StartTLS()                                   // with a certificate for example.com
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	b, n := httpBroker(t, "https://example.com", "https://other.example")
	n.put(publicAddr+":443", s)
	if _, status, text := fetch(t, b, sdk.FetchRequest{URL: "https://example.com/"}); status != guest.StatusFailed || !strings.Contains(text, "certificate") {
		t.Errorf("an unknown certificate = %v %s, want failed", status, text)
	}
	ability.Trust(b, pool)
	if resp, status, text := fetch(t, b, sdk.FetchRequest{URL: "https://example.com/"}); status != guest.StatusOK || !strings.Contains(string(resp.Body), "GET example.com / HTTP/1.1") {
		t.Errorf("a known certificate = %v %s %s", status, text, resp.Body)
	}
	if _, status, text := fetch(t, b, sdk.FetchRequest{URL: "https://other.example/"}); status != guest.StatusFailed || !strings.Contains(text, "certificate") {
		t.Errorf("a certificate of another name = %v %s, want failed", status, text)
	}
}

func TestHTTPRate(t *testing.T) {
	t.Parallel()
	b := newBroker(t, ability.Options{Grants: []sdk.Capability{grant("http", "http://a.example")}, Limits: ability.Limits{HTTPRate: 1, HTTPBurst: 2}})
	n := newInternet(t, b)
	n.serve(publicAddr+":80", hello)
	for i, want := range []guest.Status{guest.StatusOK, guest.StatusOK, guest.StatusLimited} {
		if _, status, text := fetch(t, b, sdk.FetchRequest{URL: "http://a.example/"}); status != want {
			t.Errorf("request %d = %v %s, want %v", i, status, text, want)
		}
	}
}

// As many requests as allowed run side by side; the others wait, and give up in time.
func TestHTTPConcurrency(t *testing.T) {
	t.Parallel()
	b := newBroker(t, ability.Options{Grants: []sdk.Capability{grant("http", "http://a.example")}, Limits: ability.Limits{HTTPConcurrent: 1}})
	n := newInternet(t, b)
	entered, release := make(chan struct{}), make(chan struct{})
	n.serve(publicAddr+":80", func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-release
		hello(w, r)
	})
	first := make(chan guest.Status)
	go func() {
		status, _ := b.Do(t.Context(), ability.Caller{}, "http", []byte(`{"url":"http://a.example/"}`))
		first <- status
	}()
	<-entered
	if _, status, text := fetch(t, b, sdk.FetchRequest{URL: "http://a.example/", TimeoutMS: 20}); status != guest.StatusFailed || !strings.Contains(text, "1 other request") {
		t.Errorf("a second request = %v %s, want to have waited in vain", status, text)
	}
	close(release)
	if status := <-first; status != guest.StatusOK {
		t.Errorf("the first request = %v", status)
	}
	go func() { <-entered }()
	if _, status, text := fetch(t, b, sdk.FetchRequest{URL: "http://a.example/"}); status != guest.StatusOK {
		t.Errorf("the next request = %v %s", status, text)
	}
}

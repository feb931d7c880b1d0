package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/tools/web"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func tool(t *testing.T) sdk.Tool {
	t.Helper()
	p := web.New()
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p.Tools()[0]
}

func call(t *testing.T, args map[string]any) *sdk.ToolCall {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return &sdk.ToolCall{Args: data, Host: host{func(sdk.PermissionRequest) error { return nil }}}
}

// host answers what a tool asks.
type host struct {
	ask func(sdk.PermissionRequest) error
}

func (host) Progress(string, sdk.Object) {}

func (h host) Ask(_ context.Context, r sdk.PermissionRequest) error { return h.ask(r) }

// serve answers with the body and, when there is one, the content type.
func serve(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		_, _ = io.WriteString(w, body)
	}
}

const article = `<!doctype html><html><head><title>T</title><style>p{}</style></head><body>
<h1>Head</h1><script>evil()</script><p>One <b>bold</b> <a href="/x">link</a>.</p>
<ul><li>a</li><li>b</li></ul><pre>x  y
z</pre><table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>`

func TestFetch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		format  string
		want    string
	}{
		"markdown":          {serve("text/html", article), "", "# Head\n\nOne **bold** [link](URL/x).\n\n- a\n- b\n\n```\nx  y\nz\n```\n\n| k | v |\n|---|---|\n| 1 | 2 |"},
		"text":              {serve("text/html", article), "text", "Head\nOne bold link.\na\nb\nx  y\nz\nk v\n1 2"},
		"html":              {serve("text/html", article), "html", article},
		"no content type":   {serve("", article), "text", "Head\nOne bold link.\na\nb\nx  y\nz\nk v\n1 2"},
		"plain stays":       {serve("text/plain", "a <b> *c*"), "", "a <b> *c*"},
		"JSON":              {serve("application/json", `{"a":"ä"}`), "", `{"a":"ä"}`},
		"JSON of a kind":    {serve("application/ld+json; charset=utf-8", `{}`), "", `{}`},
		"unknown type":      {serve("application/x-new", "any text"), "", "any text"},
		"octet stream":      {serve("application/octet-stream", "text after all"), "", "text after all"},
		"empty":             {serve("text/html", ""), "", ""},
		"latin-1 header":    {serve("text/plain; charset=iso-8859-1", "\xe4\xf6"), "", "äö"},
		"latin-1 meta":      {serve("text/html", "<meta charset=iso-8859-1><p>\xe4"), "text", "ä"},
		"shift-jis":         {serve("text/html; charset=Shift_JIS", "<p>\x93\xfa\x96\x7b"), "text", "日本"},
		"undeclared":        {serve("application/json", "\"\xff\""), "", "\"ÿ\""}, // as browsers do
		"unknown charset":   {serve("text/plain; charset=x-none", "abc"), "", "abc"},
		"gzip":              {gzipped("text/plain", "packed"), "", "packed"},
		"embedded picture":  {serve("text/html", `<p>a <img src="data:image/png;base64,AAAA"> b`), "", "a b"},
		"no picture":        {serve("image/png", "<html><p>no such picture"), "", "no such picture"},
		"relative link":     {redirectTo("/a/b/", "text/html", `<a href="c">x</a>`), "", "[x](URL/a/b/c)"},
		"many brackets":     {serve("text/html", strings.Repeat("[", 1<<20)), "", strings.Repeat("[", 1<<20)},
		"redirect":          {redirectOnce, "", "arrived"},
		"within a redirect": {redirectTimes(10), "", "arrived"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.handler)
			defer server.Close()
			args := map[string]any{"url": server.URL}
			if c.format != "" {
				args["format"] = c.format
			}
			result, err := tool(t).Execute(t.Context(), call(t, args))
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.ReplaceAll(c.want, "URL", server.URL); len(want) > 1<<16 && want != result.Output {
				t.Errorf("output of %d bytes is not as wanted", len(result.Output))
			} else if diff := cmp.Diff(want, result.Output); len(want) <= 1<<16 && diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFetchFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"not found":      {status(404, "text/html", "<p>no such   <b>page</b>"), "status 404 Not Found: no such page"},
		"empty error":    {status(500, "", ""), "status 500"},
		"long error":     {status(500, "text/plain", strings.Repeat("ä", 10000)), "…"},
		"binary error":   {status(500, "image/png", "\x89PNG"), "status 500 Internal Server Error"},
		"zip":            {serve("application/zip", "PK\x03\x04\x00"), "the answer is application/zip (5 bytes), not text"},
		"binary":         {serve("", "\x00\x01\x02"), "the answer is application/octet-stream"},
		"pdf":            {serve("application/octet-stream", "%PDF-1.7\n%\xe2\xe3"), "the answer is application/pdf"},
		"redirect loop":  {redirectTimes(1000), "more than 10 redirects"},
		"too large":      {endless, "larger than 5242880 bytes"},
		"said too large": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "99999999") }, "larger than 5242880 bytes: 99999999"},
		"gzip bomb":      {gzipped("text/plain", strings.Repeat("0", 6<<20)), "larger than 5242880 bytes"},
		"broken gzip":    {brokenGzip, "broke off"},
		"broken off":     {brokenOff, "broke off after"},
		"no HTTP":        {hijack("hello\r\n\r\n"), "malformed HTTP"},
		"closed":         {hijack(""), "EOF"},
		"slow drip":      {drip, "no complete answer within 300ms"},
		"silence":        {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no complete answer within 300ms"},
		"endless header": {endlessHeader, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.handler)
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			defer server.Close()
			args := map[string]any{"url": server.URL}
			if strings.Contains(c.want, "300ms") {
				args["timeout"] = 0.3
			}
			result, err := tool(t).Execute(t.Context(), call(t, args))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("Execute = %v, %v, want an error with %q", result, err, c.want)
			}
			if len(err.Error()) > 1000 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestFetchImage(t *testing.T) {
	t.Parallel()
	png := "\x89PNG\r\n\x1a\n0000"
	for name, contentType := range map[string]string{"said": "image/png", "found": "application/octet-stream"} {
		server := httptest.NewServer(serve(contentType, png))
		defer server.Close()
		result, err := tool(t).Execute(t.Context(), call(t, map[string]any{"url": server.URL + "/a/pic.png"}))
		if err != nil {
			t.Fatal(err)
		}
		want := []*sdk.FilePart{{Mime: "image/png", Filename: "pic.png", URL: "data:image/png;base64,iVBORw0KGgowMDAw"}}
		if diff := cmp.Diff(want, result.Attachments); diff != "" {
			t.Errorf("%s: attachments (-want +got):\n%s", name, diff)
		}
	}
}

// TestRedirectElsewhere: the permission is for one host, so another one is not contacted.
func TestRedirectElsewhere(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other host was asked") }))
	defer other.Close()
	for name, to := range map[string]string{
		"other port":   other.URL + "/x?y=1",
		"other host":   strings.Replace(other.URL, "127.0.0.1", "localhost", 1) + "/x",
		"other scheme": "file:///etc/passwd",
		"protocol":     "//evil.example/x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.RedirectHandler(to, http.StatusFound))
			defer server.Close()
			result, err := tool(t).Execute(t.Context(), call(t, map[string]any{"url": server.URL}))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(result.Output, strings.TrimPrefix(to, "http:")) || !strings.Contains(result.Output, "Nothing was fetched") {
				t.Errorf("output %q does not name %q", result.Output, to)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(serve("", ""))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer server.Close()
	_, err := tool(t).Execute(t.Context(), call(t, map[string]any{"url": server.URL}))
	if err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Errorf("Execute = %v", err)
	}
	plain := httptest.NewServer(serve("", ""))
	defer plain.Close()
	_, err = tool(t).Execute(t.Context(), call(t, map[string]any{"url": strings.Replace(plain.URL, "http:", "https:", 1)}))
	if err == nil || !strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		t.Errorf("Execute = %v", err)
	}
}

func TestRefusedConnectionAndAbort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, err = tool(t).Execute(t.Context(), call(t, map[string]any{"url": "http://" + l.Addr().String()}))
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Execute = %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	_, err = tool(t).Execute(ctx, call(t, map[string]any{"url": server.URL}))
	if err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("aborted Execute = %v", err)
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ url, pattern, always, err string }{
		"plain":          {"https://example.com/a?b=c#d", "https://example.com/a?b=c", "https://example.com/*", ""},
		"no path":        {"http://example.com", "http://example.com/", "http://example.com/*", ""},
		"port, capital":  {" HTTP://Example.COM:8080/A ", "http://example.com:8080/A", "http://example.com:8080/*", ""},
		"file":           {"file:///etc/passwd", "", "", "does not begin with http"},
		"no scheme":      {"example.com", "", "", "does not begin with http"},
		"no host":        {"http:///x", "", "", "has no host"},
		"default port":   {"https://example.com:443/a", "https://example.com/a", "https://example.com/*", ""},
		"zeros, port":    {"http://example.com:0080/a", "http://example.com/a", "http://example.com/*", ""},
		"zeros":          {"http://example.com:08080/a", "http://example.com:8080/a", "http://example.com:8080/*", ""},
		"dot at the end": {"http://example.com./a", "http://example.com/a", "http://example.com/*", ""},
		"two dots":       {"http://example.com../a", "http://example.com/a", "http://example.com/*", ""},
		"only dots":      {"http://../a", "", "", "has no host"},
		"IPv4 in IPv6":   {"http://[::ffff:127.0.0.1]:81/a", "http://127.0.0.1:81/a", "http://127.0.0.1:81/*", ""},
		"fullwidth":      {"http://１２７.0。0.1/a", "http://127.0.0.1/a", "http://127.0.0.1/*", ""},
		"umlaut":         {"https://Bücher.example/", "https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/*", ""},
		"underscore":     {"https://a_b.example/", "https://a_b.example/", "https://a_b.example/*", ""},
		"IPv6":           {"http://[::0001]/a", "http://[::1]/a", "http://[::1]/*", ""},
		"user":           {"https://good.example@evil.example/", "", "", "user name"},
		"nonsense":       {"http://[::1", "", "", "bad URL"},
	} {
		requests, err := tool(t).(sdk.ToolPreparer).Prepare(t.Context(), call(t, map[string]any{"url": c.url}))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: Prepare = %v, want an error with %q", name, err, c.err)
			}
			continue
		}
		if err != nil || len(requests) != 1 || requests[0].Permission != "webfetch" || requests[0].Patterns[0] != c.pattern || requests[0].Always[0] != c.always {
			t.Errorf("%s: Prepare = %+v, %v, want %q and always %q", name, requests, err, c.pattern, c.always)
		}
	}
}

// TestPrepareSpellings: rules must allow every path that a server may take the URL for.
func TestPrepareSpellings(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][]string{
		"http://h/a/b/":        {"http://h/a/b/"},
		"http://h//a/x?q=//":   {"http://h//a/x?q=//", "http://h/a/x?q=//"},
		"http://h/b/../a/x":    {"http://h/b/../a/x", "http://h/a/x"},
		"http://h/b%2F..%2Fa/": {"http://h/b%2F..%2Fa/", "http://h/a/"},
		"http://h/%61/./x":     {"http://h/%61/./x", "http://h/a/x"},
	} {
		requests, err := tool(t).(sdk.ToolPreparer).Prepare(t.Context(), call(t, map[string]any{"url": url}))
		if err != nil || !slices.Equal(requests[0].Patterns, want) {
			t.Errorf("%s: %v, %v, want %q", url, requests, err, want)
		}
	}
}

// TestRedirectsAreJudged like the first address: each target is asked for, and a refusal ends the call.
func TestRedirectsAreJudged(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a":
			http.Redirect(w, r, "/b#x", http.StatusFound)
		case "/b":
			http.Redirect(w, r, "//"+r.Host+"//denied/x", http.StatusTemporaryRedirect)
		default:
			t.Errorf("%s was asked for", r.URL)
		}
	}))
	defer server.Close()
	var asked []string
	c := call(t, map[string]any{"url": server.URL + "/a"})
	c.Host = host{func(r sdk.PermissionRequest) error {
		asked = append(asked, r.Patterns...)
		if slices.Contains(r.Patterns, server.URL+"/denied/x") {
			return &sdk.Refusal{By: "rule", Reason: "no"}
		}
		return nil
	}}
	_, err := tool(t).Execute(t.Context(), c)
	var refusal *sdk.Refusal
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), "redirect to "+server.URL+"//denied/x") {
		t.Errorf("Execute = %v, want a refusal that names the redirect", err)
	}
	if want := []string{server.URL + "/b", server.URL + "//denied/x", server.URL + "/denied/x"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

func gzipped(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = io.WriteString(z, body)
		_ = z.Close()
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	}
}

func brokenGzip(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	_, _ = io.WriteString(w, "this is not gzip")
}

func status(code int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func redirectOnce(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/there" {
		serve("text/plain", "arrived")(w, r)
		return
	}
	http.Redirect(w, r, "/there", http.StatusMovedPermanently)
}

func redirectTo(path, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			serve(contentType, body)(w, r)
			return
		}
		http.Redirect(w, r, path, http.StatusSeeOther)
	}
}

func redirectTimes(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var i int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &i)
		if i == n {
			serve("text/plain", "arrived")(w, r)
			return
		}
		http.Redirect(w, r, fmt.Sprintf("/%d", i+1), http.StatusFound)
	}
}

func endless(w http.ResponseWriter, _ *http.Request) {
	for {
		if _, err := w.Write(make([]byte, 64<<10)); err != nil {
			return
		}
	}
}

func brokenOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, "only this")
}

func drip(w http.ResponseWriter, r *http.Request) {
	for {
		_, _ = io.WriteString(w, ".")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func hijack(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, answer)
		_ = conn.Close()
	}
}

func endlessHeader(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
	for {
		if _, err := io.WriteString(conn, "X-Header: "+strings.Repeat("x", 10000)+"\r\n"); err != nil {
			return
		}
	}
}

// TestLongHeaders: a title, which the terminal shows, has no header of a server in full, and neither has an error.
func TestLongHeaders(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100<<10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/status" {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, err = fmt.Fprintf(conn, "HTTP/1.1 500 %s\r\nConnection: close\r\n\r\n", long)
			}
			if err = errors.Join(err, conn.Close()); err != nil {
				t.Error(err)
			}
			return
		}
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "http://127.0.0.1/"+long, http.StatusFound)
			return
		}
		serve("application/"+long, strings.TrimPrefix(r.URL.Path, "/"))(w, r)
	}))
	t.Cleanup(server.Close)
	result, err := tool(t).Execute(t.Context(), call(t, map[string]any{"url": server.URL}))
	if err != nil || len(result.Title) > 1000 {
		t.Errorf("a title of %d bytes, %v", len(result.Title), err)
	}
	for _, path := range []string{"/status", "/moved", "/%00binary"} {
		if _, err = tool(t).Execute(t.Context(), call(t, map[string]any{"url": server.URL + path})); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%s: an error of %d bytes", path, len(fmt.Sprint(err)))
		}
	}
}

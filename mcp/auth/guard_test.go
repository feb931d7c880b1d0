package auth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tenonhq/tenon/internal/httpx"
)

// A server must not make tenon send requests into the user's network.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ server, address, want string }{
		"the server itself":             {"http://10.0.0.1/mcp", "http://10.0.0.1/x", ""},
		"the server, encrypted":         {"http://10.0.0.1/mcp", "https://10.0.0.1:8443/x", ""},
		"the server, not encrypted":     {"https://a.example/mcp", "http://a.example/x", "want https"},
		"public":                        {"https://a.example/mcp", "https://login.example/x", ""},
		"public, not encrypted":         {"https://a.example/mcp", "http://login.example/x", "want https"},
		"metadata server":               {"https://a.example/mcp", "http://169.254.169.254/latest", "want https"},
		"metadata server, encrypted":    {"https://a.example/mcp", "https://169.254.169.254/latest", "not public"},
		"private":                       {"https://a.example/mcp", "https://10.0.0.1/x", "not public"},
		"private, mapped":               {"https://a.example/mcp", "https://[::ffff:10.0.0.1]/x", "not public"},
		"this machine":                  {"https://a.example/mcp", "http://127.0.0.1:631/x", "want https"},
		"this machine, encrypted":       {"https://a.example/mcp", "https://127.0.0.1/x", "not public"},
		"this machine from itself":      {"http://localhost:1/mcp", "http://127.0.0.1:2/x", ""},
		"private from this machine":     {"http://localhost:1/mcp", "https://192.168.1.1/x", "not public"},
		"private from another private":  {"http://10.0.0.1/mcp", "https://10.0.0.2/x", "not public"},
		"another scheme":                {"https://a.example/mcp", "file:///etc/passwd", "want https"},
		"another scheme of the server":  {"https://a.example/mcp", "ftp://a.example/x", "want https"},
		"the server's name, not itself": {"https://a.example/mcp", "https://a.example.evil/x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(c.address)
			if err != nil {
				t.Fatal(err)
			}
			err = newClient(c.server).Transport.(*guard).check(u)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("check(%s) = %v, want %q", c.address, err, c.want)
			}
		})
	}
}

// A name is judged by what the socket connects to, and a redirect like any other address.
func TestDial(t *testing.T) {
	t.Parallel()
	hit := false
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hit = true }))
	t.Cleanup(inside.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(inside.URL, "http://"), ":")
	g := newClient("https://a.example/mcp").Transport.(*guard)
	if conn, err := g.dial(context.WithoutCancel(t.Context()), "tcp", "localhost:"+port); err == nil || !strings.Contains(err.Error(), "not public") {
		t.Errorf("dial of a name for this machine = %v, %v, want it refused", conn, err)
	}
	local := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/latest", http.StatusFound))
	t.Cleanup(local.Close)
	client := newClient(local.URL)
	t.Cleanup(client.CloseIdleConnections)
	if resp, err := client.Get(local.URL); err == nil || !strings.Contains(err.Error(), "want https") {
		t.Errorf("redirect to a metadata server = %v, %v, want it refused", resp, err)
	}
	if hit {
		t.Error("the server inside was reached")
	}
}

// A form with a code or a token is sent only to the address it was meant for; a redirected GET stays encrypted.
func TestRedirects(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		var received atomic.Int32
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { received.Add(1) }))
		t.Cleanup(other.Close)
		local := httptest.NewServer(http.RedirectHandler(other.URL, status))
		t.Cleanup(local.Close)
		client := newClient(local.URL)
		if got, err := statusOf(client.PostForm(local.URL, url.Values{"refresh_token": {"secret"}})); err != nil || got != status || received.Load() != 0 {
			t.Errorf("POST, redirected with %d: status %d, %v, %d requests to the other server, want the redirect itself", status, got, err, received.Load())
		}
		if got, err := statusOf(client.Get(local.URL)); err != nil || got != http.StatusOK || received.Load() != 1 {
			t.Errorf("GET, redirected with %d: status %d, %v, %d requests to the other server, want 1", status, got, err, received.Load())
		}
	}
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent without encryption") }))
	t.Cleanup(plain.Close)
	encrypted := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	t.Cleanup(encrypted.Close)
	client := newClient(encrypted.URL)
	client.Transport.(*guard).direct.TLSClientConfig = encrypted.Client().Transport.(*http.Transport).TLSClientConfig
	if got, err := statusOf(client.Get(encrypted.URL)); err == nil || !strings.Contains(err.Error(), "want https") {
		t.Errorf("redirect from https to http = status %d, %v, want it refused", got, err)
	}
}

// A server may redirect the address of its metadata to the one with a slash.
func TestRedirectToSlash(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux() // redirects to the registered path
	mux.HandleFunc("/.well-known/oauth-authorization-server/", func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	client := newClient(server.URL)
	t.Cleanup(client.CloseIdleConnections)
	if got, err := statusOf(client.Get(server.URL + "/.well-known/oauth-authorization-server")); err != nil || got != http.StatusOK {
		t.Errorf("status %d, %v, want the metadata", got, err)
	}
}

// http.ProxyFromEnvironment finds no proxy in an invalid address. A sign-in then sends nothing around the proxy.
func TestInvalidProxy(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://user:pa%ss@proxy.invalid")
	client := newClient("https://server.invalid")
	client.Transport.(*guard).direct.DialContext = nil
	if got, err := statusOf(client.Get("https://server.invalid")); !errors.Is(err, httpx.ErrProxyAddress) {
		t.Errorf("status %d, %v, want %v", got, err, httpx.ErrProxyAddress)
	}
}

// statusOf returns the status of an answer and closes it.
func statusOf(resp *http.Response, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

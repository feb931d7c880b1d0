package httpx_test

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tenonhq/tenon/internal/httpx"
)

func TestReadAll(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		body io.Reader
		want string
		err  error
	}{
		"fits":            {strings.NewReader("12345"), "12345", nil},
		"too long":        {strings.NewReader("123456"), "", httpx.ErrTooLarge},
		"too long at all": {io.MultiReader(strings.NewReader("123456"), iotest.ErrReader(broken)), "", httpx.ErrTooLarge},
		"broken":          {io.MultiReader(strings.NewReader("123"), iotest.ErrReader(broken)), "", broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := httpx.ReadAll(c.body, 5)
			if string(got) != c.want || !errors.Is(err, c.err) {
				t.Errorf("ReadAll() = %q, %v, want %q, %v", got, err, c.want, c.err)
			}
		})
	}
	if got := httpx.Excerpt(io.MultiReader(strings.NewReader("123"), iotest.ErrReader(broken)), 5); string(got) != "123" {
		t.Errorf("Excerpt() of a broken body = %q", got)
	}
	if got := httpx.Excerpt(strings.NewReader("123456"), 5); string(got) != "12345" {
		t.Errorf("Excerpt() of a long body = %q", got)
	}
}

func TestCheckRedirect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to string
		hops     int
		want     string
	}{
		"the same":          {"https://a/x", "https://a/y", 1, ""},
		"case and port":     {"https://a/x", "HTTPS://A:443/y", 1, ""},
		"usual port":        {"http://a:80/x", "http://a/y", 1, ""},
		"another host":      {"https://a/x", "https://b/x", 1, "set url to it"},
		"another port":      {"https://a/x", "https://a:8443/x", 1, "https://a:8443"},
		"another scheme":    {"https://a/x", "http://a/x", 1, "another origin"},
		"port, not scheme":  {"https://a:80/x", "http://a/x", 1, "another origin"},
		"the last redirect": {"https://a/x", "https://a/y", 2, ""},
		"too many":          {"https://a/x", "https://a/y", 3, "redirected 3 times"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var via []*http.Request
			for range c.hops {
				via = append(via, &http.Request{URL: parse(t, c.from)})
			}
			err := httpx.CheckRedirect(3, "url")(&http.Request{URL: parse(t, c.to)}, via)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("CheckRedirect() = %v, want %q", err, c.want)
			}
		})
	}
}

// TestCheckRedirectOfContent: a redirect that turns POST into GET loses the content.
func TestCheckRedirectOfContent(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{http.StatusMovedPermanently: "set url to its address", http.StatusSeeOther: "/to/", http.StatusPermanentRedirect: ""} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/to/" {
				http.Redirect(w, r, "/to/", status)
			}
		}))
		t.Cleanup(server.Close)
		client := &http.Client{CheckRedirect: httpx.CheckRedirect(3, "url")}
		resp, err := client.Post(server.URL+"/to", "text/plain", strings.NewReader("content"))
		if resp != nil {
			_ = resp.Body.Close()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("status %d: %v, want %q", status, err, want)
		}
	}
}

func parse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestProxied checks that the error of a request through a proxy names the proxy without its password, and that of others does not.
func TestProxied(t *testing.T) {
	t.Parallel()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(refuses.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, c := range map[string]struct{ proxy, server, want string }{
		"refused":     {refuses.URL, "https://server.invalid", "Forbidden"},
		"not running": {closed.URL, "https://server.invalid", "connect"},
		"plain HTTP":  {closed.URL, "http://server.invalid", "connect"},
		"no proxy":    {"", closed.URL, "connect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transport := &http.Transport{}
			if proxy, err := url.Parse(c.proxy); err == nil && c.proxy != "" {
				proxy.User = url.UserPassword("user", "secret")
				transport.Proxy = http.ProxyURL(proxy)
			}
			client := &http.Client{Transport: httpx.Proxied{Transport: transport}}
			resp, err := client.Get(c.server)
			if err == nil {
				_ = resp.Body.Close()
				t.Fatal("Get() succeeded")
			}
			through, ok := errors.AsType[*httpx.ProxyError](err)
			if ok != (c.proxy != "") || ok && through.Proxy != c.proxy {
				t.Errorf("Get() = %v, want an error of the proxy %q", err, c.proxy)
			}
			if !strings.Contains(err.Error(), c.proxy) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("Get() = %v, want %q of %q, without the password", err, c.want, c.proxy)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://server.invalid", nil)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := url.Parse(closed.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, err = httpx.Proxied{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}.RoundTrip(req)
	if errors.As(err, new(*httpx.ProxyError)) || !errors.Is(err, context.Canceled) {
		t.Errorf("RoundTrip() of a canceled request = %v, want context.Canceled alone", err)
	}
}

// TestUnknownIssuer: every package that sends requests with Proxied gives the remedy for a proxy that inspects connections.
func TestUnknownIssuer(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused handshake
	server.StartTLS()
	defer server.Close()
	resp, err := (&http.Client{Transport: httpx.Proxied{Transport: &http.Transport{}}}).Get(server.URL)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.As(err, new(x509.UnknownAuthorityError)) || !strings.Contains(err.Error(), httpx.TrustRemedy) {
		t.Errorf("Get() = %v, want an unknown issuer with the remedy", err)
	}
}

// closable is a body that knows whether it was closed.
type closable struct {
	io.Reader
	closed bool
}

func (c *closable) Close() error {
	c.closed = true
	return nil
}

// A request that should go to a proxy never goes to the server directly, even if the proxy's address is invalid.
func TestInvalidProxy(t *testing.T) {
	t.Setenv("NO_PROXY", "direct.invalid")
	for name, c := range map[string]struct {
		proxy, server string
		invalid       bool
	}{
		"a percent sign": {"http://user:pa%ss@proxy.invalid", "https://server.invalid", true},
		"a line break":   {"http://proxy.invalid:80\n", "https://server.invalid", true},
		"in no_proxy":    {"http://user:pa%ss@proxy.invalid", "https://direct.invalid", false},
		"this machine":   {"http://user:pa%ss@proxy.invalid", "https://localhost", false},
		"plain HTTP":     {"http://user:pa%ss@proxy.invalid", "http://server.invalid", false},
		"escaped":        {"http://user:pa%25ss@proxy.invalid", "https://server.invalid", false},
		"no scheme":      {"proxy.invalid:8080", "https://server.invalid", false},
		"SOCKS, IPv6":    {"socks5://[::1]:1080", "https://server.invalid", false},
		"none":           {"", "https://server.invalid", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HTTPS_PROXY", c.proxy)
			reached := errors.New("reached")
			transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, reached }}
			body := &closable{Reader: strings.NewReader("x")}
			resp, err := (&http.Client{Transport: httpx.Proxied{Transport: transport}}).Post(c.server, "", body)
			if err == nil {
				_ = resp.Body.Close()
			}
			if c.invalid && !body.closed {
				t.Error("the body is not closed")
			}
			if errors.Is(err, httpx.ErrProxyAddress) != c.invalid || errors.Is(err, reached) == c.invalid {
				t.Errorf("Get() = %v, want an invalid address: %v", err, c.invalid)
			}
		})
	}
}

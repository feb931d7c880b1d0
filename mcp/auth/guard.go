package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tenonhq/tenon/internal/httpx"
)

const (
	// maxAnswer is the maximum size of an answer in bytes: metadata, registrations and tokens have some kilobytes.
	maxAnswer = 1 << 20
	// maxRedirects is the maximum number of redirects of a request.
	maxRedirects = 5
	// requestTimeout limits one request to an authorization server.
	requestTimeout = 30 * time.Second
)

// guard sends the requests to addresses that a server names. Such an address must not lead into the user's network: unless its host is the
// one that the user configured, it must be https and lead to a public address. Only a server on this machine may name others on it.
type guard struct {
	home *url.URL // address of the server
	// direct checks the addresses that it connects to; proxied leaves that to the user's proxy.
	direct, proxied *http.Transport

	issuers sync.Map // issuer by its token endpoint, from the metadata received
}

func newClient(server string) *http.Client {
	home, err := url.Parse(server)
	if err != nil {
		home = &url.URL{}
	}
	g := &guard{home: home}
	base := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 15 * time.Second, IdleConnTimeout: 5 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	g.proxied, g.direct = base, base.Clone()
	g.direct.Proxy, g.direct.DialContext = nil, g.dial
	return &http.Client{Transport: g, Timeout: requestTimeout, CheckRedirect: checkRedirect}
}

// checkRedirect decides whether to follow a redirect; RoundTrip checks its address. Only a GET request is repeated: the others contain
// codes, tokens and secrets, which only the intended server may receive. For them, the redirect itself is the answer and counts as a refusal.
func checkRedirect(req *http.Request, via []*http.Request) error {
	last := via[len(via)-1]
	switch {
	case via[0].Method != http.MethodGet:
		return http.ErrUseLastResponse
	case last.URL.Scheme == "https" && req.URL.Scheme == "http":
		return fmt.Errorf("the server redirects from https to %s://%s: want https", req.URL.Scheme, req.URL.Host)
	case len(via) >= maxRedirects:
		return fmt.Errorf("the server redirected %d times", len(via))
	}
	return nil
}

// RoundTrip sends one request.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := g.check(req.URL); err != nil {
		return nil, err
	}
	before, name, known := strings.Cut(req.URL.Path, "/.well-known/")
	if known && req.Method == http.MethodGet && req.Response == nil && !strings.HasPrefix(name, "oauth-protected-resource") { // no redirect
		req = req.Clone(req.Context()) // omit the slash at the end of some issuers, see RFC 8414, section 3.1
		req.URL.Path, req.URL.RawPath = strings.TrimSuffix(before, "/")+"/.well-known/"+strings.TrimSuffix(name, "/"), ""
	}
	inner := g.direct
	if proxy, err := http.ProxyFromEnvironment(req); err == nil && proxy != nil {
		inner = g.proxied
	}
	resp, err := httpx.Proxied{Transport: inner}.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	content, err := httpx.ReadAll(resp.Body, maxAnswer)
	if err != nil {
		return nil, err
	}
	g.note(content)
	if req.Method == http.MethodPost && req.Header.Get("Content-Type") == "application/json" { // a registration; other requests are forms
		content = withMethod(content)
	}
	resp.Body = io.NopCloser(bytes.NewReader(content))
	return resp, nil
}

// withMethod adds how a registered client authenticates, if the server gave it no secret and does not say how. go-sdk would
// assume client_secret_basic, the default in RFC 7591, and not send the client's ID in the body, where servers expect it.
func withMethod(content []byte) []byte {
	const method = "token_endpoint_auth_method"
	var client map[string]any
	if json.Unmarshal(content, &client) != nil || client["client_id"] == nil {
		return content
	}
	secret, _ := client["client_secret"].(string) // may be null
	if given, _ := client[method].(string); secret != "" || given != "" {
		return content
	}
	client[method] = "none"
	complete, _ := json.Marshal(client) // decoded above
	return complete
}

// note stores the issuer if an answer is the metadata of an authorization server, see RFC 8414, section 2.
func (g *guard) note(content []byte) {
	var metadata struct {
		Issuer   string `json:"issuer"`
		TokenURL string `json:"token_endpoint"`
	}
	if json.Unmarshal(content, &metadata) == nil && metadata.TokenURL != "" && metadata.Issuer != "" {
		g.issuers.Store(metadata.TokenURL, metadata.Issuer)
	}
}

// issuerOf returns the issuer with that token endpoint. A server without metadata is identified by the endpoint's origin.
func issuerOf(client *http.Client, tokenURL string) string {
	if issuer, ok := client.Transport.(*guard).issuers.Load(tokenURL); ok {
		return issuer.(string)
	}
	u, err := url.Parse(tokenURL)
	if err != nil {
		return tokenURL
	}
	return u.Scheme + "://" + u.Host
}

// check returns an error for an address that a server must not name.
func (g *guard) check(u *url.URL) error {
	switch {
	case u.Hostname() == g.home.Hostname() && (u.Scheme == "https" || u.Scheme == g.home.Scheme && u.Scheme == "http"):
		return nil
	case u.Scheme != "https" && !(u.Scheme == "http" && g.local(u.Hostname())):
		return fmt.Errorf("the server names the address %s://%s: want https", u.Scheme, u.Host)
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
		return g.checkAddr(u.Hostname(), addr)
	}
	return nil
}

// local reports whether a host and the server are both on this machine.
func (g *guard) local(host string) bool {
	return httpx.Loopback(host) && httpx.Loopback(g.home.Hostname())
}

// dial connects to a host whose address is allowed.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: 15 * time.Second, Control: func(_, final string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(final)
		if err != nil {
			return err
		}
		return g.checkAddr(host, to.Addr())
	}}
	return dialer.DialContext(ctx, network, address)
}

func (g *guard) checkAddr(host string, addr netip.Addr) error {
	if strings.EqualFold(host, g.home.Hostname()) || httpx.Public(addr) || addr.Unmap().IsLoopback() && g.local(host) {
		return nil
	}
	return fmt.Errorf("the server names the host %s, which leads to an address that is not public; if it is yours, put a token into the server's headers instead", host)
}

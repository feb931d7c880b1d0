package ability_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// publicAddr is an address that may be dialled.
const publicAddr = "93.184.215.14"

// internet is a network with names and servers of the test's own. Every server listens on loopback; the broker under test
// sees them under public addresses.
type internet struct {
	tb testing.TB

	mu      sync.Mutex
	names   map[string][]string // addresses; a name that is not there has publicAddr
	next    map[string][]string // what a name has from its second look-up on
	servers map[netip.AddrPort]string
	dialled []netip.AddrPort
	lookups []string
}

func newInternet(tb testing.TB, b *ability.Broker) *internet {
	n := &internet{tb: tb, names: map[string][]string{}, next: map[string][]string{}, servers: map[netip.AddrPort]string{}}
	ability.SetNetwork(b, n.lookup, n.dial)
	return n
}

// serve puts a server at the address, such as 93.184.215.14:80.
func (n *internet) serve(addr string, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	n.tb.Cleanup(s.Close)
	n.put(addr, s)
	return s
}

func (n *internet) put(addr string, s *httptest.Server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.servers[netip.MustParseAddrPort(addr)] = s.Listener.Addr().String()
}

func (n *internet) lookup(host string) []netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lookups = append(n.lookups, host)
	texts, ok := n.names[host]
	if !ok {
		texts = []string{publicAddr}
	}
	if later, ok := n.next[host]; ok {
		n.names[host] = later
	}
	addrs := make([]netip.Addr, len(texts))
	for i, text := range texts {
		addrs[i] = netip.MustParseAddr(text)
	}
	return addrs
}

func (n *internet) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	n.dialled = append(n.dialled, to)
	server, ok := n.servers[to]
	n.mu.Unlock()
	if !ok {
		return nil, &net.AddrError{Err: "no listener", Addr: to.String()}
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", server)
}

// reached returns what was dialled.
func (n *internet) reached() []netip.AddrPort {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dialled
}

// hello answers every request.
func hello(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }

// redirect answers with a redirect to the target.
func redirect(target string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", target)
		w.WriteHeader(http.StatusFound)
	}
}

func httpBroker(tb testing.TB, scope ...string) (*ability.Broker, *internet) {
	b := newBroker(tb, ability.Options{Grants: []sdk.Capability{grant("http", scope...)}})
	return b, newInternet(tb, b)
}

// These are all the ways that a plugin with a grant for http://allowed.example might try.
func TestEscapeURL(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url    string
		status guest.Status
		text   string
	}{
		"other host":                  {"http://evil.example/", guest.StatusDenied, `"http" with "http://evil.example"`},
		"other scheme":                {"https://allowed.example/", guest.StatusDenied, "https://allowed.example"},
		"other port":                  {"http://allowed.example:8080/", guest.StatusDenied, "http://allowed.example:8080"},
		"port of the other scheme":    {"http://allowed.example:443/", guest.StatusDenied, "http://allowed.example:443"},
		"subdomain of an exact grant": {"http://x.allowed.example/", guest.StatusDenied, "x.allowed.example"},
		"suffix without a dot":        {"http://evilallowed.example/", guest.StatusDenied, "evilallowed.example"},
		"prefix":                      {"http://allowed.example.evil.example/", guest.StatusDenied, "evil.example"},
		"userinfo":                    {"http://allowed.example@evil.example/", guest.StatusFailed, "user name"},
		"userinfo with colon":         {"http://allowed.example:80@evil.example/", guest.StatusFailed, "user name"},
		"own userinfo":                {"http://me:secret@allowed.example/", guest.StatusFailed, "user name"},
		"backslash before @":          {`http://evil.example\@allowed.example/`, guest.StatusFailed, "backslash"},
		"backslash as slash":          {`http:\\evil.example`, guest.StatusFailed, "backslash"},
		"encoded dot":                 {"http://allowed%2eexample/", guest.StatusFailed, "bad URL"},
		"encoded slash":               {"http://allowed.example%2f@evil.example/", guest.StatusFailed, "user name"},
		"encoded @":                   {"http://allowed.example%40evil.example/", guest.StatusFailed, "bad URL"},
		"full-width dot":              {"http://allowed．example/", guest.StatusFailed, "ASCII"},
		"full-width digits":           {"http://１２７.0.0.1/", guest.StatusFailed, "ASCII"},
		"ideographic dot":             {"http://127。0。0。1/", guest.StatusFailed, "ASCII"},
		"encoded full-width":          {"http://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1/", guest.StatusFailed, "invalid host name"},
		"soft hyphen":                 {"http://allowed\u00ad.example/", guest.StatusFailed, "ASCII"},
		"null byte":                   {"http://allowed.example\\u0000.evil.example/", guest.StatusFailed, "backslash"},
		"CRLF in the URL":             {"http://allowed.example/\r\nHost: evil.example", guest.StatusFailed, "space"},
		"encoded CRLF in the host":    {"http://allowed.example%0d%0a/", guest.StatusFailed, "bad URL"},
		"space":                       {"http://allowed.example /", guest.StatusFailed, "space"},
		"tab in the scheme":           {"ht\ttp://allowed.example/", guest.StatusFailed, "space"},
		"file":                        {"file:///etc/passwd", guest.StatusFailed, "only http and https"},
		"file on a host":              {"file://allowed.example/etc/passwd", guest.StatusFailed, "only http and https"},
		"ftp":                         {"ftp://allowed.example/", guest.StatusFailed, "only http and https"},
		"gopher":                      {"gopher://allowed.example:80/_GET", guest.StatusFailed, "only http and https"},
		"unix socket":                 {"http+unix://%2Fvar%2Frun%2Fdocker.sock/", guest.StatusFailed, "bad URL"},
		"opaque":                      {"http:allowed.example", guest.StatusFailed, "no host"},
		"without scheme":              {"//allowed.example/", guest.StatusFailed, "only http and https"},
		"without host":                {"http:///etc/passwd", guest.StatusFailed, "no host"},
		"empty":                       {"", guest.StatusFailed, "only http and https"},
		"port 0":                      {"http://allowed.example:0/", guest.StatusFailed, "port"},
		"port without number":         {"http://allowed.example:/", guest.StatusFailed, "port"},
		"port with zeros":             {"http://allowed.example:080/", guest.StatusFailed, "port"},
		"port too large":              {"http://allowed.example:65616/", guest.StatusFailed, "port"}, // 65616 is 80 in 16 bits
		"loopback":                    {"http://127.0.0.1/", guest.StatusDenied, "http://127.0.0.1"},
		"loopback as decimal":         {"http://2130706433/", guest.StatusFailed, "another way to write"},
		"loopback as hex":             {"http://0x7f000001/", guest.StatusFailed, "another way to write"},
		"loopback as hex pieces":      {"http://0x7f.1/", guest.StatusFailed, "another way to write"},
		"loopback as last hex":        {"http://127.0x1/", guest.StatusFailed, "another way to write"},
		"loopback as octal":           {"http://0177.0.0.1/", guest.StatusFailed, "another way to write"},
		"loopback as octal number":    {"http://017700000001/", guest.StatusFailed, "another way to write"},
		"loopback in short":           {"http://127.1/", guest.StatusFailed, "another way to write"},
		"zero":                        {"http://0/", guest.StatusFailed, "another way to write"},
		"IPv6 loopback":               {"http://[::1]/", guest.StatusDenied, "http://[::1]"},
		"IPv6 in another spelling":    {"http://[0:0:0:0:0:0:0:1]/", guest.StatusDenied, "http://[::1]"},
		"mapped loopback":             {"http://[::ffff:127.0.0.1]/", guest.StatusDenied, "::ffff:127.0.0.1"},
		"zone":                        {"http://[fe80::1%25eth0]/", guest.StatusFailed, "zones"},
		"brackets around a name":      {"http://[allowed.example]/", guest.StatusFailed, ""},
		"localhost":                   {"http://localhost/", guest.StatusDenied, "http://localhost"},
		"localhost with a dot":        {"http://localhost./", guest.StatusDenied, "http://localhost"},
		"two trailing dots":           {"http://allowed.example../", guest.StatusFailed, "invalid host name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, n := httpBroker(t, "http://allowed.example")
			status, text := do(t, b, "http", marshal(t, sdk.FetchRequest{URL: strings.ReplaceAll(c.url, `\u0000`, "\x00")}))
			if status != c.status || !strings.Contains(text, c.text) {
				t.Errorf("%q = %v %s, want %v with %q", c.url, status, text, c.status, c.text)
			}
			if len(n.reached())+len(n.lookups) != 0 {
				t.Errorf("%q reached the network: %v %v", c.url, n.lookups, n.reached())
			}
		})
	}
}

// The meaning of a grant, in each spelling of its URL.
func TestGrantedURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scope, url string
		granted    bool
	}{
		{"http://allowed.example", "http://allowed.example", true},
		{"http://allowed.example", "HTTP://ALLOWED.Example/", true},
		{"http://ALLOWED.example.", "http://allowed.example/", true},
		{"http://allowed.example", "http://allowed.example.:80/", true},
		{"http://allowed.example:80", "http://allowed.example/", true},
		{"http://allowed.example:8080", "http://allowed.example/", false},
		{"http://*.allowed.example", "http://x.allowed.example/", true},
		{"http://*.allowed.example", "http://x.y.allowed.example/", true},
		{"http://*.allowed.example", "http://allowed.example/", false},
		{"http://*.allowed.example", "http://x.allowed.example:8080/", false},
		{"http://*.allowed.example", "http://xallowed.example/", false},
		{"http://*.com", "http://evil.com/", false},
		{"http://*", "http://evil.example/", false},
		{"*", "http://evil.example/", false},
		{"http://93.184.215.14", "http://93.184.215.14/", true},
		{"http://xn--bcher-kva.example", "http://xn--bcher-kva.example/", true},
	} {
		b, n := httpBroker(t, c.scope)
		n.serve(publicAddr+":80", hello)
		n.serve(publicAddr+":8080", hello)
		status, text := do(t, b, "http", marshal(t, sdk.FetchRequest{URL: c.url}))
		if c.granted != (status == guest.StatusOK) || !c.granted && status != guest.StatusDenied {
			t.Errorf("grant %s, request %s = %v %s, want granted %v", c.scope, c.url, status, text, c.granted)
		}
	}
}

func TestEscapeRedirect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		target string
		status guest.Status
		text   string
	}{
		"other host":        {"http://evil.example/", guest.StatusDenied, "http://evil.example"},
		"scheme-relative":   {"//evil.example/", guest.StatusDenied, "http://evil.example"},
		"other port":        {"http://allowed.example:8080/", guest.StatusDenied, "http://allowed.example:8080"},
		"other scheme":      {"https://allowed.example/", guest.StatusDenied, "https://allowed.example"},
		"file":              {"file:///etc/passwd", guest.StatusFailed, "only http and https"},
		"ftp":               {"ftp://allowed.example/", guest.StatusFailed, "only http and https"},
		"userinfo":          {"http://allowed.example@evil.example/", guest.StatusFailed, "user name"},
		"own userinfo":      {"http://me:pw@allowed.example/", guest.StatusFailed, "user name"},
		"loopback":          {"http://127.0.0.1/", guest.StatusDenied, "http://127.0.0.1"},
		"decimal":           {"http://2130706433/", guest.StatusFailed, "another way to write"},
		"metadata":          {"http://169.254.169.254/latest/meta-data/", guest.StatusDenied, "169.254.169.254"},
		"IPv6 zone":         {"http://[fe80::1%25eth0]/", guest.StatusFailed, "zones"},
		"localhost":         {"http://localhost:80/", guest.StatusDenied, "localhost"},
		"private by DNS":    {"http://moved.allowed.example/", guest.StatusDenied, "not public"},
		"forever":           {"/again", guest.StatusFailed, "more than 5 redirects"},
		"full-width digits": {"http://１２７.0.0.1/", guest.StatusFailed, "invalid host name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, n := httpBroker(t, "http://allowed.example", "http://moved.allowed.example")
			n.names["moved.allowed.example"] = []string{"10.0.0.7"}
			n.serve(publicAddr+":80", redirect(c.target))
			status, text := do(t, b, "http", `{"url":"http://allowed.example/"}`)
			if status != c.status || !strings.Contains(text, c.text) {
				t.Errorf("redirect to %q = %v %s, want %v with %q", c.target, status, text, c.status, c.text)
			}
			for _, to := range n.reached() {
				if to.String() != publicAddr+":80" {
					t.Errorf("redirect to %q reached %v", c.target, to)
				}
			}
		})
	}
}

// A name in a grant leads to an address that the grant does not allow.
func TestEscapeDNS(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{
		"127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.100.100.200",
		"169.254.169.254", "168.63.129.16", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::", "2001::1",
		"2001:db8::1", "3fff::1", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "100::1", "5f00::1",
	} {
		for form, answer := range map[string][]string{"alone": {addr}, "last": {publicAddr, addr}, "first": {addr, publicAddr}} {
			b, n := httpBroker(t, "http://allowed.example")
			n.names["allowed.example"] = answer
			n.serve(publicAddr+":80", hello)
			status, text := do(t, b, "http", `{"url":"http://allowed.example/"}`)
			if status != guest.StatusDenied || !strings.Contains(text, "not public") || strings.Contains(text, addr+" ") {
				t.Errorf("%s as %s = %v %s, want denied without the address", form, addr, status, text)
			}
			if reached := n.reached(); len(reached) != 0 {
				t.Errorf("%s as %s reached %v", form, addr, reached)
			}
		}
	}
	for _, addr := range []string{publicAddr, "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1", "2606:4700::1111", "::ffff:1.1.1.1"} {
		if !httpx.Public(netip.MustParseAddr(addr)) {
			t.Errorf("%s is not public", addr)
		}
	}
}

// A name whose address changes after the check does not lead elsewhere: each connection looks it up once and dials the checked address.
func TestEscapeDNSRebinding(t *testing.T) {
	t.Parallel()
	b, n := httpBroker(t, "http://allowed.example")
	n.next["allowed.example"] = []string{"127.0.0.1"}
	n.serve(publicAddr+":80", redirect("/second"))
	n.serve("127.0.0.1:80", hello)
	status, text := do(t, b, "http", `{"url":"http://allowed.example/"}`)
	if status != guest.StatusDenied || !strings.Contains(text, "not public") {
		t.Errorf("rebinding = %v %s, want denied", status, text)
	}
	if got := n.reached(); len(got) != 1 || got[0].String() != publicAddr+":80" {
		t.Errorf("reached %v, want the first answer alone", got)
	}
	if len(n.lookups) != 2 {
		t.Errorf("looked up %v, want once a connection", n.lookups)
	}
}

// Addresses that are not public can be granted, by name and port alone.
func TestPrivateGrants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scope, url string
		names      []string // of the host
		status     guest.Status
	}{
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080/", nil, guest.StatusOK},
		{"http://127.0.0.1:8080", "http://127.0.0.2:8080/", nil, guest.StatusDenied},
		{"http://127.0.0.1:80", "http://127.0.0.1/", nil, guest.StatusOK},
		{"http://127.0.0.1", "http://127.0.0.1/", nil, guest.StatusDenied}, // the port is not written
		{"http://[::1]:8080", "http://[0::1]:8080/", nil, guest.StatusOK},
		{"http://[::ffff:127.0.0.1]:8080", "http://[::ffff:7f00:1]:8080/", nil, guest.StatusOK},
		{"http://10.0.0.1:8080", "http://10.0.0.1:8080/", nil, guest.StatusOK},
		{"http://localhost:8080", "http://LOCALHOST.:8080/", []string{"127.0.0.1"}, guest.StatusOK},
		{"http://localhost:8080", "http://localhost:8080/", []string{"::1"}, guest.StatusOK},
		{"http://localhost:8080", "http://localhost:8080/", []string{"10.0.0.1"}, guest.StatusDenied},
		{"http://localhost", "http://localhost/", []string{"127.0.0.1"}, guest.StatusDenied},
		{"http://db.example:8080", "http://db.example:8080/", []string{"127.0.0.1"}, guest.StatusDenied},
		{"http://*.example.com:8080", "http://db.example.com:8080/", []string{"10.0.0.1"}, guest.StatusDenied},
	} {
		b, n := httpBroker(t, c.scope, "http://other.example:8080")
		for _, host := range []string{"localhost", "db.example", "db.example.com"} {
			n.names[host] = c.names
		}
		for _, addr := range []string{"127.0.0.1:80", "127.0.0.1:8080", "127.0.0.2:8080", "[::1]:8080", "[::ffff:127.0.0.1]:8080", "10.0.0.1:8080"} {
			n.serve(addr, hello)
		}
		if status, text := do(t, b, "http", marshal(t, sdk.FetchRequest{URL: c.url})); status != c.status {
			t.Errorf("grant %s, request %s to %v = %v %s, want %v", c.scope, c.url, c.names, status, text, c.status)
		}
	}
}

// The same, with the system's own resolver and sockets.
func TestRealNetwork(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(hello))
	defer s.Close()
	b := newBroker(t, ability.Options{Grants: []sdk.Capability{grant("http", s.URL)}})
	if status, text := do(t, b, "http", marshal(t, sdk.FetchRequest{URL: s.URL})); status != guest.StatusOK || !strings.Contains(text, `"body":"hello"`) {
		t.Errorf("a granted address = %v %s", status, text)
	}
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b = newBroker(t, ability.Options{Grants: []sdk.Capability{grant("http", "http://localhost:"+port)}})
	if status, text := do(t, b, "http", marshal(t, sdk.FetchRequest{URL: "http://localhost:" + port})); status != guest.StatusOK {
		t.Errorf("localhost, granted = %v %s", status, text)
	}
	if status, _ := do(t, b, "http", marshal(t, sdk.FetchRequest{URL: s.URL})); status != guest.StatusDenied {
		t.Errorf("the address of localhost, where only the name is granted = %v, want denied", status)
	}
}

// The socket is checked again right before it connects.
func TestDialChecks(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(hello))
	defer s.Close()
	var asked []netip.Addr
	refused := net.UnknownNetworkError("refused")
	_, err := ability.Dial(t.Context(), netip.MustParseAddrPort(s.Listener.Addr().String()), func(a netip.Addr) error {
		asked = append(asked, a)
		return refused
	})
	if err == nil || !strings.Contains(err.Error(), string(refused)) || len(asked) != 1 || !asked[0].IsLoopback() {
		t.Errorf("dial = %v after checks of %v, want the check's refusal", err, asked)
	}
}

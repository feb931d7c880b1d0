package ability

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/tenonhq/tenon/internal/httpx"
)

// maxAnswerHeader is the maximum size of the headers of an answer, in bytes.
const maxAnswerHeader = 64 << 10

// web sends the HTTP requests of one plugin.
type web struct {
	transport *http.Transport
	slots     chan struct{} // holds a value for each running request

	// lookup and dial replace the network in tests.
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	dial   func(ctx context.Context, to netip.AddrPort, check func(netip.Addr) error) (net.Conn, error)
}

func newWeb(l Limits) *web {
	w := &web{slots: make(chan struct{}, l.HTTPConcurrent), lookup: net.DefaultResolver.LookupNetIP, dial: dial}
	w.transport = &http.Transport{
		Proxy:       nil, // a proxy would resolve names itself
		DialContext: w.connect,
		// A connection serves one request, so that each request is checked against the grants.
		DisableKeepAlives:      true,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 only
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: maxAnswerHeader,
	}
	return w
}

// grantKey is the key under which the context of a request carries the grant that covers it.
type grantKey struct{}

// connect dials the host of a request. It resolves the name once, refuses it if the grant does not permit one of its addresses, and dials one
// of the checked addresses: a second look-up could return others.
func (w *web) connect(ctx context.Context, _, address string) (net.Conn, error) {
	granted, ok := ctx.Value(grantKey{}).(*origin)
	if !ok {
		return nil, errors.New("a connection without a grant")
	}
	host, _, err := net.SplitHostPort(address) // the port is the grant's
	if err != nil {
		return nil, err
	}
	addrs, err := w.lookup(ctx, "ip", host)
	if err != nil || len(addrs) == 0 {
		return nil, cmp.Or(err, fmt.Errorf("the host %q has no address", host))
	}
	check := func(addr netip.Addr) error { return granted.checkAddr(host, addr) }
	for _, addr := range addrs {
		if err := check(addr); err != nil {
			return nil, err
		}
	}
	var failures []error
	for _, addr := range addrs {
		conn, err := w.dial(ctx, netip.AddrPortFrom(addr.Unmap(), granted.port), check)
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

// checkAddr refuses addresses that are not public, unless the grant contains this address, or localhost, with the port.
func (o origin) checkAddr(host string, addr netip.Addr) error {
	addr = addr.Unmap()
	if httpx.Public(addr) {
		return nil
	}
	if o.explicit && !o.subdomains && addr.Zone() == "" {
		if o.addr.IsValid() && o.addr.Unmap() == addr || o.host == "localhost" && addr.IsLoopback() {
			return nil
		}
	}
	return &privateError{host: host, addr: addr}
}

// privateError is returned for an address that is not public. Its text omits the address, so that plugins cannot explore the user's network.
type privateError struct {
	host string
	addr netip.Addr
}

// Error names the host and the remedy.
func (e *privateError) Error() string {
	return fmt.Sprintf("%s leads to an address that is not public; only a grant that names the IP address or localhost, and the port, such as http://127.0.0.1:8080, allows that", e.host)
}

// dial connects to an address. It repeats the check for the final address of the socket.
func dial(ctx context.Context, to netip.AddrPort, check func(netip.Addr) error) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		final, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return check(final.Addr())
	}}
	return dialer.DialContext(ctx, "tcp", to.String())
}

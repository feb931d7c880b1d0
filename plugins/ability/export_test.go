package ability

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"

	"github.com/tenonhq/tenon/internal/httpx"
)

// SetNetwork replaces look-ups of names and connections.
func SetNetwork(b *Broker, lookup func(host string) []netip.Addr, dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)) {
	b.web.lookup = func(ctx context.Context, network, host string) ([]netip.Addr, error) {
		if _, err := netip.ParseAddr(host); err == nil {
			return net.DefaultResolver.LookupNetIP(ctx, network, host)
		}
		return lookup(host), nil
	}
	if dial != nil {
		b.web.dial = func(ctx context.Context, to netip.AddrPort, _ func(netip.Addr) error) (net.Conn, error) {
			return dial(ctx, to)
		}
	}
}

// Operations returns the capability of each operation, which is empty for some.
func Operations(b *Broker) map[string]string {
	all := map[string]string{}
	for name, op := range b.table() {
		all[name] = op.capability
	}
	return all
}

// Trust makes the broker accept certificates of the pool.
func Trust(b *Broker, pool *x509.CertPool) { b.web.transport.TLSClientConfig.RootCAs = pool }

var (
	ParseStore = parseStore
	ParseURL   = parseURL
	ParseGrant = parseGrant
	IsPublic   = httpx.Public
	Dial       = dial
)

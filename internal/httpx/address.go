package httpx

import (
	"net/netip"
	"slices"
)

// publicIPv6 is the range that registries assign; all other ranges have special uses. See
// https://www.iana.org/assignments/ipv6-address-space
var publicIPv6 = netip.MustParsePrefix("2000::/3")

// reserved are the parts of the address space that do not lead to a public server: the registries of special addresses, see
// https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry.
var reserved = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // carrier-grade NAT
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("168.63.129.16/32"), // the metadata server of Azure, in a public range
	netip.MustParsePrefix("169.254.0.0/16"),   // link-local, and most metadata servers
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),   // documentation
	netip.MustParsePrefix("192.88.99.0/24"), // 6to4 relays
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("224.0.0.0/4"),     // multicast
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, broadcast

	netip.MustParsePrefix("2001::/23"),     // protocols, Teredo among them, which carries an IPv4 address
	netip.MustParsePrefix("2001:db8::/32"), // documentation
	netip.MustParsePrefix("2002::/16"),     // 6to4, which carries an IPv4 address
	netip.MustParsePrefix("3fff::/20"),     // documentation
}

// Public reports whether an address is one of the public internet: not loopback, private, link-local, multicast or reserved.
func Public(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.Zone() != "" {
		return false
	}
	// Outside of 2000::/3 are ::1, ::, ::a.b.c.d, NAT64, fc00::/7, fe80::/10, fec0::/10 and ff00::/8.
	if addr.Is6() && !publicIPv6.Contains(addr) {
		return false
	}
	return !slices.ContainsFunc(reserved[:], func(p netip.Prefix) bool { return p.Contains(addr) })
}

// Loopback reports whether a host of a URL, without its port, is this machine.
func Loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback() && addr.Zone() == ""
}

package ability

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/tenonhq/tenon/sdk"
)

// grants are the user's grants, prepared for checks. They are immutable.
type grants struct {
	scopes  map[string][]string // by the capability's name; a capability without scope has an empty list
	origins []origin            // the scope of http
}

// newGrants copies grants. It merges the scopes of several grants of one capability.
func newGrants(given []sdk.Capability, log *slog.Logger) grants {
	g := grants{scopes: map[string][]string{}}
	for _, c := range given {
		g.scopes[c.Name] = append(g.scopes[c.Name], c.Scope...)
		if c.Name != sdk.CapabilityHTTP {
			continue
		}
		for _, entry := range c.Scope {
			o, err := parseGrant(entry)
			if err != nil {
				log.Warn("grant has no effect", "capability", c.Name, "scope", entry, "err", err)
				continue
			}
			g.origins = append(g.origins, o)
		}
	}
	return g
}

// CheckAddress returns an error for a malformed or too wide entry in the scope of http. The error contains the entry and a remedy.
func CheckAddress(entry string) error {
	_, err := parseGrant(entry)
	return err
}

func (g *grants) has(capability string) bool {
	_, ok := g.scopes[capability]
	return ok
}

// names reports whether the scope contains exactly this name.
func (g *grants) names(capability, name string) bool {
	return name != "" && slices.Contains(g.scopes[capability], name)
}

// matches reports whether a pattern of the scope matches.
func (g *grants) matches(capability, name string) bool {
	return slices.ContainsFunc(g.scopes[capability], func(pattern string) bool { return Match(pattern, name) })
}

// origin returns the grant that covers the address.
func (g *grants) origin(o origin) (origin, bool) {
	for _, granted := range g.origins {
		if granted.covers(o) {
			return granted, true
		}
	}
	return origin{}, false
}

// Match compares a name with a pattern in which * matches any characters.
func Match(pattern, name string) bool {
	pieces := strings.Split(pattern, "*")
	last := len(pieces) - 1
	if last == 0 {
		return pattern == name
	}
	name, found := strings.CutPrefix(name, pieces[0])
	for _, piece := range pieces[1:last] {
		if found {
			_, name, found = strings.Cut(name, piece)
		}
	}
	return found && strings.HasSuffix(name, pieces[last])
}

// origin is a scheme, host and port. As a grant it may cover all subdomains of the host.
type origin struct {
	scheme string // http or https
	// host is a name in lower case without a trailing dot, or an IP address in its canonical form without brackets.
	host string
	addr netip.Addr // of an IP address; else invalid
	port uint16

	subdomains bool // covers any name below host, but not host itself
	explicit   bool // the port was written
}

// String returns the origin as a grant would name it.
func (o origin) String() string {
	host := o.host
	if o.addr.Is6() {
		host = "[" + host + "]"
	}
	if o.subdomains {
		host = "*." + host
	}
	if o.port == usualPort(o.scheme) && !o.explicit {
		return o.scheme + "://" + host
	}
	return fmt.Sprintf("%s://%s:%d", o.scheme, host, o.port)
}

// hostport returns the host as written in a URL.
func (o origin) hostport() string {
	if o.port != usualPort(o.scheme) {
		return net.JoinHostPort(o.host, strconv.Itoa(int(o.port)))
	}
	if o.addr.Is6() {
		return "[" + o.host + "]"
	}
	return o.host
}

// covers reports whether a grant covers the address of a request.
func (o origin) covers(asked origin) bool {
	if o.scheme != asked.scheme || o.port != asked.port {
		return false
	}
	if o.subdomains {
		return !asked.addr.IsValid() && strings.HasSuffix(asked.host, "."+o.host)
	}
	return o.host == asked.host
}

// parseGrant reads an entry of the scope of http: scheme://host[:port], with *. before the host for all its subdomains.
func parseGrant(entry string) (origin, error) {
	scheme, rest, ok := strings.Cut(entry, "://")
	rest, subdomains := strings.CutPrefix(rest, "*.")
	if !ok || rest == "" || strings.ContainsAny(rest, "/?#@*") {
		return origin{}, fmt.Errorf("invalid address %q: want scheme://host or scheme://host:port", entry)
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		return origin{}, fmt.Errorf("invalid address %q: %w", entry, err)
	}
	o, err := originOf(u)
	if err != nil {
		return origin{}, fmt.Errorf("%q: %w", entry, err)
	}
	o.subdomains = subdomains
	switch {
	case !subdomains:
	case o.addr.IsValid():
		return origin{}, fmt.Errorf("%q: an IP address has no subdomains; name the address alone", entry)
	case isSuffix(o.host):
		return origin{}, fmt.Errorf("%q is too wide: anyone can get a name below %s; name the domain too", entry, o.host)
	}
	return o, nil
}

// parseURL reads the URL of a request.
func parseURL(text string) (*url.URL, origin, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }) {
		return nil, origin{}, errors.New("the URL contains a space, a backslash or a character that is not ASCII; escape it, and write a host in its ASCII form (xn--…)")
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, origin{}, fmt.Errorf("bad URL: %w", err)
	}
	o, err := originOf(u)
	if err != nil {
		return nil, origin{}, err
	}
	u.Host = o.hostport() // send exactly what was checked
	return u, o, nil
}

// originOf returns the origin of a URL. It accepts only one spelling of every host, and refuses anything that a resolver might interpret as
// another address.
func originOf(u *url.URL) (origin, error) {
	o := origin{scheme: u.Scheme}
	switch {
	case usualPort(u.Scheme) == 0:
		return origin{}, fmt.Errorf("scheme %q: only http and https are supported", u.Scheme)
	case u.User != nil:
		return origin{}, errors.New("the URL contains a user name or password; send an Authorization header instead")
	case u.Opaque != "" || u.Host == "":
		return origin{}, errors.New("the URL has no host")
	}
	var err error
	if o.port, o.explicit, err = portOf(u); err != nil {
		return origin{}, err
	}
	o.host = strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if strings.HasPrefix(u.Host, "[") || strings.Contains(o.host, ":") {
		addr, err := netip.ParseAddr(o.host)
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return origin{}, fmt.Errorf("host %q is not an IPv6 address; zones are not supported", u.Hostname())
		}
		o.addr, o.host = addr, addr.String()
		return o, nil
	}
	if addr, err := netip.ParseAddr(o.host); err == nil {
		o.addr = addr
		return o, nil
	}
	return o, checkName(o.host)
}

func portOf(u *url.URL) (port uint16, explicit bool, err error) {
	text := u.Port()
	if text == "" {
		if strings.HasSuffix(u.Host, ":") {
			return 0, false, errors.New("the port is missing after the colon")
		}
		return usualPort(u.Scheme), false, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '0' {
		return 0, false, fmt.Errorf("port %q is not a number between 1 and 65535", text)
	}
	return uint16(n), true, nil
}

func usualPort(scheme string) uint16 {
	switch scheme {
	case "http":
		return 80
	case "https":
		return 443
	}
	return 0
}

// checkName refuses hosts that are not plain DNS names.
func checkName(host string) error {
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return fmt.Errorf("invalid host name %q; write its ASCII form (xn--…) with letters, digits, dots and -", host)
		}
	}
	// Resolvers interpret 127.1, 0x7f.1, 017700000001 and 2130706433 as addresses: a name must not end in a number.
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return fmt.Errorf("host %q is another way to write an IP address; write it as four decimal numbers", host)
	}
	return nil
}

// isSuffix reports whether anyone can register names below the domain, according to the list of https://publicsuffix.org in golang.org/x/net:
// domains of registries (com, co.uk) and of providers (github.io), and any other top-level domain.
func isSuffix(domain string) bool {
	// In entries such as *.kawasaki.jp, the names below a domain are suffixes, but not the domain itself.
	for _, name := range []string{domain, "-." + domain} {
		if suffix, _ := publicsuffix.PublicSuffix(name); suffix == name {
			return true
		}
	}
	return false
}

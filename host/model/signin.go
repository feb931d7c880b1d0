package model

import (
	"maps"
	"net/url"
)

// signIn adds stored credentials to a provider without a key. They are not sent to an address that a file of the project chose.
func (m *Models) signIn(p *provider) {
	if m.o.SignIn == nil || p.info.Key != "" || p.withheld != "" {
		return
	}
	info := p.info
	info.Options = maps.Clone(info.Options)
	source := m.o.SignIn(&info, p.addressed)
	switch {
	case source == "":
	case m.foreign[p.info.ID] != "":
		p.withheld = source
	default:
		p.info, p.keyFrom, p.signedIn = info, source, true
	}
}

// sameServer reports whether two addresses have the same scheme, host and port.
func sameServer(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Scheme == y.Scheme && x.Host == y.Host
}

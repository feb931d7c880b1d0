package model

import (
	"maps"
	"net/url"

	"github.com/tenonhq/tenon/sdk"
)

// SignInRequest asks for the stored credentials of a provider.
type SignInRequest struct {
	// Info receives Key, or Authorize with SignedInBy, and the address and options that belong to it.
	Info      *sdk.ProviderInfo
	Addressed bool             // the user chose the provider's address
	Methods   []sdk.AuthMethod // ways to sign in, of all providers
}

// signIn adds stored credentials to a provider without a key. They are not sent to an address that a file of the project chose.
func (m *Models) signIn(p *provider) {
	if m.o.SignIn == nil || p.info.Key != "" || p.withheld != "" {
		return
	}
	info := p.info
	info.Options = maps.Clone(info.Options)
	source := m.o.SignIn(&SignInRequest{Info: &info, Addressed: p.addressed, Methods: m.o.AuthMethods})
	switch {
	case source == "":
	case m.o.Foreign[p.info.ID] != "":
		p.withheld = source
	default:
		p.info, p.keyFrom, p.signedIn = info, source, true
	}
}

// signsIn reports whether the sign-in to the provider may be sent to the address of a model.
func (p *provider) signsIn(address string) bool {
	return address == p.info.BaseURL || sameServer(address, p.info.BaseURL) || p.info.Serves != nil && p.info.Serves(&p.info, address)
}

// sameServer reports whether two addresses have the same scheme, host and port.
func sameServer(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Scheme == y.Scheme && x.Host == y.Host
}

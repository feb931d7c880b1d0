package sdk

import "context"

// Token is a sign-in to a provider.
type Token struct {
	Access  string `json:"access"`
	Refresh string `json:"refresh,omitempty"` // empty: the user has to sign in again when Access expires
	Expires int64  `json:"expires,omitempty"` // expiry of Access in milliseconds since 1970; 0: never, or unknown
	// Metadata are further values that requests need, such as the number of an account.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// AuthMethod is a way to sign in to a provider. The host stores the token, passes it only to the plugin that issued it, and sends its
// headers only to the provider's address.
type AuthMethod struct {
	Plugin   string // name of a plugin that is not compiled in; set by the host
	Owner    string // identifies that plugin among others of its name: its tokens are stored for it; set by the host
	Provider string // ID of the provider
	ID       string // unique among the provider's methods of a plugin
	Name     string // human-readable
	// Login signs the user in. options are the provider's options in the user's own configuration; empty for plugins that are not compiled
	// in.
	Login func(ctx context.Context, options Object, user AuthUser) (*Token, error)
	// Refresh returns a new token for one that expired or was refused. It is called by one process at a time. Nil: the user signs in
	// again.
	Refresh func(ctx context.Context, options Object, t *Token) (*Token, error)
	// Apply sets the address and options that requests with the token need; not the key. Nil: none. Only plugins that are compiled in can
	// have it.
	Apply func(info *ProviderInfo, t *Token)
	// Headers returns the headers of requests with the token. It is called once for each token. Nil: the access token as a bearer token.
	Headers func(ctx context.Context, t *Token) (map[string]string, error)
	// Serves reports whether the token may also be sent to an address of a model that differs from the provider's. Nil: to none. Only plugins
	// that are compiled in can have it.
	Serves func(info *ProviderInfo, address string) bool
}

// AuthSource contributes ways to sign in to providers. Called once, after Start. A plugin that is not compiled in needs CapabilityAuth
// for each provider.
type AuthSource interface{ AuthMethods() []AuthMethod }

// AuthUser is the user during a sign-in.
type AuthUser interface {
	// Notice shows a line, such as the name of the program whose client is used.
	Notice(text string)
	// Code shows a code that the user enters at an address, on any device.
	Code(address, code string)
	// Visit asks the user to open an address in a browser. It returns the address that the browser was sent to if the user enters it,
	// and otherwise waits until ctx ends.
	Visit(ctx context.Context, address string) (redirect string, err error)
}

package credentials

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Type is the kind of a credential.
type Type string

// The types, with the names that opencode's auth.json uses.
const (
	TypeKey   Type = "api"   // a key that does not expire
	TypeOAuth Type = "oauth" // an access token, usually with a refresh token
)

// expirySlack is how long before its end a token counts as expired: it must remain valid during the request that it is sent with, and
// clocks differ. With a longer slack, short-lived tokens would be refreshed at each request. If a token ends earlier, the server refuses
// it, and it is refreshed then.
const expirySlack = 30 * time.Second

// Credential is a key or a token.
type Credential struct {
	Type Type   `json:"type"`
	Key  string `json:"key,omitempty"` // of TypeKey

	Access  string `json:"access,omitempty"`  // access token of TypeOAuth
	Refresh string `json:"refresh,omitempty"` // refresh token; empty: the user has to sign in again
	Expires int64  `json:"expires,omitempty"` // end of Access in milliseconds since 1970; 0: never, or unknown

	// Method is the sign-in method of a provider that issued the token and refreshes it.
	Method string `json:"method,omitempty"`
	// Plugin is the owner of the method (sdk.AuthMethod.Owner); empty if it is compiled in. Only its methods receive the token.
	Plugin string `json:"plugin,omitempty"`
	// Client is the OAuth client that the token was issued to; nil if Method determines it.
	Client *Client `json:"client,omitempty"`
	// Metadata are further values that requests need, such as the number of an account.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Keyring is set if the secrets are in the system's keyring, not in the file.
	Keyring bool `json:"keyring,omitempty"`
	// Source says where the credential comes from, for messages. It is not stored.
	Source string `json:"-"`
}

// Client is an OAuth client, and the server that issued a token to it.
type Client struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"`
	// Configured is the client ID in the user's configuration, empty if the server registered tenon.
	Configured string   `json:"configured,omitempty"`
	Issuer     string   `json:"issuer"`
	Resource   string   `json:"resource"`           // canonical URL of the MCP server
	Audience   string   `json:"audience,omitempty"` // resource that the server's metadata names, for refreshes
	TokenURL   string   `json:"tokenURL"`           // refreshes the token
	InHeader   bool     `json:"inHeader"`           // the secret is sent as Basic authentication, not in the body
	Scopes     []string `json:"scopes,omitempty"`   // granted scopes
	// Wanted are scopes that the server required after the sign-in. The next sign-in requests them.
	Wanted []string `json:"wanted,omitempty"`
	// Definition identifies the configuration of a project's server that the user signed in for; empty for the user's own servers.
	Definition string `json:"definition,omitempty"`
}

// Expired reports whether the access token has expired or will expire soon.
func (c *Credential) Expired(now time.Time) bool {
	return c.Expires != 0 && now.Add(expirySlack).UnixMilli() >= c.Expires
}

// Secret returns the key or the access token.
func (c *Credential) Secret() string {
	if c.Type == TypeKey {
		return c.Key
	}
	return c.Access
}

// Secrets returns all values that must not be shown.
func (c *Credential) Secrets() []string {
	all := []string{c.Key, c.Access, c.Refresh}
	if c.Client != nil {
		all = append(all, c.Client.Secret)
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// check returns an error for a credential that cannot be used. The error does not contain secrets.
func (c *Credential) check() error {
	switch {
	case c.Type != TypeKey && c.Type != TypeOAuth:
		return fmt.Errorf("type %q: want %s or %s", c.Type, TypeKey, TypeOAuth)
	case c.Secret() == "" && !c.Keyring:
		return fmt.Errorf("no key or access token")
	case c.Expires < 0:
		return fmt.Errorf("expires: want milliseconds since 1970")
	}
	for _, s := range c.Secrets() {
		if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("the key or token contains a line end or another control character")
		}
	}
	return nil
}

// ForProvider returns the name of a model provider's credential.
func ForProvider(id string) string { return providerPrefix + id }

// ProviderOf returns the provider that a credential's name belongs to, and false if it belongs to no provider.
func ProviderOf(name string) (id string, ok bool) { return strings.CutPrefix(name, providerPrefix) }

const providerPrefix = "provider/"

// Name returns the name of an MCP server's credential. The name depends on who issued the token, to which client, and for which
// server and configuration.
func (c *Client) Name() string {
	text, err := json.Marshal([]string{c.Issuer, c.ID, c.Resource, c.Definition})
	if err != nil { // strings always encode
		return ""
	}
	sum := sha256.Sum256(text)
	return "mcp/" + hex.EncodeToString(sum[:12])
}

package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/httpx"
)

// Config is the value of mcp.NAME.oauth, as in opencode. The zero value registers tenon with the server dynamically.
type Config struct {
	// Off means that the user's headers contain the credentials: tenon does not sign in.
	Off bool `json:"-"`
	// ClientID is a client that the user registered, or the https URL of a client ID metadata document.
	ClientID     string `json:"clientId,omitempty"`
	ClientSecret string `json:"clientSecret,omitempty"`
	// Scope lists the scopes to request, separated by spaces. Default: those that the server names.
	Scope string `json:"scope,omitempty"`
	// CallbackPort is the port that receives the answer of the browser. Default: any free port.
	CallbackPort int `json:"callbackPort,omitempty"`
	// RedirectURI replaces http://127.0.0.1:PORT/callback. If it is not a loopback address, the user enters the address that the
	// browser was sent to.
	RedirectURI string `json:"redirectUri,omitempty"`
}

// MarshalJSON returns the form that ParseConfig decodes.
func (c Config) MarshalJSON() ([]byte, error) {
	if c.Off {
		return []byte("false"), nil
	}
	return json.Marshal(fields(c))
}

// fields is a Config without its MarshalJSON method.
type fields Config

// ParseConfig decodes mcp.NAME.oauth: an object, or false. Nil means the zero value.
func ParseConfig(raw json.RawMessage) (Config, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return Config{}, nil
	case string(raw) == "false":
		return Config{Off: true}, nil
	}
	var c Config
	var report checked.Report
	source := checked.Source{Name: "oauth", NoLines: true}
	checker := checked.Checker{Source: &source, Report: &report, Rules: hidden{}}
	if n := source.Parse(raw, &report); n != nil && checker.Decode(n.Place(""), n, &c) {
		return c, c.Check()
	}
	return Config{}, report.Err(nil)
}

// hidden are rules for values that may be secrets.
type hidden struct{ checked.NoRules }

// Hides hides all values.
func (hidden) Hides(checked.Place) bool { return true }

// Check returns an error that names the wrong key.
func (c *Config) Check() error {
	switch {
	case c.CallbackPort < 0 || c.CallbackPort > 65535:
		return fmt.Errorf("oauth.callbackPort: %d: want 1 to 65535", c.CallbackPort)
	case c.ClientSecret != "" && c.ClientID == "":
		return errors.New("oauth.clientSecret: requires oauth.clientId")
	case c.RedirectURI == "":
		return nil
	}
	u, err := url.Parse(c.RedirectURI)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Fragment != "" {
		return fmt.Errorf("oauth.redirectUri: %q: want an absolute URL without a fragment", c.RedirectURI)
	}
	if c.CallbackPort != 0 && httpx.Loopback(u.Hostname()) && u.Port() != "" && u.Port() != fmt.Sprint(c.CallbackPort) {
		return errors.New("oauth.callbackPort: differs from the port in oauth.redirectUri; remove one of them")
	}
	return nil
}

// listenAt returns the address to listen at, or "" if the redirect does not lead to this machine.
func (c *Config) listenAt() string {
	if c.RedirectURI == "" {
		return fmt.Sprintf("http://127.0.0.1:%d/callback", c.CallbackPort)
	}
	u, err := url.Parse(c.RedirectURI)
	if err != nil || u.Scheme != "http" || !httpx.Loopback(u.Hostname()) {
		return ""
	}
	if u.Port() == "" {
		u.Host += fmt.Sprintf(":%d", c.CallbackPort)
	}
	return u.String()
}

// metadataDocument reports whether the client is a client ID metadata document.
func (c *Config) metadataDocument() bool { return strings.HasPrefix(c.ClientID, "https://") }

// registered reports whether the user registered the client.
func (c *Config) registered() bool { return c.ClientID != "" && !c.metadataDocument() }

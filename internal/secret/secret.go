// Package secret finds the secrets in a configuration by where they are: values with the name of a secret, parts of addresses, and values
// of command-line options.
package secret

import (
	"net/url"
	"slices"
	"strings"
)

// MinLength is the minimum length of a value that is masked in all texts, in bytes. Shorter ones would match ordinary text.
const MinLength = 8

// Mask replaces a secret.
const Mask = "***"

// names are suffixes of the names of secrets, in lower case and without - and _.
var names = []string{"apikey", "accesskey", "secretkey", "privatekey", "token", "secret", "password", "passwd", "credential", "credentials", "authorization"}

// more are the complete names of further secret parameters in addresses, and of options.
var more = map[string]bool{"key": true, "auth": true, "pass": true, "pwd": true, "sig": true, "signature": true, "code": true, "bearer": true}

// Named reports whether a value with this name is a secret: apiKey, GITHUB_TOKEN, client-secret.
func Named(name string) bool {
	name = plain(name)
	return slices.ContainsFunc(names, func(end string) bool { return strings.HasSuffix(name, end) })
}

func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "", `"`, "").Replace(strings.ToLower(name))
}

// InURL returns the secrets of an address, encoded and decoded: the password, a user name without a password, and parameters with the name of a
// secret. It returns none for other texts.
func InURL(text string) []string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil
	}
	var out []string
	if password, ok := u.User.Password(); ok {
		_, written, _ := strings.Cut(u.User.String(), ":")
		out = append(out, written, password)
	} else if u.User != nil {
		out = append(out, u.User.String(), u.User.Username())
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, written, _ := strings.Cut(pair, "=")
		if !Named(name) && !more[plain(name)] {
			continue
		}
		meant, _ := url.QueryUnescape(written) // empty if it is malformed
		out = append(out, written, meant)
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// WithoutSecrets returns an address, which may lack its scheme, for display: without user, password and query. It does not show an invalid
// address, because any part of it may be a secret.
func WithoutSecrets(address string) string {
	whole := address
	if !strings.Contains(address, "://") {
		whole = "//" + address
	}
	u, err := url.Parse(whole)
	if err != nil || u.Hostname() == "" || strings.Contains(u.Path, "@") {
		return "an address that is not valid"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return strings.TrimPrefix(u.String(), "//")
}

// InArgs returns the secrets on a command line: --token=X, --api-key X, TOKEN=X, and those in addresses.
func InArgs(args []string) []string {
	var out []string
	for i, arg := range args {
		name, value, assigned := strings.Cut(arg, "=")
		option := strings.HasPrefix(arg, "-")
		secret := Named(name) || option && more[plain(name)]
		switch {
		case strings.ContainsAny(name, " \t\n"), strings.Contains(name, "://"): // a script, an address
		case assigned && secret && value != "":
			out = append(out, value)
		case !assigned && option && secret && i+1 < len(args):
			out = append(out, args[i+1])
		}
		out = append(out, InURL(arg)...)
		if assigned {
			out = append(out, InURL(value)...)
		}
	}
	return out
}

// Hide returns text with the secrets masked, one after the other: a secret must precede shorter ones that it contains.
func Hide(text string, secrets []string) string {
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, Mask)
	}
	return text
}

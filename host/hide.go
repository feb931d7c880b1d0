package host

import (
	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/sdk"
)

// hide returns a text from outside, such as an error in which a server repeats what it was sent, without the secrets of
// the configuration. What is stored and told to others goes through it; what tools read is left as it is.
func (g *generation) hide(text string) string { return secret.Hide(text, g.made.Secrets) }

// wireError turns an error into its form on the wire, without secrets.
func (g *generation) wireError(err error) *sdk.NamedError {
	n := *namedError(err)
	n.Data.Message, n.Data.ResponseBody = g.hide(n.Data.Message), g.hide(n.Data.ResponseBody)
	if n.Data.ResponseHeaders != nil {
		headers := make(map[string]string, len(n.Data.ResponseHeaders))
		for name, value := range n.Data.ResponseHeaders {
			headers[name] = g.hide(value)
		}
		n.Data.ResponseHeaders = headers
	}
	return &n
}

// hideEntries takes the secrets out of what hooks said; entries are the caller's.
func (g *generation) hideEntries(entries []hooks.Entry) {
	for i := range entries {
		entries[i].Error, entries[i].Reason = g.hide(entries[i].Error), g.hide(entries[i].Reason)
	}
}

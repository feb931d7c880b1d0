package host

import (
	"maps"
	"slices"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// hide returns a text from outside, such as an error in which a server repeats what it was sent, without the secrets of
// the configuration. What is stored and told to others goes through it; what tools read is left as it is.
func (g *generation) hide(text string) string { return secret.Hide(text, g.made.Secrets) }

// Bounds of what is stored of a failed request, in bytes.
const (
	maxErrorText    = 4 << 10
	maxErrorBody    = 16 << 10 // what sdk.ProviderError promises
	maxErrorHeader  = 512      // one value
	maxErrorHeaders = 8 << 10  // names and values together
)

// wireError turns an error into its form on the wire, bounded and without secrets.
func (g *generation) wireError(err error) *sdk.NamedError {
	n := *namedError(err)
	n.Data.Message = visible.Cut(g.hide(n.Data.Message), maxErrorText, "…")
	n.Data.ResponseBody = visible.Cut(g.hide(n.Data.ResponseBody), maxErrorBody, "…")
	n.Data.ResponseHeaders = g.storedHeaders(n.Data.ResponseHeaders)
	return &n
}

// storedHeaders returns the headers of a failed answer that are stored: sorted by name, as many as maxErrorHeaders holds.
func (g *generation) storedHeaders(headers map[string]string) map[string]string {
	if headers == nil {
		return nil
	}
	out, room := map[string]string{}, maxErrorHeaders
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := visible.Cut(g.hide(headers[name]), maxErrorHeader, "…")
		if room -= len(name) + len(value); room < 0 {
			break
		}
		out[name] = value
	}
	return out
}

// hideEntries takes the secrets out of what hooks said; entries are the caller's.
func (g *generation) hideEntries(entries []hooks.Entry) {
	for i := range entries {
		entries[i].Error, entries[i].Reason = g.hide(entries[i].Error), g.hide(entries[i].Reason)
	}
}

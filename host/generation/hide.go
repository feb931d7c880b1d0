package generation

import (
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/sdk"
)

// Hide returns a text from outside, such as an error in which a server repeats what it was sent, without the secrets of
// the configuration. Texts that are stored or sent elsewhere go through it; texts that tools read do not.
func (g *Set) Hide(text string) string { return secret.Hide(text, g.r.o.Secrets) }

// WireError turns an error into its form on the wire, bounded and without secrets.
func (g *Set) WireError(err error) *sdk.NamedError { return model.WireError(err, g.Hide) }

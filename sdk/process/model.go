package process

import (
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

func connectionOf(c *tenonv1.Connection) guest.Connection {
	return guest.Connection{Protocol: c.GetProtocol(), Provider: c.GetProvider(), Key: c.GetKey()}
}

// providerError returns a *sdk.ProviderError for the wire; of other errors, only the text.
func providerError(err error) *tenonv1.ProviderError {
	e := guest.NewProviderError(err)
	out := &tenonv1.ProviderError{
		Provider: text(e.Provider), StatusCode: int32(e.StatusCode), Headers: map[string]string{}, Body: text(e.Body),
		Code: text(e.Code), Message: text(e.Message), Cut: e.Cut, Cause: text(e.Cause),
	}
	for name, value := range e.Headers {
		out.Headers[text(name)] = text(value)
	}
	return out
}

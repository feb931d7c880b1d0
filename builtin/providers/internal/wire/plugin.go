package wire

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/tenonhq/tenon/sdk"
)

// Format is a wire format that a plugin contributes.
type Format struct {
	Name string // in the configuration of a provider
	// Open returns a client of a provider. It does not use the network.
	Open func(info sdk.ProviderInfo, transport *http.Transport, log *slog.Logger) (sdk.ModelClient, error)
}

// NewPlugin returns a built-in plugin with these formats. All its clients share one pool of connections.
func NewPlugin(name, description string, formats ...Format) *sdk.Bundle {
	transport, log := NewTransport(), slog.New(slog.DiscardHandler)
	b := &sdk.Bundle{
		Info: sdk.Manifest{Name: name, Description: description, Carrier: sdk.CarrierBuiltin},
		OnStart: func(_ context.Context, h sdk.Host) error {
			log = h.Logger()
			return nil
		},
		OnClose: func(context.Context) error { // running requests end with their contexts
			transport.CloseIdleConnections()
			return nil
		},
	}
	for _, f := range formats {
		open := func(info sdk.ProviderInfo) (sdk.ModelClient, error) { return f.Open(info, transport, log) }
		b.ProtocolList = append(b.ProtocolList, sdk.Protocol{Name: f.Name, Open: open})
	}
	return b
}

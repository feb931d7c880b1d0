package wire

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/tenonhq/tenon/sdk"
)

// Format is a wire format that a Plugin contributes.
type Format struct {
	Name string // in the configuration of a provider
	// Open returns a client of a provider. It does not use the network.
	Open func(info sdk.ProviderInfo, transport *http.Transport, log *slog.Logger) (sdk.ModelClient, error)
}

// Plugin contributes wire formats. All its clients share one pool of connections.
type Plugin struct {
	manifest  sdk.Manifest
	formats   []Format
	transport *http.Transport
	log       *slog.Logger
}

var (
	_ sdk.Plugin         = (*Plugin)(nil)
	_ sdk.ProtocolSource = (*Plugin)(nil)
)

// NewPlugin returns a built-in plugin with these formats.
func NewPlugin(name, description string, formats ...Format) *Plugin {
	m := sdk.Manifest{Name: name, Description: description, Carrier: sdk.CarrierBuiltin}
	return &Plugin{manifest: m, formats: formats, transport: NewTransport(), log: slog.New(slog.DiscardHandler)}
}

// Manifest describes the plugin.
func (p *Plugin) Manifest() sdk.Manifest { return p.manifest }

// Start stores the logger. The first request connects.
func (p *Plugin) Start(_ context.Context, h sdk.Host) error {
	p.log = h.Logger()
	return nil
}

// Close closes idle connections. Running requests end with their contexts.
func (p *Plugin) Close(context.Context) error {
	p.transport.CloseIdleConnections()
	return nil
}

// Protocols returns the formats.
func (p *Plugin) Protocols() []sdk.Protocol {
	out := make([]sdk.Protocol, len(p.formats))
	for i, f := range p.formats {
		out[i] = sdk.Protocol{Name: f.Name, Open: func(info sdk.ProviderInfo) (sdk.ModelClient, error) { return f.Open(info, p.transport, p.log) }}
	}
	return out
}

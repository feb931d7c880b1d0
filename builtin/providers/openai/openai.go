// Package openai contributes the wire formats of OpenAI: Chat Completions ("openai-chat") and Responses ("openai-responses").
//
// openai-go parses the event stream, see internal/wire. Its client is not used: it links the types of every OpenAI service, which
// took 12 MB of memory at every start.
// Bodies and events have their own types because compatible servers use fields that
// OpenAI does not have (reasoning_content, reasoning_details, extra_content) and forms that it refuses,
// and because a process that answers one question should not pay for the reflection of unused types.
package openai

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/builtin/providers/openai/chat"
	"github.com/tenonhq/tenon/builtin/providers/openai/internal/api"
	"github.com/tenonhq/tenon/builtin/providers/openai/responses"
	"github.com/tenonhq/tenon/sdk"
)

// Names of the protocols in the configuration of a provider.
const (
	ProtocolChat      = chat.Protocol
	ProtocolResponses = responses.Protocol
)

// Plugin contributes both protocols. All its clients share one pool of connections.
type Plugin struct {
	transport *http.Transport
	log       *slog.Logger
}

var (
	_ sdk.Plugin         = (*Plugin)(nil)
	_ sdk.ProtocolSource = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin {
	return &Plugin{transport: wire.NewTransport(), log: slog.New(slog.DiscardHandler)}
}

// Manifest describes the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{
		Name:        "openai",
		Description: "OpenAI Chat Completions and Responses, for OpenAI and every compatible server",
		Carrier:     sdk.CarrierBuiltin,
	}
}

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

// Protocols returns openai-chat and openai-responses.
func (p *Plugin) Protocols() []sdk.Protocol {
	with := func(open func(sdk.ProviderInfo, *http.Transport, *slog.Logger) (sdk.ModelClient, error)) func(sdk.ProviderInfo) (sdk.ModelClient, error) {
		return func(info sdk.ProviderInfo) (sdk.ModelClient, error) {
			if api.Completions(&info) {
				return chat.Open(info, p.transport, p.log)
			}
			return open(info, p.transport, p.log)
		}
	}
	return []sdk.Protocol{
		{Name: ProtocolChat, Open: with(chat.Open)},
		{Name: ProtocolResponses, Open: with(responses.Open)},
	}
}

// Package openai talks to model servers that speak OpenAI's protocols, whoever runs them: Chat
// Completions ("openai-chat") and Responses ("openai-responses").
//
// openai-go reads the frames of the event stream. Of it this package uses packages/ssestream alone: its client links the types of
// every service of OpenAI, which took 12 MB of memory at every start, however little of them was used.
// Bodies and events have types of this package, for three reasons. Compatible servers use fields that
// OpenAI does not have (reasoning_content, reasoning_details, extra_content) and shapes it would refuse.
// A stream of tens of thousands of small events must cost little. And a process that answers one
// question should not pay for the reflection of types it does not use.
//
// The way of a request:
//
//	Stream ── chatBody / responsesBody ──► post ──► exchange (timeouts) ──► consume (framing)
//	                                                                           │ events
//	sink ◄── answer (blocks, tool calls, finish) ◄── chatDecoder / responsesDecoder
package openai

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/tenonhq/tenon/sdk"
)

// Names of the protocols, as "protocol" in a provider's configuration has them.
const (
	ProtocolChat      = "openai-chat"
	ProtocolResponses = "openai-responses"
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
	return &Plugin{transport: newTransport(), log: slog.New(slog.DiscardHandler)}
}

// Manifest describes the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{
		Name:        "openai",
		Description: "OpenAI Chat Completions and Responses, for OpenAI and every compatible server",
		Carrier:     sdk.CarrierBuiltin,
	}
}

// Start keeps the logger; connections are made by the first request.
func (p *Plugin) Start(_ context.Context, h sdk.Host) error {
	p.log = h.Logger()
	return nil
}

// Close closes idle connections. Requests that still run end with their contexts.
func (p *Plugin) Close(context.Context) error {
	p.transport.CloseIdleConnections()
	return nil
}

// Protocols returns openai-chat and openai-responses.
func (p *Plugin) Protocols() []sdk.Protocol {
	open := func(responses bool) func(sdk.ProviderInfo) (sdk.ModelClient, error) {
		return func(info sdk.ProviderInfo) (sdk.ModelClient, error) {
			return newClient(info, responses, p.transport, p.log)
		}
	}
	return []sdk.Protocol{
		{Name: ProtocolChat, Open: open(false)},
		{Name: ProtocolResponses, Open: open(true)},
	}
}

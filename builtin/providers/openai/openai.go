// Package openai contributes the wire formats of OpenAI: Chat Completions ("openai-chat") and Responses ("openai-responses").
//
// Bodies and events have their own types because compatible servers use fields that OpenAI does not have (reasoning_content,
// reasoning_details, extra_content) and forms that it refuses.
package openai

import (
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

// New returns the plugin that contributes both protocols.
func New() *sdk.Bundle {
	return wire.NewPlugin("openai", "OpenAI Chat Completions and Responses, for OpenAI and every compatible server",
		wire.Format{Name: ProtocolChat, Open: chat.Open}, wire.Format{Name: ProtocolResponses, Open: openResponses})
}

// openResponses opens Responses, or Chat Completions for a provider that has only that.
func openResponses(info sdk.ProviderInfo, transport *http.Transport, log *slog.Logger) (sdk.ModelClient, error) {
	if api.Completions(&info) {
		return chat.Open(info, transport, log)
	}
	return responses.Open(info, transport, log)
}

// Package chat is the wire format Chat Completions ("openai-chat") of OpenAI and many compatible servers.
package chat

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/builtin/providers/openai/internal/api"
	"github.com/tenonhq/tenon/sdk"
)

// Protocol is the name of the format in the configuration of a provider.
const Protocol = "openai-chat"

type client struct{ *api.Client }

var (
	_ sdk.ModelClient = client{}
	_ sdk.ModelLister = client{}
)

// Open returns a client of the provider. It does not use the network.
func Open(info sdk.ProviderInfo, transport *http.Transport, log *slog.Logger) (sdk.ModelClient, error) {
	c, err := api.Open(info, transport, log)
	return client{c}, err
}

// Stream sends the request and passes on the answer.
func (c client) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	return c.Ask(ctx, "chat/completions", req, c.Body, newDecoder, sink)
}

// newDecoder returns a decoder of one answer.
func newDecoder(out *wire.Answer) wire.Decoder {
	return &decoder{Answer: out, byIndex: map[int]*wire.Call{}}
}

// mark marks the system prompt and the ends of requests for the server's cache, for Claude and at Alibaba: other models cache by themselves, and
// the gateway of Vercel sets its own marks.
func (c client) mark(req *sdk.ModelRequest, messages []message) {
	name := strings.ToLower(wire.APIName(&req.Model))
	wanted := strings.Contains(name, "claude") || strings.Contains(name, "anthropic") || c.Info.NPM == "@ai-sdk/alibaba"
	if !wanted || c.Info.NPM == "@ai-sdk/gateway" || c.Info.NPM == "" || !wire.Marks(req) {
		return
	}
	last, previous := wire.Ends(len(messages), func(i int) bool { return messages[i].Role == sdk.RoleAssistant })
	for i := range messages {
		if m := &messages[i]; m.Role == "system" || i == last || i == previous {
			m.mark(c.Info.NPM == api.Copilot)
		}
	}
}

// mark marks the last part of a message, or the message itself if its content has no parts.
func (m *message) mark(copilot bool) {
	ephemeral := &cacheControl{"ephemeral"}
	if copilot {
		m.CopilotCache = ephemeral
		return
	}
	if text, ok := m.Content.(string); ok && text != "" && m.Role != sdk.RoleTool {
		m.Content = []part{textPart(text)}
	}
	if parts, ok := m.Content.([]part); ok && len(parts) > 0 {
		parts[len(parts)-1].Cache = ephemeral
		return
	}
	m.Cache = ephemeral
}

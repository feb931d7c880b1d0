// Package chat is the wire format Chat Completions ("openai-chat") of OpenAI and many compatible servers.
package chat

import (
	"context"
	"log/slog"
	"net/http"

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
	return api.Open(info, transport, log, func(c *api.Client) sdk.ModelClient { return client{c} })
}

// Stream sends the request and passes on the answer.
func (c client) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	return c.Ask(ctx, "chat/completions", req, c.Body, newDecoder, sink)
}

// newDecoder returns a decoder of one answer.
func newDecoder(out *wire.Answer) wire.Decoder {
	return &decoder{Answer: out, byIndex: map[int]*wire.Call{}}
}

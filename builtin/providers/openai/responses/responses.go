// Package responses is the wire format Responses ("openai-responses") of OpenAI and some compatible servers.
package responses

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/builtin/providers/openai/internal/api"
	"github.com/tenonhq/tenon/sdk"
)

// Protocol is the name of the format in the configuration of a provider.
const Protocol = "openai-responses"

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
	return c.Ask(ctx, "responses", req, c.Body, newDecoder, sink)
}

// newDecoder returns a decoder of one answer.
func newDecoder(out *wire.Answer) wire.Decoder {
	return &decoder{Answer: out, items: map[int]*openItem{}}
}

// Package responses is the wire format Responses ("openai-responses") of OpenAI and some compatible servers.
package responses

import (
	"context"
	"fmt"
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
	if err != nil {
		return nil, err
	}
	return client{c}, nil
}

// Stream sends the request and passes on the answer.
func (c client) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	body, err := c.Body(req)
	if err != nil {
		return fmt.Errorf("provider %s: encode the request: %w", c.Info.ID, err) // not a *sdk.ProviderError: a retry would not help
	}
	return c.Conn.Stream(ctx, &wire.Request{
		Path: c.Path("responses", &req.Model), Body: body, Headers: c.Client.Headers(req), Decoder: NewDecoder,
	}, sink)
}

// NewDecoder returns a decoder of one answer.
func NewDecoder(out *wire.Answer) wire.Decoder { return &decoder{Answer: out} }

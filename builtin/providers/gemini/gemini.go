// Package gemini is the wire format of Google's models ("gemini"), at the Gemini API and on Vertex AI.
package gemini

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/vertex"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// Protocol is the name of the format in the configuration of a provider.
const Protocol = "gemini"

// New returns the plugin that contributes the wire format.
func New() *sdk.Bundle {
	return wire.NewPlugin("gemini", "Gemini models, at Google's Gemini API and on Vertex AI", wire.Format{Name: Protocol, Open: Open})
}

// client sends requests to one provider.
type client struct {
	*wire.Conn
	vertex bool // Vertex AI, which does not support call IDs
}

// Open returns a client of the provider. It does not use the network.
func Open(info sdk.ProviderInfo, transport *http.Transport, log *slog.Logger) (sdk.ModelClient, error) {
	c := &client{vertex: info.NPM == vertex.NPM}
	r := wire.NewOptions(&info)
	setup := wire.Setup{Options: r, Transport: transport, Log: log}
	var err error
	if c.vertex {
		if setup.Authorize, err = vertex.Setup(&info, r, "v1beta1", "google", "us-central1"); err != nil {
			return nil, err
		}
	} else {
		setup.Authorize = wire.KeyHeader("x-goog-api-key", info.Key)
	}
	setup.Info = info
	c.Conn, err = wire.Open(setup)
	return c, err
}

// Stream sends the request and passes on the answer.
func (c *client) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	return c.Ask(ctx, req, c.Body, &wire.Request{
		Path:    "models/" + wire.Segment(wire.APIName(&req.Model)) + ":streamGenerateContent?alt=sse",
		Decoder: func(out *wire.Answer) wire.Decoder { return &decoder{Answer: out, tools: req.Tools} },
	}, sink)
}

var _ sdk.ModelLister = (*client)(nil)

type listedModel struct {
	Name    string   `json:"name"` // models/ID
	Title   string   `json:"displayName"`
	Input   float64  `json:"inputTokenLimit"`
	Output  float64  `json:"outputTokenLimit"`
	Methods []string `json:"supportedGenerationMethods"`
}

// ListModels requests the server's models, see https://ai.google.dev/api/models#method:-models.list. Errors: errors.ErrUnsupported at Vertex AI.
func (c *client) ListModels(ctx context.Context) ([]sdk.Model, error) {
	if c.vertex {
		return nil, vertex.ErrNoList
	}
	return wire.List(ctx, c.Conn, "models?pageSize=1000", "models", func(m *listedModel) sdk.Model {
		if len(m.Methods) > 0 && !slices.Contains(m.Methods, "generateContent") {
			return sdk.Model{}
		}
		return sdk.Model{
			ID: strings.TrimPrefix(m.Name, "models/"), Name: m.Title, ToolCall: true, Attachment: true, Temperature: true,
			Limit: sdk.ModelLimit{Context: wire.Count(m.Input), Output: wire.Count(m.Output)},
		}
	})
}

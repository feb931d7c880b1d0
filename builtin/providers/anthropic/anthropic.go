// Package anthropic implements the wire format Messages ("anthropic-messages") of Anthropic and compatible servers: at Anthropic, on
// Vertex AI, and at other addresses with the same events.
package anthropic

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
const Protocol = "anthropic-messages"

// Version is the version of the API, see https://docs.anthropic.com/en/api/versioning.
const Version = "2023-06-01"

// betas are the features that opencode requests of Anthropic, see its provider/provider.ts.
const betas = "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14"

// copilotBetas are those that opencode requests of GitHub Copilot, see its plugin/github-copilot.
const copilotBetas = "interleaved-thinking-2025-05-14"

// betaHeader names beta features, with commas between them, see https://docs.anthropic.com/en/api/beta-headers.
const betaHeader = "anthropic-beta"

// bindingBeta allows thinking.block_binding: without it, the server refuses each request with this field.
const bindingBeta = "thinking-binding-controls-2026-08-01"

// New returns the plugin that contributes the wire format.
func New() *sdk.Bundle {
	return wire.NewPlugin("anthropic", "Anthropic Messages, for Claude and compatible servers", wire.Format{Name: Protocol, Open: Open})
}

// client sends requests to one provider.
type client struct {
	*wire.Conn
	vertex bool // the format of Vertex AI: the model is in the address
	eager  bool // tool arguments arrive as the model writes them
}

// Open returns a client of the provider. It does not use the network.
func Open(info sdk.ProviderInfo, transport *http.Transport, log *slog.Logger) (sdk.ModelClient, error) {
	c := &client{vertex: info.NPM == vertex.NPMAnthropic}
	c.eager = !c.vertex && info.NPM != wire.Copilot
	headers := map[string]string{"anthropic-version": Version}
	r := wire.NewOptions(&info)
	setup := wire.Setup{Options: r, Transport: transport, Log: log, Headers: headers}
	var err error
	switch {
	case c.vertex:
		delete(headers, "anthropic-version") // it is in the body
		path := info.BaseURL
		if setup.Authorize, err = vertex.Setup(&info, r, "v1", "anthropic", "global"); err != nil {
			return nil, err
		}
		if path == "" {
			info.BaseURL += "/models"
		}
	case info.NPM == wire.Copilot:
		headers[betaHeader] = copilotBetas
		wire.SetCopilot(&info, r)
	default:
		headers[betaHeader] = betas
		setup.Authorize = wire.KeyHeader("x-api-key", info.Key)
	}
	setup.Info = info
	c.Conn, err = wire.Open(setup)
	return c, err
}

// Stream sends the request and passes on the answer.
func (c *client) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	path := "messages"
	switch {
	case c.Info.NPM == wire.Copilot:
		path = "v1/messages"
	case c.vertex:
		path = wire.Segment(wire.APIName(&req.Model)) + ":streamRawPredict"
	}
	return c.Ask(ctx, req, c.Body, &wire.Request{
		Path: path, Headers: c.allBetas(req),
		Decoder: func(out *wire.Answer) wire.Decoder { return &decoder{Answer: out} },
	}, sink)
}

// allBetas returns one header with the beta features of the provider, the model and the request, each of which may have its own.
func (c *client) allBetas(req *sdk.ModelRequest) map[string]string {
	var all []string
	for _, headers := range []map[string]string{c.Headers, req.Model.Headers, req.Headers} {
		for name, value := range headers {
			if strings.EqualFold(name, betaHeader) && value != "" {
				all = append(all, strings.Split(value, ",")...)
			}
		}
	}
	if setThinking(wireOptions(req.Params.Options), wire.APIName(&req.Model))["block_binding"] != nil {
		all = append(all, bindingBeta)
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return map[string]string{betaHeader: strings.Join(slices.Compact(all), ",")}
}

var _ sdk.ModelLister = (*client)(nil)

type listedModel struct {
	ID   string `json:"id"`
	Name string `json:"display_name"`
}

// ListModels requests the server's models, see https://docs.anthropic.com/en/api/models-list. Errors: errors.ErrUnsupported at Vertex AI.
func (c *client) ListModels(ctx context.Context) ([]sdk.Model, error) {
	if c.vertex {
		return nil, vertex.ErrNoList
	}
	return wire.List(ctx, c.Conn, "models?limit=1000", "data", func(m *listedModel) sdk.Model {
		return sdk.Model{ID: m.ID, Name: m.Name, ToolCall: true, Attachment: true}
	})
}

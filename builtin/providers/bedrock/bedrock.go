// Package bedrock is the wire format Converse ("bedrock-converse") of Amazon Bedrock.
package bedrock

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/sigv4"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// Protocol is the name of the format in the configuration of a provider.
const Protocol = "bedrock-converse"

// New returns the plugin that contributes the wire format.
func New() *sdk.Bundle {
	return wire.NewPlugin("bedrock", "Models on Amazon Bedrock", wire.Format{Name: Protocol, Open: Open})
}

// client sends requests to Bedrock in one region.
type client struct {
	*wire.Conn
	region string
}

// Open returns a client of the provider. It does not use the network.
func Open(info sdk.ProviderInfo, transport *http.Transport, log *slog.Logger) (sdk.ModelClient, error) {
	c := &client{}
	r := wire.NewOptions(&info)
	region, authorize, err := sigv4.Setup(&info, r, "bedrock")
	if err != nil {
		return nil, err
	}
	c.region = region
	wire.Read(r, "endpoint", wire.String, &info.BaseURL)
	if info.BaseURL == "" {
		info.BaseURL = "https://bedrock-runtime." + c.region + ".amazonaws.com"
	}
	setup := wire.Setup{Info: info, Options: r, Transport: transport, Log: log, Frames: newFrames, Authorize: authorize}
	c.Conn, err = wire.Open(setup)
	return c, err
}

// Stream sends the request and passes on the answer.
func (c *client) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	model := inferenceID(wire.APIName(&req.Model), c.region)
	return c.Ask(ctx, req, c.Body, &wire.Request{
		Path: "model/" + wire.Segment(model) + "/converse-stream", Accept: "application/vnd.amazon.eventstream",
		Decoder: func(out *wire.Answer) wire.Decoder { return &decoder{out} },
	}, sink)
}

// inferenceID returns the ID of the inference profile through which a model is used in a region: some models have no other ID. The families and
// regions come from opencode's provider/provider.ts.
func inferenceID(model, region string) string {
	has := func(families ...string) bool {
		return slices.ContainsFunc(families, func(family string) bool { return strings.Contains(model, family) })
	}
	for _, prefix := range []string{"global.", "us.", "us-gov.", "eu.", "jp.", "apac.", "au.", "arn:"} {
		if strings.HasPrefix(model, prefix) {
			return model
		}
	}
	area, _, _ := strings.Cut(region, "-")
	prefix := ""
	switch {
	case area == "us" && !strings.HasPrefix(region, "us-gov") && has("nova-micro", "nova-lite", "nova-pro", "nova-premier", "nova-2", "claude", "deepseek.r1"):
		prefix = "us."
	case area == "eu" && has("claude", "nova-lite", "nova-micro", "llama3", "pixtral") &&
		slices.Contains([]string{"eu-west-1", "eu-west-2", "eu-west-3", "eu-north-1", "eu-central-1", "eu-south-1", "eu-south-2"}, region):
		prefix = "eu."
	case (region == "ap-southeast-2" || region == "ap-southeast-4") && has("anthropic.claude-sonnet-4-5", "anthropic.claude-haiku"):
		prefix = "au."
	case area == "ap" && has("claude", "nova-lite", "nova-micro", "nova-pro"):
		prefix = "apac."
		if region == "ap-northeast-1" {
			prefix = "jp."
		}
	}
	return prefix + model
}

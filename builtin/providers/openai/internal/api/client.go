// Package api holds the shared parts of OpenAI's two wire formats: options, parameters and the list of models.
package api

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"unsafe"

	"github.com/tenonhq/tenon/builtin/providers/internal/sigv4"
	"github.com/tenonhq/tenon/builtin/providers/internal/vertex"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// Client sends requests to one provider, whose options it has checked.
type Client struct {
	*wire.Conn
	CacheKey     bool // send the session as prompt_cache_key
	IncludeUsage bool // request the usage of a stream
	// ReasoningField is the field for the model's earlier reasoning: "auto", "none", or a name.
	ReasoningField string
	OpenAI         bool // OpenAI's own servers, or Azure's
	OutputLimit    bool // send the maximum number of tokens of an answer
	chatGPT        bool // the server for users of ChatGPT
	azure          azure
}

// Values of the option reasoningField.
const (
	ReasoningAuto = "auto"
	ReasoningNone = "none"
)

// cacheKeys returns the npm packages that send prompt_cache_key by default, see opencode's provider/transform.ts.
func cacheKeys() []string {
	return []string{
		"@ai-sdk/openai", "@ai-sdk/azure", mantle, "@ai-sdk/xai", "@ai-sdk/mistral", "venice-ai-sdk-provider",
		"@ai-sdk/deepinfra", "@ai-sdk/cerebras",
	}
}

// The npm packages with their own rules in both formats.
const (
	Mistral    = "@ai-sdk/mistral"
	Copilot    = wire.Copilot
	OpenRouter = "@openrouter/ai-sdk-provider"
	Azure      = "@ai-sdk/azure"
	mantle     = "@ai-sdk/amazon-bedrock/mantle" // OpenAI's models at Bedrock
)

// mantleService is the name of mantle's servers in signatures and in permissions, see
// https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html.
const mantleService = "bedrock-mantle"

// MistralCallID is the length of the call IDs that Mistral's models accept; they are alphanumeric.
const MistralCallID = 9

// noTopK returns the packages whose servers refuse top_k.
func noTopK() []string {
	return []string{Mistral, Copilot, Azure, "@ai-sdk/openai", "@ai-sdk/xai", "@ai-sdk/groq", "@ai-sdk/cerebras", mantle}
}

// Open checks the options of a provider and returns its client. It does not use the network.
func Open(info sdk.ProviderInfo, transport *http.Transport, log *slog.Logger) (*Client, error) {
	c := &Client{IncludeUsage: info.NPM != Mistral, ReasoningField: ReasoningAuto}
	r := wire.NewOptions(&info)
	err := c.azure.setup(&info, r)
	if err != nil {
		return nil, err
	}
	if base, err := url.Parse(info.BaseURL); err == nil {
		c.OpenAI = base.Hostname() == "api.openai.com" || strings.HasSuffix(base.Hostname(), ".openai.azure.com")
		c.chatGPT = base.Hostname() == "chatgpt.com"
	}
	c.OutputLimit = !c.chatGPT // ChatGPT's server refuses the field
	c.CacheKey = c.OpenAI || slices.Contains(cacheKeys(), info.NPM)
	wire.Read(r, "setCacheKey", wire.Bool, &c.CacheKey)
	wire.Read(r, "includeUsage", wire.Bool, &c.IncludeUsage)
	wire.Read(r, "outputLimit", wire.Bool, &c.OutputLimit)
	wire.Read(r, "reasoningField", wire.String, &c.ReasoningField)
	headers := map[string]string{}
	setup := wire.Setup{Options: r, Transport: transport, Log: log, Headers: headers}
	google := vertex.Serves(info.BaseURL)
	switch {
	case google && info.Authorize == nil && (info.Key == "" || info.NoKey): // else the key is a token: providers that work without a key have another kind of sign-in
		if setup.Authorize, err = vertex.Setup(&info, r, "", "", ""); err != nil {
			return nil, err
		}
	case !google:
		for option, header := range map[string]string{"organization": "OpenAI-Organization", "project": "OpenAI-Project"} {
			value := ""
			if wire.Read(r, option, wire.String, &value); value != "" {
				headers[header] = value
			}
		}
	}
	maps.Copy(headers, introduction(&info))
	if info.NPM == Copilot {
		headers["X-GitHub-Api-Version"] = wire.CopilotVersion
		wire.SetCopilot(&info, r)
	}
	if info.NPM == Azure {
		setup.Authorize = wire.KeyHeader("api-key", info.Key)
	}
	if info.NPM == mantle && info.Headers["Authorization"] == "" {
		if _, setup.Authorize, err = sigv4.Setup(&info, r, mantleService); err != nil {
			return nil, err
		}
	}
	setup.Info = info
	c.Conn, err = wire.Open(setup)
	return c, err
}

// Ask sends a request to the path of a format and passes on the answer.
func (c *Client) Ask(ctx context.Context, path string, req *sdk.ModelRequest, encode func(*sdk.ModelRequest) ([]byte, error), decoder func(*wire.Answer) wire.Decoder, sink func(sdk.StreamEvent) error) error {
	r := &wire.Request{Path: c.Path(path, &req.Model), Decoder: decoder}
	if c.chatGPT {
		r.Headers = map[string]string{"session-id": req.SessionID} // selects the replica that has the session in its cache
	}
	return c.Conn.Ask(ctx, req, encode, r, sink)
}

// introduction returns the headers that name tenon to gateways, which list the programs that use them.
func introduction(info *sdk.ProviderInfo) map[string]string {
	listed := slices.Contains([]string{OpenRouter, "@ai-sdk/gateway", "@ai-sdk/vercel"}, info.NPM)
	switch {
	case listed || slices.Contains([]string{"kilo", "llmgateway", "nvidia", "zenmux"}, info.ID):
		return map[string]string{"HTTP-Referer": "https://github.com/tenonhq/tenon", "X-Title": "tenon"}
	case info.NPM == "@ai-sdk/cerebras":
		return map[string]string{"X-Cerebras-3rd-Party-Integration": "tenon"}
	}
	return nil
}

// SetParams sets the fields that have the same name in both formats, and the output limit under the name maxTokens.
func (c *Client) SetParams(b *wire.Body, req *sdk.ModelRequest, maxTokens string) {
	p := &req.Params
	forced := req.ToolChoice == sdk.ToolChoiceRequired && (c.OpenAI || !req.Model.Reasoning) // DeepSeek, Qwen, Kimi and Claude refuse it while they reason
	if len(req.Tools) > 0 && (forced || req.ToolChoice == sdk.ToolChoiceNone) {
		b.Set("tool_choice", req.ToolChoice)
	}
	if !Reasons(&req.Model) || p.Options["reasoningEffort"] == "none" { // OpenAI's models that reason refuse both, even behind gateways
		b.Merge(wire.Sampling(p, "top_p", ""))
	}
	if p.TopK != nil && !c.OpenAI && c.Info.NPM != "" && !slices.Contains(noTopK(), c.Info.NPM) {
		b.Set("top_k", *p.TopK)
	}
	if c.OutputLimit && p.MaxOutputTokens > 0 && !(c.Info.NPM == Copilot && strings.Contains(wire.APIName(&req.Model), "gpt")) {
		b.Set(maxTokens, p.MaxOutputTokens)
	}
	if c.CacheKey && req.SessionID != "" {
		b.Set("prompt_cache_key", req.SessionID)
	}
}

// Reasons reports whether the model belongs to OpenAI's families that reason: they refuse max_tokens.
func Reasons(m *sdk.Model) bool {
	name := path.Base(wire.APIName(m))
	family := func(family string) bool { return strings.HasPrefix(name, family) }
	return slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5", "gpt-6"}, family)
}

// ArgumentsText returns the arguments of a call as the text that both formats use.
func ArgumentsText(args []byte) string {
	if len(args) == 0 {
		return "{}"
	}
	return unsafe.String(unsafe.SliceData(args), len(args)) // not copied: arguments of a request do not change
}

// OptionNames returns the names of options in the format, for wire.Renamed. Chat Completions and Responses have different positions.
func OptionNames(responses bool) map[string]string {
	names := map[string]string{
		"serviceTier":          "service_tier",
		"parallelToolCalls":    "parallel_tool_calls",
		"promptCacheKey":       "prompt_cache_key",
		"promptCacheRetention": "prompt_cache_retention",
		"safetyIdentifier":     "safety_identifier",
		"reasoningEffort":      "reasoning_effort",
		"textVerbosity":        "verbosity",
		"cacheControl":         "", // only switches marks off
	}
	if responses {
		names["reasoningEffort"] = "reasoning.effort"
		names["reasoning_effort"] = "reasoning.effort"
		names["reasoningSummary"] = "reasoning.summary"
		names["textVerbosity"] = "text.verbosity"
		names["verbosity"] = "text.verbosity"
	}
	return names
}

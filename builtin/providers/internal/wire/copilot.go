package wire

import (
	"net/url"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// Copilot is the npm package of GitHub Copilot, which is served in three formats.
const Copilot = "@ai-sdk/github-copilot"

// CopilotVersion is the version of GitHub's API, see opencode's packages/opencode/src/plugin/github-copilot.
const CopilotVersion = "2026-06-01"

// copilotHeaders returns the headers of a request to GitHub Copilot, and none for other providers. x-initiator decides whether the request is
// billed: user for the user's own words, agent for everything that follows from them, such as a reminder to continue after a summary.
func copilotHeaders(info *sdk.ProviderInfo, req *sdk.ModelRequest) map[string]string {
	if info.NPM != Copilot {
		return nil
	}
	h := map[string]string{"Openai-Intent": "conversation-edits", "X-GitHub-Api-Version": CopilotVersion, "x-initiator": "agent"}
	if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == sdk.RoleUser && req.Purpose == sdk.PurposeTurn && req.Step <= 1 {
		h["x-initiator"] = "user"
	}
	image := func(c sdk.ModelContent) bool {
		return c.Type == sdk.ContentFile && strings.HasPrefix(c.Mime, "image/") ||
			slices.ContainsFunc(c.Files, Image)
	}
	for i := range req.Messages {
		if slices.ContainsFunc(req.Messages[i].Content, image) {
			h["Copilot-Vision-Request"] = "true"
		}
	}
	return h
}

// Tools returns the tools of a request. Copilot and LiteLLM refuse a conversation with calls in a request without tools, such as one for a
// summary: they get a dummy tool, as in opencode.
func Tools(info *sdk.ProviderInfo, req *sdk.ModelRequest) []sdk.ToolDefinition {
	demanded := info.NPM == Copilot || strings.Contains(strings.ToLower(info.ID), "litellm")
	isCall := func(c sdk.ModelContent) bool { return c.Type == sdk.ContentToolCall }
	hasCall := func(m sdk.ModelMessage) bool { return slices.ContainsFunc(m.Content, isCall) }
	if len(req.Tools) > 0 || !demanded || !slices.ContainsFunc(req.Messages, hasCall) {
		return req.Tools
	}
	return []sdk.ToolDefinition{{ID: "_noop", Description: "Never call this tool. It is here because the server demands one."}}
}

// SetCopilot sets the address of GitHub Enterprise, if the options name its domain or address.
func SetCopilot(info *sdk.ProviderInfo, r *Options) {
	domain := ""
	Read(r, "enterpriseUrl", String, &domain)
	if u, err := url.Parse(domain); err == nil && u.Host != "" {
		domain = u.Host
	}
	if domain != "" {
		info.BaseURL = "https://copilot-api." + strings.TrimSuffix(domain, "/")
	}
}

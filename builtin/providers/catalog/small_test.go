package catalog_test

import (
	"testing"

	"github.com/tenonhq/tenon/builtin/providers/catalog"
	"github.com/tenonhq/tenon/sdk"
)

// TestSmallModel picks the newest text model of the first family that a provider has.
func TestSmallModel(t *testing.T) {
	t.Parallel()
	entry := func(family, date string, outputs ...string) sdk.Model {
		return sdk.Model{Family: family, ReleaseDate: date, Modalities: sdk.Modalities{Output: outputs}}
	}
	all := map[string]sdk.Model{
		"flash-old": entry("gemini-flash", "2025-01-01", "text"), "flash": entry("gemini-flash", "2026-01-01", "text"),
		"flash-image": entry("gemini-flash", "2026-02-01", "text", "image"), "flash-lite": entry("gemini-flash-lite", "2026-03-01"),
		"nano": entry("gpt-nano", "2026-01-01"), "mini": entry("gpt-mini", "2026-01-01"), "haiku": entry("claude-haiku", "2026-01-01"),
		"pro": entry("gemini-pro", "2026-05-01"),
	}
	only := func(ids ...string) map[string]sdk.Model {
		out := map[string]sdk.Model{}
		for _, id := range ids {
			out[id] = all[id]
		}
		return out
	}
	profiles := map[string]sdk.Model{}
	for _, id := range []string{"anthropic.haiku", "eu.anthropic.haiku", "us.anthropic.haiku", "global.anthropic.haiku"} {
		profiles[id] = all["haiku"]
	}
	for name, c := range map[string]struct {
		provider, npm, of string
		models            map[string]sdk.Model
		want              string
	}{
		"newest of the first family": {provider: "x", models: all, want: "flash"},
		"the next family":            {provider: "x", models: only("pro", "haiku", "nano"), want: "nano"},
		"the last family":            {provider: "x", models: only("pro", "haiku"), want: "haiku"},
		"images only":                {provider: "x", models: only("flash-image", "pro"), want: ""},
		"no family":                  {provider: "x", models: only("pro", "flash-lite"), want: ""},
		"Copilot":                    {provider: "github-copilot-enterprise", models: all, want: "mini"},
		"opencode":                   {provider: "opencode-go", models: all, want: "nano"},
		"opencode without nano":      {provider: "opencode", models: only("flash"), want: ""},
		"Azure's own names":          {provider: "azure-cognitive-services", models: all, want: ""},
		"Bedrock, with a profile":    {provider: "mine", npm: "@ai-sdk/amazon-bedrock", of: "eu.amazon.nova-pro-v1:0", models: profiles, want: "eu.anthropic.haiku"},
		"Bedrock, worldwide":         {provider: "mine", npm: "@ai-sdk/amazon-bedrock", of: "global.anthropic.opus", models: profiles, want: "global.anthropic.haiku"},
		"Bedrock, without a profile": {provider: "mine", npm: "@ai-sdk/amazon-bedrock", of: "deepseek.v3.2", models: profiles, want: "anthropic.haiku"},
		"Bedrock, another profile":   {provider: "mine", npm: "@ai-sdk/amazon-bedrock", of: "jp.anthropic.opus", models: profiles, want: "anthropic.haiku"},
	} {
		models := map[string]sdk.Model{}
		for id, m := range c.models {
			m.ID = id
			models[id] = m
		}
		if got := catalog.New().SmallModel(&sdk.ProviderInfo{ID: c.provider, NPM: c.npm}, &sdk.Model{ID: c.of}, models); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

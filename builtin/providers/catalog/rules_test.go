package catalog_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/providers/catalog"
	"github.com/tenonhq/tenon/sdk"
)

// TestCatalogModels reads the models of every provider.
func TestCatalogModels(t *testing.T) {
	t.Parallel()
	c := catalog.New()
	total := 0
	for _, p := range c.Providers() {
		models, err := c.CatalogModels(p.ID)
		if err != nil {
			t.Error(err)
		}
		total += len(models)
		for id, m := range models {
			if m.ID != id || m.Name == "" || m.NPM != "" && m.Protocol == "" && !strings.Contains(m.NPM, "ai-gateway") && !strings.Contains(m.NPM, "sap") {
				t.Errorf("%s: %+v", p.ID, m)
			}
			c.CompleteModel(&p, &m)
		}
	}
	if total < 4500 {
		t.Errorf("%d models", total)
	}
	if models, err := c.CatalogModels("../x"); models != nil || err != nil {
		t.Errorf("unknown provider: %v, %v", models, err)
	}
	models, err := c.CatalogModels("anthropic")
	if err != nil {
		t.Fatal(err)
	}
	m := models["claude-sonnet-4-5"]
	if m.Family != "claude-sonnet" || m.Limit.Context != 200_000 || m.Cost.CacheWrite != 3_750_000 || len(m.ReasoningOptions) != 1 || m.ReleaseDate != "2025-09-29" {
		t.Errorf("claude-sonnet-4-5: %+v", m)
	}
}

func FuzzModels(f *testing.F) {
	f.Add([]byte(`{"a":{"name":"A","interleaved":true,"experimental":{"modes":{"fast":{"cost":{"input":1},"provider":{"body":{"x":1}}}}}}}`))
	f.Add([]byte(`{"a":{"reasoning":true,"reasoning_options":[{"type":"effort","values":[null,"high"]},{"type":"budget_tokens","min":1}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		models, err := catalog.DecodeModels("anthropic", data)
		if err != nil {
			return
		}
		for id, m := range models {
			catalog.New().CompleteModel(&sdk.ProviderInfo{ID: "anthropic", NPM: "@ai-sdk/anthropic"}, &m)
			if _, err := json.Marshal(&m); err != nil || m.ID != id || m.ProviderID != "anthropic" {
				t.Errorf("model %q is %+v, %v", id, m, err)
			}
		}
	})
}

// TestVariants tests the ways in which the families of models reason.
func TestVariants(t *testing.T) {
	t.Parallel()
	budget := []sdk.ReasoningOption{{Type: "budget_tokens", Min: 1024}}
	for name, c := range map[string]struct {
		npm     string
		options []sdk.ReasoningOption
		names   string
		variant string
		want    string
	}{
		"gpt-5.2":                      {"@ai-sdk/openai", nil, "high low medium none xhigh", "high", `{"reasoningEffort":"high","reasoningSummary":"auto"}`},
		"gpt-5-pro":                    {"@ai-sdk/openai", nil, "high", "", ""},
		"claude-opus-4-8":              {"@ai-sdk/anthropic", nil, "high low max medium xhigh", "max", `{"effort":"max","thinking":{"display":"summarized","type":"adaptive"}}`},
		"claude-sonnet-4-5":            {"@ai-sdk/anthropic", budget, "high max", "max", `{"thinking":{"budgetTokens":31999,"type":"enabled"}}`},
		"claude-haiku-4-5":             {"@ai-sdk/google-vertex/anthropic", budget, "high max", "high", `{"thinking":{"budgetTokens":16000,"type":"enabled"}}`},
		"gemini-2.5-pro":               {"@ai-sdk/google", nil, "high max", "max", `{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":32768}}`},
		"gemini-3-flash":               {"@ai-sdk/google", nil, "high low medium minimal", "low", `{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"low"}}`},
		"anthropic.claude-opus-4-6-v1": {"@ai-sdk/amazon-bedrock", nil, "high low max medium", "max", `{"reasoningConfig":{"maxReasoningEffort":"max","type":"adaptive"}}`},
		"openai/gpt-oss-120b":          {"@openrouter/ai-sdk-provider", nil, "high low medium", "low", `{"reasoning":{"effort":"low"}}`},
		"deepseek-r1":                  {"@ai-sdk/openai-compatible", nil, "", "", ""},
		"deepseek-v4-pro":              {"@ai-sdk/openai-compatible", nil, "high low max medium", "max", `{"reasoningEffort":"max"}`},
	} {
		m := sdk.Model{ID: name, Reasoning: true, ReasoningOptions: c.options, Limit: sdk.ModelLimit{Output: 64_000}}
		catalog.New().CompleteModel(&sdk.ProviderInfo{ID: "x", NPM: c.npm}, &m)
		if got := strings.Join(slices.Sorted(maps.Keys(m.Variants)), " "); got != c.names {
			t.Errorf("%s: variants %q, want %q", name, got, c.names)
		}
		if got, _ := json.Marshal(m.Variants[c.variant]); c.variant != "" && string(got) != c.want {
			t.Errorf("%s: %s is %s, want %s", name, c.variant, got, c.want)
		}
	}
}

func TestFamilies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider, npm string
		want          string // options, temperature, topP, topK
	}{
		"gpt-5.1":         {"openai", "@ai-sdk/openai", `{"reasoningEffort":"medium","reasoningSummary":"auto","textVerbosity":"low"} - - -`},
		"gpt-5-codex":     {"openai", "@ai-sdk/openai", `{"reasoningEffort":"medium","reasoningSummary":"auto"} - - -`},
		"gemini-3-pro":    {"google", "@ai-sdk/google", `{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"high"}} 1 0.95 64`},
		"z-ai/glm-4.7":    {"openrouter", "@openrouter/ai-sdk-provider", `{"usage":{"include":true}} 1 - -`},
		"minimax-m2.1":    {"minimax", "@ai-sdk/anthropic", `null 1 0.95 40`},
		"kimi-k2-0905":    {"moonshotai", "@ai-sdk/openai-compatible", `null 0.6 - -`},
		"claude-sonnet-5": {"anthropic", "@ai-sdk/anthropic", `null - - -`},
		"glm-5":           {"zai", "@ai-sdk/openai-compatible", `{"thinking":{"clear_thinking":false,"type":"enabled"}} - - -`},
	} {
		m := sdk.Model{ID: name, Reasoning: true, Temperature: true}
		catalog.New().CompleteModel(&sdk.ProviderInfo{ID: c.provider, NPM: c.npm}, &m)
		options, _ := json.Marshal(m.Options)
		got := []string{string(options)}
		for _, v := range []any{m.Sampling.Temperature, m.Sampling.TopP, m.Sampling.TopK} {
			text, _ := json.Marshal(v)
			got = append(got, strings.ReplaceAll(string(text), "null", "-"))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}

// TestCopilotFormats: Copilot serves each family in its own format.
func TestCopilotFormats(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"claude-sonnet-4.5": "anthropic-messages ", "gpt-5.2": "openai-responses ", "gpt-5-mini": " ", "gpt-4.1": " ",
	} {
		m := sdk.Model{ID: name}
		catalog.New().CompleteModel(&sdk.ProviderInfo{ID: "github-copilot", NPM: "@ai-sdk/github-copilot", Protocol: "openai-chat", BaseURL: "https://api.githubcopilot.com"}, &m)
		if got := m.Protocol + " " + m.BaseURL; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestAddresses: the options of the provider replace the variables in a model's address; none of them names another server.
func TestAddresses(t *testing.T) {
	t.Parallel()
	const (
		mantle = "https://bedrock-mantle.${AWS_REGION}.api.aws/openai/v1"
		claude = "https://${AZURE_RESOURCE_NAME}.services.ai.azure.com/anthropic/v1"
		open   = "https://${GOOGLE_VERTEX_ENDPOINT}/v1/projects/${GOOGLE_VERTEX_PROJECT}/locations/${GOOGLE_VERTEX_LOCATION}/endpoints/openapi"
	)
	for name, c := range map[string]struct {
		address string
		options sdk.Object
		want    string
	}{
		"region":           {mantle, sdk.Object{"region": "eu-west-1"}, "https://bedrock-mantle.eu-west-1.api.aws/openai/v1"},
		"default region":   {mantle, nil, "https://bedrock-mantle.us-east-1.api.aws/openai/v1"},
		"another server":   {mantle, sdk.Object{"region": "x.evil.example/"}, mantle},
		"resource":         {claude, sdk.Object{"resourceName": "My-res"}, "https://My-res.services.ai.azure.com/anthropic/v1"},
		"no resource":      {claude, nil, claude},
		"project":          {open, sdk.Object{"project": "acme.com:p", "location": "eu"}, "https://aiplatform.eu.rep.googleapis.com/v1/projects/acme.com:p/locations/eu/endpoints/openapi"},
		"default location": {open, sdk.Object{"project": "p/../q"}, "https://us-central1-aiplatform.googleapis.com/v1/projects/p%2F..%2Fq/locations/us-central1/endpoints/openapi"},
		"unknown variable": {"https://${OTHER}/v1", nil, "https://${OTHER}/v1"},
	} {
		m := sdk.Model{ID: "m", BaseURL: c.address}
		catalog.New().CompleteModel(&sdk.ProviderInfo{ID: "p", Options: c.options}, &m)
		if m.BaseURL != c.want {
			t.Errorf("%s: %s, want %s", name, m.BaseURL, c.want)
		}
	}
}

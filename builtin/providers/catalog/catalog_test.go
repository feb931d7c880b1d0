package catalog_test

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/internal/testhost"
	"github.com/tenonhq/tenon/builtin/providers/anthropic"
	"github.com/tenonhq/tenon/builtin/providers/bedrock"
	"github.com/tenonhq/tenon/builtin/providers/catalog"
	"github.com/tenonhq/tenon/builtin/providers/gemini"
	"github.com/tenonhq/tenon/builtin/providers/openai"
	"github.com/tenonhq/tenon/sdk"
)

// TestTable checks the rules for every entry.
func TestTable(t *testing.T) {
	t.Parallel()
	open := map[string]func(sdk.ProviderInfo) (sdk.ModelClient, error){}
	for _, source := range []sdk.ProtocolSource{openai.New(), anthropic.New(), gemini.New(), bedrock.New()} {
		for _, p := range source.Protocols() {
			open[p.Name] = p.Open
		}
	}
	ids := map[string]bool{}
	for _, p := range catalog.New().Providers() {
		if ids[p.ID] {
			t.Errorf("%s is in the catalog twice", p.ID)
		}
		ids[p.ID] = true
		if !strings.Contains(p.BaseURL, "${") && p.BaseURL != "" {
			u, err := url.Parse(p.BaseURL)
			onMachine := err == nil && (u.Hostname() == "127.0.0.1" || u.Hostname() == "localhost")
			if err != nil || u.Host == "" || strings.HasSuffix(p.BaseURL, "/") || (u.Scheme == "http") != onMachine || p.Local && !onMachine {
				t.Errorf("%s: base URL %q", p.ID, p.BaseURL)
			}
		}
		if p.Name == "" || p.Key != "" || p.NPM == "" || (len(p.Env) == 0) != (p.Local || p.NoKey) && !p.NoKey {
			t.Errorf("%s: incomplete: %+v", p.ID, p)
		}
		p.Options = sdk.Object{}
		for option := range p.OptionEnv {
			if p.Options[option] = "x"; option == "endpoint" {
				p.Options[option] = "https://x.example"
			}
		}
		if openIt := open[p.Protocol]; openIt == nil {
			t.Errorf("%s: unknown protocol %q", p.ID, p.Protocol)
		} else if _, err := openIt(p); err != nil && !strings.Contains(p.BaseURL, "${") {
			t.Errorf("%s: %v", p.ID, err)
		}
		if p.Default+p.Small == "" {
			continue
		}
		models, err := catalog.New().CatalogModels(p.ID)
		if err != nil {
			t.Error(err)
		}
		for _, named := range []string{p.Default, p.Small} {
			if named != "" {
				checkModel(t, p.ID, named, models[named])
			}
		}
	}
	if len(ids) < 140 {
		t.Errorf("%d providers", len(ids))
	}
}

// TestRecentModels: the snapshot has the models that were newer than models.dev.
func TestRecentModels(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("recent.json")
	if err != nil {
		t.Fatal(err)
	}
	var recent map[string]map[string]any
	if err := json.Unmarshal(data, &recent); err != nil {
		t.Fatal(err)
	}
	for provider, list := range recent {
		models, err := catalog.New().CatalogModels(provider)
		if err != nil {
			t.Error(err)
		}
		for id := range list {
			checkModel(t, provider, id, models[id])
		}
	}
}

func checkModel(t *testing.T, provider, id string, m sdk.Model) {
	t.Helper()
	if m.ID != id || m.ProviderID != provider || m.Name == "" || !m.ToolCall || m.Attachment != (len(m.Modalities.Input) > 1) {
		t.Errorf("%s/%s: %+v", provider, id, m)
	}
	if l := m.Limit; l.Context < 32_000 || l.Output < 8_000 || l.Output > l.Context || l.Input > l.Context {
		t.Errorf("%s/%s: limits %+v", provider, id, l)
	}
	if c := m.Cost; c.Input <= 0 || c.Output < c.Input || c.CacheRead > c.Input || (c.CacheWrite > 0 && c.CacheWrite > 2*c.Input) {
		t.Errorf("%s/%s: prices %+v", provider, id, c)
	}
	if over := m.Cost.Over200K; over != nil && (over.Input < m.Cost.Input || m.Limit.Context <= 200_000) {
		t.Errorf("%s/%s: prices over 200,000 tokens %+v", provider, id, *over)
	}
	if len(m.ReasoningOptions) > 0 && !m.Reasoning {
		t.Errorf("%s/%s: efforts without reasoning", provider, id)
	}
}

func TestOneModelInFull(t *testing.T) {
	t.Parallel()
	models, err := catalog.New().CatalogModels("google")
	if err != nil {
		t.Fatal(err)
	}
	got := models["gemini-3.1-pro-preview"]
	low, medium, high := "low", "medium", "high"
	want := sdk.Model{
		ID: "gemini-3.1-pro-preview", ProviderID: "google", Name: "Gemini 3.1 Pro Preview", Family: "gemini-pro", ReleaseDate: "2026-02-19", Reasoning: true, Temperature: true, ToolCall: true, Attachment: true,
		Limit: sdk.ModelLimit{Context: 1_048_576, Output: 65_536},
		Cost: sdk.ModelCost{Input: 2_000_000, Output: 12_000_000, CacheRead: 200_000, Tiers: []sdk.PriceTier{{
			Tier: sdk.TierBound{Size: 200_000}, Input: 4_000_000, Output: 18_000_000, CacheRead: 400_000,
		}}},
		Modalities:       sdk.Modalities{Input: []string{"text", "image", "video", "audio", "pdf"}, Output: []string{"text"}},
		ReasoningOptions: []sdk.ReasoningOption{{Type: "effort", Values: []*string{&low, &medium, &high}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestOrder: what is tried first when several keys are set, and the local servers on their usual ports.
func TestOrder(t *testing.T) {
	t.Parallel()
	var ids, local []string
	for _, p := range catalog.New().Providers() {
		if p.Local {
			local = append(local, p.ID+" "+p.BaseURL)
			continue
		}
		if p.Default != "" {
			ids = append(ids, p.ID)
		}
	}
	wantIDs := []string{"openai", "anthropic", "google", "openrouter", "groq", "deepseek", "mistral", "xai", "togetherai", "fireworks-ai", "cerebras", "github-copilot"}
	wantLocal := []string{"ollama http://127.0.0.1:11434/v1", "lmstudio http://127.0.0.1:1234/v1", "llama.cpp http://127.0.0.1:8080/v1", "vllm http://127.0.0.1:8000/v1"}
	if diff := cmp.Diff([][]string{wantIDs, wantLocal}, [][]string{ids, local}); diff != "" {
		t.Error(diff)
	}
}

func TestCallersOwnTheResult(t *testing.T) {
	t.Parallel()
	p := catalog.New()
	first := p.Providers()
	first[0].Env[0] = "CHANGED"
	if second := p.Providers(); second[0].Env[0] == "CHANGED" {
		t.Error("a change of one result shows in the next")
	}
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	p := catalog.New()
	m := p.Manifest()
	if err := m.Validate(); err != nil {
		t.Error(err)
	}
	if err := p.Start(t.Context(), testhost.New(t)); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := p.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkProviders(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		catalog.New().Providers()
	}
}

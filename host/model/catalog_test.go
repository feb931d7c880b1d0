package model_test

import (
	"context"
	"testing"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

// catalog has models of the provider known.
type catalog struct {
	smallest
	refreshed *int
}

func (c catalog) RefreshCatalog() { *c.refreshed++ }

func (catalog) CatalogModels(provider string) (map[string]sdk.Model, error) {
	if provider != "known" {
		return nil, nil
	}
	m := sdk.Model{Name: "New", NPM: "@ai-sdk/anthropic", Protocol: "x", Cost: sdk.ModelCost{Input: 2}, Limit: sdk.ModelLimit{Context: 3}}
	return map[string]sdk.Model{"m": m, "curated": m, "only": m}, nil
}

// speaker answers with two events and then calls after.
type speaker struct{ before, after func() }

func (s speaker) Stream(_ context.Context, _ *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	s.before()
	for _, e := range []sdk.StreamEvent{{Type: sdk.StreamText, Text: "a"}, {Type: sdk.StreamFinish, Reason: sdk.FinishStop}} {
		if err := sink(e); err != nil {
			return err
		}
	}
	s.after()
	return nil
}

// TestCatalogIsRefreshed: once, when the first answer of a provider of the catalog begins, at the catalog's own address.
func TestCatalogIsRefreshed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider string
		baseURL  string
		want     int
	}{
		"the catalog's":    {"known", "", 1},
		"another address":  {"known", "http://127.0.0.1:1", 0},
		"not in a catalog": {"other", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refreshed := 0
			check := func(want int) func() {
				return func() {
					if refreshed != want {
						t.Errorf("refreshed %d times, want %d", refreshed, want)
					}
				}
			}
			config := &sdk.Config{}
			if c.baseURL != "" {
				config.Provider = map[string]sdk.ProviderConfig{c.provider: {Options: sdk.ProviderOptions{BaseURL: c.baseURL}}}
			}
			client := &speaker{before: check(0), after: check(c.want)}
			models := model.New(model.Options{
				Config: config, Engine: &hooks.Engine{}, Catalogs: []sdk.ModelCatalog{catalog{refreshed: &refreshed}},
				Providers: []sdk.ProviderInfo{{ID: c.provider, Protocol: "x", BaseURL: "https://a.example"}},
				Protocols: map[string]sdk.Protocol{"x": {Name: "x", Open: func(sdk.ProviderInfo) (sdk.ModelClient, error) { return client, nil }}},
			})
			m, err := models.Open(t.Context(), c.provider+"/m", false)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := m.Stream(t.Context(), &sdk.ModelRequest{Model: m.Model}, func(sdk.StreamEvent) error { return nil }); err != nil {
					t.Fatal(err)
				}
				client.before = func() {}
			}
		})
	}
}

// TestOwnModels: a plugin's own description of a model replaces that of a catalog.
func TestOwnModels(t *testing.T) {
	t.Parallel()
	own := sdk.Model{Name: "Own", Cost: sdk.ModelCost{Input: 9}}
	models := model.New(model.Options{
		Config: &sdk.Config{}, Engine: &hooks.Engine{}, Catalogs: []sdk.ModelCatalog{catalog{}},
		Providers: []sdk.ProviderInfo{{ID: "known", Models: map[string]sdk.Model{"curated": own}}},
	})
	for id, want := range map[string]sdk.Model{
		"m":       {Name: "New", NPM: "@ai-sdk/anthropic", Cost: sdk.ModelCost{Input: 2}},
		"curated": own,
	} {
		got, err := models.Resolve("known/" + id)
		if err != nil || got.Name != want.Name || got.Cost.Input != want.Cost.Input || got.NPM != want.NPM {
			t.Errorf("%s = %+v, %v, want %+v", id, got, err, want)
		}
	}
}

package model_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

// smallest is a catalog without models. The small model is the first by name with the prefix of the model in use.
type smallest struct{}

func (smallest) CatalogModels(string) (map[string]sdk.Model, error) { return nil, nil }

func (smallest) RefreshCatalog() {}

func (smallest) CompleteModel(*sdk.ProviderInfo, *sdk.Model) {}

func (smallest) SmallModel(_ *sdk.ProviderInfo, of *sdk.Model, models map[string]sdk.Model) string {
	for _, id := range slices.Sorted(maps.Keys(models)) {
		if id != of.ID && strings.HasPrefix(id, of.ID) {
			return id
		}
	}
	return ""
}

// TestSmall: the provider's small model, else that of the rules among the models that may be used, else the model itself.
func TestSmall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		small  string // of the provider
		config sdk.ProviderConfig
		of     string
		want   string
	}{
		"the provider's":          {small: "tiny", of: "big", want: "tiny"},
		"by the rules":            {of: "big", want: "big-1"},
		"none":                    {of: "other", want: "other"},
		"switched off":            {small: "tiny", config: sdk.ProviderConfig{Blacklist: []string{"tiny", "big-1"}}, of: "big", want: "big-2"},
		"all of them":             {small: "tiny", config: sdk.ProviderConfig{Whitelist: []string{"big"}}, of: "big", want: "big"},
		"at a server of the user": {config: sdk.ProviderConfig{Options: sdk.ProviderOptions{BaseURL: "http://127.0.0.1:1"}}, of: "big", want: "big"},
		"from the configuration":  {config: sdk.ProviderConfig{Models: map[string]sdk.ModelConfig{"big-0": {}}}, of: "big", want: "big-0"},
	} {
		models := model.New(model.Options{
			Config: &sdk.Config{Provider: map[string]sdk.ProviderConfig{"p": c.config}}, Engine: &hooks.Engine{}, Catalogs: []sdk.ModelCatalog{smallest{}},
			Providers: []sdk.ProviderInfo{{ID: "p", Small: c.small, Models: map[string]sdk.Model{"tiny": {}, "big": {}, "big-1": {}, "big-2": {}, "other": {}}}},
		})
		if got, err := models.Small(t.Context(), sdk.Model{ProviderID: "p", ID: c.of}); err != nil || got.ID != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got.ID, err, c.want)
		}
	}
}

// TestSmallOfAccount: the small model is one that the account has.
func TestSmallOfAccount(t *testing.T) {
	t.Parallel()
	lister := account{list: func(context.Context) ([]sdk.Model, error) { return []sdk.Model{{ID: "m"}, {ID: "m-2"}}, nil }}
	models := model.New(model.Options{
		Config: &sdk.Config{}, Engine: &hooks.Engine{}, Catalogs: []sdk.ModelCatalog{smallest{}},
		Providers: []sdk.ProviderInfo{{ID: "p", Protocol: "x", AccountModels: true, Env: []string{"TOKEN"}, Models: map[string]sdk.Model{"m": {}, "m-1": {}, "m-2": {}}}},
		Environ:   []string{"TOKEN=secret"},
		Protocols: map[string]sdk.Protocol{"x": {Open: func(sdk.ProviderInfo) (sdk.ModelClient, error) { return lister, nil }}},
	})
	of, err := models.Open(t.Context(), "p/m", false)
	if err != nil {
		t.Fatal(err)
	}
	small, err := models.Small(t.Context(), of.Model)
	if err != nil || small.ID != "m-2" {
		t.Fatalf("Small = %q, %v, want m-2", small.ID, err)
	}
	if _, err := models.Open(t.Context(), small.Ref().String(), false); err != nil {
		t.Error(err)
	}
}

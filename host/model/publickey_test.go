package model_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

// TestPublicKey: without a key of the user, the public one is sent for models without a price only.
func TestPublicKey(t *testing.T) {
	t.Parallel()
	priced := sdk.Model{Cost: sdk.ModelCost{Input: 1}}
	for name, c := range map[string]struct {
		environ []string
		id      string
		key     string // empty: an error
	}{
		"free":               {nil, "free", "public"},
		"priced":             {nil, "priced", ""},
		"unknown":            {nil, "new", ""},
		"free, with a key":   {[]string{"P_KEY=mine"}, "free", "mine"},
		"priced, with a key": {[]string{"P_KEY=mine"}, "priced", "mine"},
	} {
		var opened []string
		models := model.New(model.Options{
			Config: &sdk.Config{}, Engine: &hooks.Engine{}, Environ: c.environ, Catalogs: []sdk.ModelCatalog{smallest{}},
			Providers: []sdk.ProviderInfo{{ID: "p", Protocol: "x", Env: []string{"P_KEY"}, PublicKey: "public", Models: map[string]sdk.Model{"free": {}, "free-1": priced, "free-2": {}, "priced": priced}}},
			Protocols: map[string]sdk.Protocol{"x": {Open: func(info sdk.ProviderInfo) (sdk.ModelClient, error) {
				opened = append(opened, info.Key)
				return failing{}, nil
			}}},
		})
		_, err := models.Open(t.Context(), "p/"+c.id, false)
		if c.key == "" {
			if !errors.Is(err, model.ErrModel) || !strings.Contains(err.Error(), "P_KEY") || len(opened) != 0 {
				t.Errorf("%s: %v, opened with %q, want an error that names the variable", name, err, opened)
			}
		} else if err != nil || len(opened) != 1 || opened[0] != c.key {
			t.Errorf("%s: %v, opened with %q, want %q", name, err, opened, c.key)
		}
		small := "free-1"
		if len(c.environ) == 0 {
			small = "free-2"
		}
		if got, err := models.Small(t.Context(), sdk.Model{ProviderID: "p", ID: "free"}); err != nil || got.ID != small {
			t.Errorf("%s: the small model is %q, %v, want %q", name, got.ID, err, small)
		}
		if _, err := models.Open(t.Context(), "p/priced", false); len(c.environ) == 0 && err == nil {
			t.Errorf("%s: then a model with a price can be used", name)
		}
	}
}

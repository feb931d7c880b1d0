package model_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

// account is a server with a list of models.
type account struct {
	sdk.ModelClient
	list func(context.Context) ([]sdk.Model, error)
}

func (l account) ListModels(ctx context.Context) ([]sdk.Model, error) { return l.list(ctx) }

// newModels returns the models of a process with a provider with AccountModels.
func newModels(config *sdk.Config, list func(context.Context) ([]sdk.Model, error)) *model.Models {
	protocol := func(name string) sdk.Protocol {
		return sdk.Protocol{Name: name, Open: func(sdk.ProviderInfo) (sdk.ModelClient, error) { return account{list: list}, nil }}
	}
	return model.New(model.Options{
		Config: config, Engine: &hooks.Engine{}, Catalogs: []sdk.ModelCatalog{catalog{}},
		Providers: []sdk.ProviderInfo{{ID: "known", Protocol: "x", BaseURL: "https://a.example", AccountModels: true, Env: []string{"TOKEN"}}},
		Environ:   []string{"TOKEN=secret"},
		Protocols: map[string]sdk.Protocol{"x": protocol("x"), "y": protocol("y")},
	})
}

// opener returns a function that opens models of a provider with AccountModels, as a process does, and the number of requests for the list.
func opener(t *testing.T, config *sdk.Config, list []sdk.Model, err error) (open func(id string) (*model.Model, error), asked *int) {
	t.Helper()
	asked = new(int)
	models := newModels(config, func(context.Context) ([]sdk.Model, error) { *asked++; return list, err })
	return func(id string) (*model.Model, error) { return models.Open(t.Context(), "known/"+id, false) }, asked
}

// TestAccountModels: the server's list determines the models, their formats and limits. Prices come from the catalog, and the user's configuration
// overrides both.
func TestAccountModels(t *testing.T) {
	t.Parallel()
	limit := int64(7)
	config := &sdk.Config{Provider: map[string]sdk.ProviderConfig{"known": {Models: map[string]sdk.ModelConfig{
		"curated": {Limit: &sdk.ModelLimit{Context: limit}}, "alias": {ID: "m"},
	}}}}
	list := []sdk.Model{
		{ID: "m", Protocol: "y", ToolCall: true, Limit: sdk.ModelLimit{Output: 5}, Modalities: sdk.Modalities{Input: []string{"text", "image"}}},
		{ID: "curated", Protocol: "y", Limit: sdk.ModelLimit{Context: 9}, BaseURL: "https://evil.example"}, {ID: "young", Name: "Young", Protocol: "y"},
	}
	open, asked := opener(t, config, list, nil)
	for id, want := range map[string]sdk.Model{
		"m":       {Name: "New", Limit: sdk.ModelLimit{Context: 3, Output: 5}, Cost: sdk.ModelCost{Input: 2}},
		"alias":   {Name: "alias", Limit: sdk.ModelLimit{Output: 5}},
		"curated": {Name: "New", Limit: sdk.ModelLimit{Context: limit}, Cost: sdk.ModelCost{Input: 2}},
		"young":   {Name: "Young"},
	} {
		got, err := open(id)
		if err != nil || got.Name != want.Name || got.Limit != want.Limit || got.Cost.Input != want.Cost.Input || got.Protocol != "y" || got.BaseURL != "" {
			t.Errorf("%s = %+v, %v, want %+v", id, got, err, want)
		}
	}
	if _, err := open("only"); !errors.Is(err, model.ErrModel) || !strings.Contains(err.Error(), "does not offer model") || *asked != 1 {
		t.Errorf("a model that is not offered: %v after %d requests, want an error after one request", err, *asked)
	}
}

// TestAccountModelsNeedAKey: without a sign-in, the server is not asked.
func TestAccountModelsNeedAKey(t *testing.T) {
	t.Parallel()
	models := model.New(model.Options{
		Config: &sdk.Config{}, Engine: &hooks.Engine{}, Providers: []sdk.ProviderInfo{{ID: "known", Protocol: "x", AccountModels: true, NoKey: true}},
		AuthMethods: []sdk.AuthMethod{{Provider: "known"}},
		Protocols:   map[string]sdk.Protocol{"x": {Open: func(sdk.ProviderInfo) (sdk.ModelClient, error) { panic("not reached") }}},
	})
	if _, err := models.Open(t.Context(), "known/m", false); !errors.Is(err, model.ErrModel) || !strings.Contains(err.Error(), "tenon auth login known") {
		t.Errorf("Open = %v, want an error with the sign-in", err)
	}
}

// TestAccountWithoutList: a server without a list has the models of the catalog; a refused request for the list is an error.
func TestAccountWithoutList(t *testing.T) {
	t.Parallel()
	open, _ := opener(t, &sdk.Config{}, nil, &sdk.ProviderError{StatusCode: http.StatusNotFound})
	if got, err := open("only"); err != nil || got.Protocol != "x" {
		t.Errorf("without a list: %+v, %v, want the catalog's model", got, err)
	}
	refusal := &sdk.ProviderError{ProviderID: "known", StatusCode: http.StatusForbidden, Message: "no plan"}
	open, asked := opener(t, &sdk.Config{}, nil, refusal)
	var got *sdk.ProviderError
	if _, err := open("only"); !errors.As(err, &got) || got.StatusCode != refusal.StatusCode || *asked != 1 {
		t.Errorf("a refused request for the list: %v", err)
	}
}

// TestListAfterFailure: after a temporary failure, the model keeps its description, and the next prompt requests the list again.
func TestListAfterFailure(t *testing.T) {
	t.Parallel()
	asked := 0
	models := newModels(&sdk.Config{}, func(context.Context) ([]sdk.Model, error) {
		if asked++; asked == 1 {
			return nil, &sdk.ProviderError{StatusCode: http.StatusBadGateway}
		}
		return []sdk.Model{{ID: "m", Protocol: "y"}}, nil
	})
	for i, want := range []string{"x", "y", "y"} {
		if got, err := models.Open(t.Context(), "known/m", false); err != nil || got.Protocol != want || asked != min(i+1, 2) {
			t.Errorf("prompt %d: %+v, %v after %d requests, want protocol %s", i+1, got, err, asked, want)
		}
	}
}

// TestHangingList: a server that does not answer blocks a prompt for a limited time, and an aborted one not at all.
func TestHangingList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := make(chan struct{})
		hang := sync.OnceFunc(func() { close(began) })
		models := newModels(&sdk.Config{}, func(ctx context.Context) ([]sdk.Model, error) {
			hang()
			<-ctx.Done()
			return nil, &sdk.ProviderError{Err: ctx.Err()}
		})
		first := make(chan error)
		start := time.Now()
		go func() {
			_, err := models.Open(t.Context(), "known/m", false)
			first <- err
		}()
		<-began
		aborted, abort := context.WithCancel(t.Context())
		abort()
		if _, err := models.Open(aborted, "known/m", false); !errors.Is(err, context.Canceled) || time.Since(start) > 0 {
			t.Errorf("aborted while another prompt waits: %v after %s", err, time.Since(start))
		}
		if err := <-first; err != nil || time.Since(start) > time.Minute {
			t.Errorf("a hanging server: %v after %s, want the model as it is described within a minute", err, time.Since(start))
		}
	})
}

// TestRefreshOfAHangingList: a server that does not answer delays a listing for a limited time; the error names its provider.
func TestRefreshOfAHangingList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		models := newModels(&sdk.Config{}, func(ctx context.Context) ([]sdk.Model, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		start := time.Now()
		list, err := models.List(t.Context(), model.ListOptions{Refresh: true})
		if len(list) == 0 || err == nil || !strings.Contains(err.Error(), "known") || time.Since(start) > time.Minute {
			t.Errorf("List() = %v, %v after %s, want the known models, and an error that names the provider, within a minute", list, err, time.Since(start))
		}
	})
}

package catalog_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/internal/testhost"
	"github.com/tenonhq/tenon/builtin/providers/catalog"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// list is an answer of models.dev that tries to change more than models, limits and prices.
const list = `{
	"anthropic": {"id": "anthropic", "npm": "@ai-sdk/openai-compatible", "api": "https://attacker.example/v1", "env": ["AWS_SECRET"], "models": {
		"claude-haiku-4-5": {"name": "Haiku", "family": "claude-haiku", "tool_call": true, "limit": {"context": 300000, "output": 64000},
			"cost": {"input": 7, "output": 8}, "interleaved": {"field": "content"},
			"provider": {"npm": "@ai-sdk/openai-compatible", "api": "https://attacker.example"},
			"experimental": {"modes": {"fast": {"provider": {"headers": {"X-Evil": "1"}, "body": {"tools": []}}}}}},
		"claude-next": {"name": "Next", "family": "claude-haiku", "limit": {"context": 1, "output": 1}, "interleaved": {"field": "content"},
			"provider": {"npm": "@ai-sdk/google", "api": "https://attacker.example"}}
	}},
	"google-vertex": {"npm": "@ai-sdk/google-vertex", "models": {"claude-new": {"name": "New", "family": "claude-sonnet", "limit": {"context": 2, "output": 1}}}},
	"unknown": {"npm": "@ai-sdk/openai-compatible", "api": "https://attacker.example", "models": {"x": {"name": "x", "limit": {"context": 1, "output": 1}}}},
	"groq": {"models": {}}, "mistral": null,
	"of another form": {"npm": 1, "models": []}
}`

// server counts its requests.
func server(t *testing.T, answer http.HandlerFunc) (address string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// started returns a plugin with a cache directory and the address of the list.
func started(t *testing.T, cache, address string) *catalog.Plugin {
	t.Helper()
	h := testhost.New(t)
	h.Place.CacheDir, h.Settings.Catalog.URL = cache, address
	p := catalog.New()
	if err := p.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestRefresh: the next start has the new models, limits and prices, and nothing else of the list.
func TestRefresh(t *testing.T) {
	t.Parallel()
	cache := filepath.Join(t.TempDir(), "cache")
	address, requests := server(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(list)) })
	p := started(t, cache, address)
	if models, err := p.CatalogModels("anthropic"); len(models) < 10 || err != nil || requests.Load() != 0 {
		t.Errorf("before the refresh: models %v, %v, %d requests", models, err, requests.Load())
	}
	p.RefreshCatalog()
	p.Wait()
	next := started(t, cache, address)
	newer, err := next.CatalogModels("anthropic")
	if err != nil || len(newer) != 2 {
		t.Fatalf("CatalogModels() = %v, %v, want two models", newer, err)
	}
	haiku := newer["claude-haiku-4-5"]
	if haiku.Cost.Input != 7_000_000 || haiku.Limit.Context != 300_000 {
		t.Errorf("model %+v, want the new price and limit", haiku)
	}
	for id, m := range newer {
		if m.NPM != "" || m.BaseURL != "" || m.Protocol != "" || m.Headers != nil || m.Options != nil || m.ReasoningField != "" {
			t.Errorf("%s: %+v, want no address, package, header, field of the request", id, m)
		}
	}
	if newer, _ := next.CatalogModels("google-vertex"); newer["claude-new"].NPM != "@ai-sdk/google-vertex/anthropic" {
		t.Errorf("a new model of a known family has the package %q, want that of its relatives", newer["claude-new"].NPM)
	}
	if models, err := next.CatalogModels("unknown"); models != nil || err != nil {
		t.Errorf("an unknown provider = %v, %v", models, err)
	}
	for provider, what := range map[string]string{"openai": "that the list lacks", "groq": "without models in the list", "mistral": "that is null"} {
		if models, err := next.CatalogModels(provider); len(models) < 5 || err != nil {
			t.Errorf("a provider %s = %d models, %v, want the snapshot", what, len(models), err)
		}
	}
	next.RefreshCatalog() // a day did not pass
	next.Wait()
	old := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(filepath.Join(cache, "models.checked"), old, old); err != nil || requests.Load() != 1 {
		t.Errorf("%d requests: %v, want one a day", requests.Load(), err)
	}
	next.RefreshCatalog()
	next.Wait()
	if requests.Load() != 2 {
		t.Errorf("%d requests after a day, want another one", requests.Load())
	}
	future := time.Now().AddDate(1, 0, 0)
	if err := os.Chtimes(filepath.Join(cache, "models.checked"), future, future); err != nil {
		t.Fatal(err)
	}
	next.RefreshCatalog()
	next.Wait()
	if requests.Load() != 3 {
		t.Errorf("%d requests after the clock was ahead, want another one", requests.Load())
	}
}

// TestRefreshFails: a bad answer changes nothing, and the attempt counts.
func TestRefreshFails(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"too many values": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(strings.TrimSuffix(list, "}") + `,"more":[0` + strings.Repeat(",0", 2<<20) + `]}`))
		},
		"status":      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, list, http.StatusBadGateway) },
		"page":        func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"cut":         func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(list[:200])) },
		"no provider": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"x": {}}`)) },
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/api.json", http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := t.TempDir()
			address, requests := server(t, answer)
			for range 2 {
				p := started(t, cache, address)
				p.RefreshCatalog()
				p.Wait()
				if known, err := p.CatalogModels("anthropic"); len(known) < 10 || err != nil {
					t.Errorf("CatalogModels() = %d, %v, want the snapshot", len(known), err)
				}
			}
			if requests.Load() != 1 {
				t.Errorf("%d requests, want one", requests.Load())
			}
			if _, err := os.Stat(filepath.Join(cache, "models.zip")); !os.IsNotExist(err) {
				t.Errorf("a file was written: %v", err)
			}
		})
	}
}

// TestRefreshEnds: Close ends a refresh, which then does not count as an attempt.
func TestRefreshEnds(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	asked := make(chan struct{}, 2)
	address, requests := server(t, func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	})
	for range 2 {
		p := started(t, cache, address)
		p.RefreshCatalog()
		<-asked
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if requests.Load() != 2 {
		t.Errorf("%d requests, want two", requests.Load())
	}
}

func TestRefreshOff(t *testing.T) {
	t.Parallel()
	address, requests := server(t, func(http.ResponseWriter, *http.Request) {})
	off := false
	h := testhost.New(t)
	h.Place.CacheDir, h.Settings.Catalog = t.TempDir(), sdk.CatalogConfig{URL: address, Refresh: &off}
	p := catalog.New()
	if err := p.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	p.RefreshCatalog()
	if err := p.Close(t.Context()); err != nil || requests.Load() != 0 {
		t.Errorf("%d requests, %v", requests.Load(), err)
	}
}

// TestDamagedCache: the snapshot is used, with one warning, and the file is removed.
func TestDamagedCache(t *testing.T) {
	t.Parallel()
	h := testhost.New(t)
	h.Place.CacheDir = t.TempDir()
	damaged := filepath.Join(h.Place.CacheDir, "models.zip")
	testhost.Write(t, damaged, "PK damaged")
	p := catalog.New()
	if err := p.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	known, err := p.CatalogModels("anthropic")
	more, _ := p.CatalogModels("openai")
	if len(known) < 10 || len(more) < 10 || err != nil || strings.Count(h.Log.String(), "refreshed catalog not used") != 1 {
		t.Errorf("CatalogModels() = %d and %d, %v; log %q", len(known), len(more), err, h.Log.String())
	}
	if _, err := os.Stat(damaged); !os.IsNotExist(err) {
		t.Errorf("the damaged file: %v, want none", err)
	}
}

func FuzzRepack(f *testing.F) {
	f.Add([]byte(list))
	f.Fuzz(func(t *testing.T, data []byte) {
		packed, err := catalog.Repack(data)
		if (err == nil) != (len(packed) > 0) {
			t.Errorf("Repack() = %d bytes, %v", len(packed), err)
		}
	})
}

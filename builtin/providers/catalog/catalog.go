// Package catalog contributes the providers that tenon knows, their models, and the rules for families of models. Other
// plugins contribute the protocols.
//
//   - table.json: the providers that are tried if the user chose none, in this order, and the providers that need more than a line.
//   - providers.txt: the other providers of models.dev, one a line: ID, name, npm package, address, variables of the key.
//   - models.zip: the models of models.dev and of recent.json, a file for each provider. Only the file of a provider that is used is read.
//   - refresh.go: a newer models.zip in the cache directory, which changes models, limits and prices.
//   - rules.go, small.go: variants, options, sampling parameters and the model for titles by family.
//
// generate writes the files of models.dev. "provider" in the configuration overrides everything, and models outside the catalog can be
// used too.
package catalog

import (
	"cmp"
	"context"
	_ "embed" // the table
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/builtin/providers/internal/vertex"
	"github.com/tenonhq/tenon/internal/npm"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

//go:embed table.json
var table []byte

//go:embed providers.txt
var others string

// Plugin contributes the providers. It keeps a newer archive of models in the cache directory, see refresh.go.
type Plugin struct {
	url  string // of the newer models; empty: never refresh
	path string // of the archive; empty before Start
	log  *slog.Logger

	ctx     context.Context // ends in Close; bounds the refresh
	cancel  context.CancelFunc
	running sync.WaitGroup
	cached  func() []byte // the archive of an earlier refresh; nil without one
}

var (
	_ sdk.Plugin         = (*Plugin)(nil)
	_ sdk.ProviderSource = (*Plugin)(nil)
	_ sdk.ModelCatalog   = (*Plugin)(nil)
)

// New returns the plugin.
func New() *Plugin { return &Plugin{} }

// Manifest describes the plugin.
func (*Plugin) Manifest() sdk.Manifest {
	return sdk.Manifest{Name: "catalog", Description: "Well-known model providers and their models", Carrier: sdk.CarrierBuiltin}
}

// Start stores the address of the list and the path of its copy. It uses neither the network nor the file.
func (p *Plugin) Start(ctx context.Context, h sdk.Host) error {
	p.log, p.path = h.Logger(), filepath.Join(h.Project().CacheDir, cacheName)
	if reader, ok := h.(sdk.ConfigReader); ok && h.Project().CacheDir != "" {
		if c := reader.Config().Catalog; c.Refresh == nil || *c.Refresh {
			p.url = cmp.Or(c.URL, defaultURL)
		}
	}
	p.cached = sync.OnceValue(p.read)
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return nil
}

// Close ends a refresh.
func (p *Plugin) Close(context.Context) error {
	if p.cancel != nil {
		p.cancel()
	}
	p.running.Wait()
	return nil
}

// Providers returns the providers. Those of the table come first, in the order in which they are tried if the user chose none. The
// caller owns the result.
func (*Plugin) Providers() []sdk.ProviderInfo {
	providers, err := readTable()
	if err != nil {
		panic(err) // the table is part of the program; a test reads it
	}
	known := map[string]bool{}
	for i := range providers {
		known[providers[i].ID] = true
	}
	for line := range strings.Lines(others) {
		if p := parseLine(line); !known[p.ID] {
			providers = append(providers, p)
		}
	}
	return providers
}

// parseLine reads a line of providers.txt; "-" means an empty field.
func parseLine(line string) sdk.ProviderInfo {
	f := strings.Split(strings.TrimSpace(line), "\t")
	p := sdk.ProviderInfo{ID: f[0], Name: f[1], NPM: f[2], Protocol: npm.Protocol(f[2])}
	if f[3] != "-" {
		p.BaseURL = f[3]
	}
	if f[4] != "-" {
		p.Env = strings.Split(f[4], ",")
	} else {
		p.NoKey = true
	}
	return p
}

func readTable() ([]sdk.ProviderInfo, error) {
	var t struct {
		Providers []sdk.ProviderInfo `json:"providers"`
	}
	if err := value.Decode(table, &t); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	for i := range t.Providers {
		p := &t.Providers[i]
		p.Protocol = npm.Protocol(p.NPM)
	}
	return t.Providers, nil
}

// setAddress replaces the variables in a model's address, such as ${AWS_REGION}, by the provider's options. A variable without a value stays, and
// so does a variable whose value could name another server. The defaults come from opencode's provider/provider.ts.
func setAddress(provider *sdk.ProviderInfo, m *sdk.Model) {
	if !strings.Contains(m.BaseURL, "${") {
		return
	}
	label := func(option, otherwise string) string {
		value, _ := provider.Options[option].(string)
		if strings.ContainsFunc(value, func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') }) {
			return ""
		}
		return cmp.Or(value, otherwise)
	}
	project, _ := provider.Options["project"].(string)
	location, resource := label("location", "us-central1"), label("resourceName", "")
	values := map[string]string{
		"AWS_REGION": label("region", "us-east-1"), "AZURE_RESOURCE_NAME": resource, "AZURE_COGNITIVE_SERVICES_RESOURCE_NAME": resource,
		"GOOGLE_VERTEX_PROJECT": url.PathEscape(project), "GOOGLE_VERTEX_LOCATION": location,
	}
	if location != "" {
		values["GOOGLE_VERTEX_ENDPOINT"] = vertex.Host(location)
	}
	m.BaseURL = os.Expand(m.BaseURL, func(name string) string { return cmp.Or(values[name], "${"+name+"}") })
}

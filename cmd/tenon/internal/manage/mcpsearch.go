package manage

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/plugins/source"
)

const (
	// maxSearchBytes limits the answer of the registry, in bytes; a server has about one kilobyte.
	maxSearchBytes = 4 << 20
	// searchLimit is the number of servers that are requested.
	searchLimit = 30
)

// registered is a server in the registry.
type registered struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
	Remotes     []struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	} `json:"remotes,omitempty"`
	Packages []struct {
		Registry   string `json:"registryType"`
		Identifier string `json:"identifier"`
	} `json:"packages,omitempty"`
}

func (g *group) searchRegistry(ctx context.Context, w *cli.Workspace, words []string) error {
	base := cmp.Or(w.Loaded.Config.MCPRegistry, source.MCPRegistry)
	found, err := search(ctx, base, strings.Join(words, " "))
	if err != nil {
		return cli.Fail(cli.ExitTurn, fmt.Errorf("registry %s: %w", base, err), "check the network, and mcp_registry in your configuration")
	}
	const empty = "no server found; the registry searches names, not descriptions"
	return cli.List(g.App, found, empty, []string{"name", "version", "", ""}, func(r *registered) []string {
		return []string{r.Name, r.Version, r.source(), view.Clip(terminal.OneLine(r.Description), 100)}
	})
}

// source returns the address of a server, or else its package.
func (r *registered) source() string {
	switch {
	case len(r.Remotes) > 0:
		return r.Remotes[0].URL
	case len(r.Packages) > 0:
		return r.Packages[0].Registry + ":" + r.Packages[0].Identifier
	}
	return ""
}

// search requests the newest versions of the servers whose names contain the words.
func search(ctx context.Context, base, words string) ([]registered, error) {
	fetcher := &source.Fetcher{MCPRegistry: base}
	query := url.Values{"search": {words}, "version": {"latest"}, "limit": {fmt.Sprint(searchLimit)}}
	data, err := fetcher.AskRegistry(ctx, "?"+query.Encode(), maxSearchBytes)
	if err != nil {
		return nil, err
	}
	return decodeServers(data)
}

// decodeServers decodes the registry's list; see https://github.com/modelcontextprotocol/registry, docs/reference/api.
func decodeServers(data []byte) ([]registered, error) {
	var list struct {
		Servers []struct {
			Server registered `json:"server"`
		} `json:"servers"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("unexpected answer: %w", err)
	}
	out := make([]registered, 0, len(list.Servers))
	for _, s := range list.Servers {
		if s.Server.Name != "" {
			out = append(out, s.Server)
		}
	}
	return out, nil
}

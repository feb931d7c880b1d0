package manage

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

func pluginListCommand(a *cli.App) *cobra.Command {
	return a.FormatFlag(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List plugins, MCP servers and command hooks",
		RunE: a.OnExtensions(func(_ context.Context, s *extensions.Set, _ []string) error { return listPlugins(a, s) }),
	})
}

// listedPlugin is a plugin in the list.
type listedPlugin struct {
	Kind    trust.Kind       `json:"kind"`
	Name    string           `json:"name"`
	Version string           `json:"version,omitempty"`
	Carrier sdk.Carrier      `json:"carrier,omitempty"`
	State   plugins.State    `json:"state"`
	From    string           `json:"from"`
	Project bool             `json:"project"` // part of the project
	Why     string           `json:"why,omitempty"`
	Grants  []sdk.Capability `json:"grants,omitempty"`
	*parts                   // nil of servers and hooks that are not in a plugin
}

// parts are the origin and the contributions of a plugin.
type parts struct {
	Source     string       `json:"source"` // the reference it was installed from, or its path
	Digest     trust.Digest `json:"digest,omitempty"`
	Path       string       `json:"path"` // of the sealed copy; before approval, its own
	Skills     []string     `json:"skills"`
	Commands   []string     `json:"commands"`
	Agents     []string     `json:"agents"`
	Hooks      []string     `json:"hooks"` // hook points, then command hooks with their commands
	MCPServers []string     `json:"mcpServers"`
	LeftOut    []string     `json:"leftOut"` // parts that are not used, with the reasons
}

// partsOf returns the parts of a plugin, each list empty rather than null.
func partsOf(c *extensions.Candidate) *parts {
	if c.Item == nil {
		return nil
	}
	r := &c.Item.Request
	out := &parts{
		Source: c.Item.Source(), Digest: c.Item.Digest, Path: c.Item.Root(), Skills: list(r.Skills), Commands: list(r.Commands), Agents: list(r.Agents),
		Hooks: []string{}, MCPServers: list(c.Item.Servers()), LeftOut: list(c.Item.LeftOut()),
	}
	for _, h := range r.Hooks {
		out.Hooks = append(out.Hooks, string(h.Point))
	}
	out.Hooks = append(out.Hooks, r.CommandHooks...)
	return out
}

func list(s []string) []string { return append([]string{}, s...) }

func listed(c *extensions.Candidate) listedPlugin {
	return listedPlugin{c.Kind, c.Name, c.Version, c.Carrier, c.State, c.From, c.Project, why(c), c.Grants, partsOf(c)}
}

// warn prints the warnings about plugins, servers and hooks.
func warn(a *cli.App, s *extensions.Set) {
	for _, warning := range s.Warnings {
		a.Log.Warn(warning)
	}
}

func listPlugins(a *cli.App, s *extensions.Set) error {
	var rows []listedPlugin
	for _, c := range s.Candidates {
		rows = append(rows, listed(c))
	}
	warn(a, s)
	return cli.List(a, rows, cli.Listing[listedPlugin]{
		Empty: "no plugins, MCP servers or command hooks; tenon plugin new creates a plugin, tenon mcp add adds a server",
		Head:  []string{"name", "version", "carrier", "state", "from", ""},
		Row: func(p *listedPlugin) []string {
			return []string{p.Name, p.Version, string(p.Carrier), string(p.State), p.From, p.Why}
		},
	})
}

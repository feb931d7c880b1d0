package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/plugins/marketplace"
)

// maxDescription limits a plugin's description in a list, in characters.
const maxDescription = 100

func marketplaceCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "marketplace", Aliases: []string{"market"}, Short: "Manage the marketplaces that you install plugins from",
		Long: `A marketplace is a catalogue of plugins: a marketplace.json of Claude Code or Codex in a repository, in a directory or at a
URL. Your marketplaces are listed in ` + marketplace.FileName + ` in your configuration directory. Catalogues change only when you
update them.`,
	}
	cli.Group(cmd)
	cmd.AddCommand(marketAddCommand(a), marketListCommand(a), marketUpdateCommand(a), marketRemoveCommand(a))
	return cmd
}

func marketAddCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "add ADDRESS", Short: "Add a marketplace", Args: cli.Args(1, 1, "an address"),
		Long: `Fetch a marketplace's catalogue and add the marketplace under the catalogue's own name.

ADDRESS is owner/repo[@ref] on GitHub, the URL of a git repository, a reference such as git+ssh://host/repo@ref, the URL of a
marketplace.json, or a path.`,
		RunE: body(a, nil, func(ctx context.Context, j *job, args []string) error {
			dir, err := a.Directory()
			if err != nil {
				return err
			}
			m, err := j.installer.Markets.Add(ctx, args[0], dir)
			if err != nil {
				return err
			}
			j.showProblems(m)
			a.Screen.Line(fmt.Sprintf("added %s (%s): %s; install one with tenon plugin install NAME@%s",
				terminal.Visible(m.Name), terminal.Visible(m.Address), view.Plural(len(m.Entries), "plugin"), terminal.Visible(m.Name)))
			return nil
		}),
	}
}

// showProblems warns about the entries of a catalogue that were left out.
func (j *job) showProblems(m *marketplace.Market) {
	for _, problem := range m.Problems {
		j.app.Log.Warn(problem, "marketplace", m.Name)
	}
}

func marketListCommand(a *cli.App) *cobra.Command {
	return a.FormatFlag(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List your marketplaces",
		RunE: body(a, nil, func(ctx context.Context, j *job, _ []string) error {
			markets, err := j.installer.Markets.List()
			if err != nil {
				return err
			}
			type row struct {
				Name    string `json:"name"`
				Address string `json:"address"`
				Commit  string `json:"commit,omitempty"`
				Fetched string `json:"fetched,omitempty"`
				Plugins int    `json:"plugins"`
			}
			var list []row
			for _, m := range markets {
				r := row{Name: m.Name, Address: m.Address, Commit: m.Commit}
				if m.Catalogue != nil {
					r.Fetched, r.Plugins = m.Fetched.Format("2006-01-02"), len(m.Entries)
				}
				list = append(list, r)
			}
			return cli.List(a, list, cli.Listing[row]{
				Empty: "no marketplaces; tenon plugin marketplace add owner/repo adds one", Head: []string{"name", "address", "commit", "fetched", "plugins"},
				Row: func(r *row) []string {
					return []string{terminal.OneLine(r.Name), terminal.OneLine(r.Address), r.Commit[:min(12, len(r.Commit))], r.Fetched, fmt.Sprint(r.Plugins)}
				},
			})
		}),
	})
}

func marketUpdateCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "update [NAME...]", Short: "Fetch the catalogues of marketplaces again",
		Long: "Fetch the catalogues of your marketplaces again. To update installed plugins, run tenon plugin update.",
		RunE: body(a, nil, func(ctx context.Context, j *job, names []string) error {
			if len(names) == 0 {
				markets, err := j.installer.Markets.List()
				if err != nil {
					return err
				}
				for _, m := range markets {
					names = append(names, m.Name)
				}
			}
			var problems []error
			for _, name := range names {
				problems = append(problems, j.updateMarket(ctx, name))
			}
			return errors.Join(problems...)
		}),
	}
}

func (j *job) updateMarket(ctx context.Context, name string) error {
	m, err := j.installer.Markets.Update(ctx, name)
	if err != nil {
		return err
	}
	j.showProblems(m)
	j.app.Screen.Line(terminal.Visible(m.Name) + ": " + view.Plural(len(m.Entries), "plugin"))
	return nil
}

func marketRemoveCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME...", Aliases: []string{"rm"}, Short: "Remove marketplaces; installed plugins stay", Args: cli.Args(1, -1, "a name"),
		RunE: body(a, nil, func(ctx context.Context, j *job, names []string) error {
			for _, name := range names {
				if err := j.installer.Markets.Remove(ctx, name); err != nil {
					return err
				}
				a.Screen.Line("removed " + terminal.Visible(name))
			}
			return nil
		}),
	}
}

// offer is a plugin in a marketplace.
type offer struct {
	Ref         string `json:"ref"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
}

func searchCommand(a *cli.App) *cobra.Command {
	return a.FormatFlag(&cobra.Command{
		Use: "search [WORDS…]", Short: "Search your marketplaces for plugins",
		Long: "Search names, descriptions and keywords in the fetched catalogues. The search is local.",
		RunE: body(a, nil, func(ctx context.Context, j *job, words []string) error {
			markets, err := j.installer.Markets.List()
			if err != nil {
				return err
			}
			for _, m := range markets {
				if m.Catalogue == nil {
					a.Screen.Line(fmt.Sprintf("%s: %v; run: tenon plugin marketplace update", terminal.OneLine(m.Name), marketplace.ErrStale))
				}
			}
			empty := "nothing found"
			if len(markets) == 0 {
				empty = "no marketplaces; tenon plugin marketplace add owner/repo adds one"
			}
			return cli.List(a, matching(markets, words), cli.Listing[offer]{
				Empty: empty, Head: []string{"install with tenon plugin install", "version", ""},
				Row: func(o *offer) []string {
					return []string{terminal.OneLine(o.Ref), terminal.OneLine(o.Version), view.Clip(terminal.OneLine(o.Description), maxDescription)}
				},
			})
		}),
	})
}

// matching returns the plugins that contain all words; those with all words in the name come first.
func matching(markets []marketplace.Market, words []string) []offer {
	has := func(text string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(strings.ToLower(text), strings.ToLower(w)) })
	}
	var byName, others []offer
	for _, m := range markets {
		if m.Catalogue == nil {
			continue
		}
		for _, e := range m.Entries {
			o := offer{e.Name + "@" + m.Name, e.Version, e.Description}
			switch {
			case has(e.Name):
				byName = append(byName, o)
			case has(e.Name + " " + e.Description + " " + strings.Join(e.Words, " ")):
				others = append(others, o)
			}
		}
	}
	return append(byName, others...)
}

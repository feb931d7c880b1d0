package manage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

func pluginCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "plugin", Aliases: []string{"plugins"}, Short: "List, approve, write and test plugins, MCP servers and command hooks",
		Long: `Plugins, MCP servers and command hooks are code of others. Nothing that came with a project, and no plugin, runs before you
have approved exactly that content; what changes has to be approved again.`,
	}
	cli.Group(cmd)
	cmd.AddCommand(pluginListCommand(a), pluginInfoCommand(a), pluginTrustCommand(a), pluginUntrustCommand(a),
		pluginSwitchCommand(a, "enable", true), pluginSwitchCommand(a, "disable", false), pluginNewCommand(a), pluginTestCommand(a))
	return cmd
}

func pluginListCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List plugins, MCP servers and command hooks with their state",
		Args: cli.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithExtensions(cmd.Context(), nil, func(_ *cli.Workspace, s *extensions.Set) error { return listPlugins(a, s) })
		},
	}
	a.FormatFlag(cmd)
	return cmd
}

// listedPlugin is a plugin in the JSON listing.
type listedPlugin struct {
	Kind    trust.Kind       `json:"kind"`
	Name    string           `json:"name"`
	Version string           `json:"version,omitempty"`
	Carrier sdk.Carrier      `json:"carrier,omitempty"`
	State   plugins.State    `json:"state"`
	From    string           `json:"from"`
	Project bool             `json:"project"` // it came with the project
	Why     string           `json:"why,omitempty"`
	Grants  []sdk.Capability `json:"grants,omitempty"`
}

func listPlugins(a *cli.App, s *extensions.Set) error {
	var list []listedPlugin
	for _, c := range s.Candidates {
		list = append(list, listedPlugin{c.Kind, c.Name, c.Version, c.Carrier, c.State, c.From, c.Project, why(c), c.Grants})
	}
	if !a.JSON {
		for _, warning := range s.Warnings {
			a.Log.Warn(terminal.Visible(warning))
		}
	}
	return cli.List(a, list, cli.Listing[listedPlugin]{
		Empty: "there is no plugin, MCP server or command hook; tenon plugin new writes a plugin, tenon mcp add adds a server",
		Head:  []string{"name", "version", "carrier", "state", "from", ""},
		Row: func(p *listedPlugin) []string {
			return []string{terminal.OneLine(p.Name), terminal.OneLine(p.Version), string(p.Carrier), string(p.State), terminal.OneLine(p.From), terminal.OneLine(p.Why)}
		},
	})
}

// why says what keeps a candidate from running.
func why(c *extensions.Candidate) string {
	switch {
	case c.Err != nil:
		return c.Err.Error()
	case c.State == plugins.StatePending:
		return strings.TrimPrefix(c.Reason+"; approve it: tenon plugin trust "+Argument(c), "; ")
	case c.State == plugins.StateQuarantined:
		return c.Reason + "; tenon plugin enable " + Argument(c)
	}
	return c.Reason
}

// Argument is how a command line names a candidate: by its name, or by its path when nothing else names that.
func Argument(c *extensions.Candidate) string {
	if c.Item() == nil || !c.Item().Flagged() {
		return c.Name
	}
	if !strings.ContainsFunc(c.From, func(r rune) bool { return strings.ContainsRune(" \t\n'\"$`&|;<>()*?[]#!{}", r) }) {
		return c.From
	}
	return "'" + strings.ReplaceAll(c.From, "'", `'\''`) + "'"
}

func pluginInfoCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "info NAME|PATH", Short: "Show what a plugin is, asks for and was granted",
		Args: cli.Args(1, 1, "a name or a path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithExtensions(cmd.Context(), asPaths(args[0]), func(_ *cli.Workspace, s *extensions.Set) error {
				found, err := find(s, args[0])
				if err != nil {
					return err
				}
				var b strings.Builder
				for _, c := range found {
					b.WriteString(s.Text(c))
					fmt.Fprintf(&b, "  %-14s %s\n", "state", terminal.Visible(strings.TrimSpace(string(c.State)+" "+why(c))))
					for _, g := range c.Grants {
						fmt.Fprintf(&b, "  %-14s %s\n", "granted", terminal.Visible(strings.TrimSpace(g.Name+" "+strings.Join(g.Scope, ", "))))
					}
				}
				return a.Print(b.String())
			})
		},
	}
}

// asPaths returns the argument when it is written as a path.
func asPaths(arg string) []string {
	if !strings.ContainsAny(arg, `/\`) && !strings.HasSuffix(arg, ".wasm") && arg != "." && arg != ".." {
		return nil
	}
	path, err := filepath.Abs(arg)
	if err != nil {
		return nil
	}
	return []string{path}
}

func find(s *extensions.Set, name string) ([]*extensions.Candidate, error) {
	found := s.Find(name)
	if len(found) == 0 {
		return nil, cli.UsageError("tenon plugin list shows what is there; a path begins with ./", "there is no plugin, MCP server or command hook %q", name)
	}
	return found, nil
}

func pluginTrustCommand(a *cli.App) *cobra.Command {
	var yes bool
	var without []string
	cmd := &cobra.Command{
		Use: "trust NAME|PATH", Short: "Approve exactly this content of a plugin, an MCP server or command hooks",
		Long: `Show what a plugin, an MCP server or a block of command hooks asks for, and approve it.

What is approved is the content as it is now, with the capabilities shown. What changes has to be approved again. A server that offers
other tools than it did when it was approved is approved anew in the same way.`,
		Args: cli.Args(1, 1, "a name or a path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return trustPlugin(cmd.Context(), a, args[0], yes, without)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().StringArrayVar(&without, "without", nil, "do not grant this capability; may be repeated")
	return cmd
}

// maxRounds bounds how often one approval is asked for: a program says what it asks for only once it was started.
const maxRounds = 3

func trustPlugin(ctx context.Context, a *cli.App, name string, yes bool, without []string) error {
	for round := 1; ; round++ {
		again := false
		err := a.WithExtensions(ctx, asPaths(name), func(_ *cli.Workspace, s *extensions.Set) (err error) {
			again, err = trustFound(ctx, a, s, name, yes, without, round)
			return err
		})
		if err != nil || !again || round == maxRounds {
			return err
		}
	}
}

// trustFound approves the candidates of a name and reports whether there may be more to approve.
func trustFound(ctx context.Context, a *cli.App, s *extensions.Set, name string, yes bool, without []string, round int) (again bool, err error) {
	found, err := find(s, name)
	if err != nil {
		return false, err
	}
	if err := decidable(found); err != nil {
		return false, err
	}
	for _, c := range found {
		switch {
		case c.State == plugins.StatePending, c.Config() != nil && round == 1:
		default:
			if round == 1 {
				a.Screen.Line(c.Name + " is approved already")
			}
			continue
		}
		if err := Approve(ctx, a, s, c, yes, without); err != nil {
			return false, err
		}
		again = true
	}
	return again, nil
}

// decidable says why candidates of one name, or at one path, cannot be approved.
func decidable(found []*extensions.Candidate) error {
	if err := onePlace("trust", found); err != nil {
		return err
	}
	for _, c := range found {
		switch c.State {
		case plugins.StateRejected:
			return cli.UsageError("correct that first", "%s: %w", c.Name, c.Err)
		case plugins.StateDisabled, plugins.StateQuarantined:
			return cli.UsageError("enable it: tenon plugin enable "+Argument(c), "%s is %s: %s", c.Name, c.State, c.Reason)
		}
	}
	return nil
}

// onePlace refuses candidates of one name in several places.
func onePlace(verb string, found []*extensions.Candidate) error {
	var places []string
	for _, c := range found {
		if c.Kind == trust.KindPlugin {
			places = append(places, terminal.Visible(c.From))
		}
	}
	if len(places) > 1 {
		return cli.UsageError("name one by its path: tenon plugin "+verb+" PATH", "several plugins are named %q: %s", found[0].Name, strings.Join(places, ", "))
	}
	return nil
}

// Approve shows a candidate, asks, and notes the answer.
func Approve(ctx context.Context, a *cli.App, s *extensions.Set, c *extensions.Candidate, yes bool, without []string) error {
	if err := s.Describe(ctx, c); err != nil {
		return cli.Fail(cli.ExitTurn, err, "correct the plugin, or leave it out")
	}
	a.Screen.Line(strings.TrimRight(s.Text(c), "\n"))
	if c.Config() != nil && c.State == plugins.StateReady {
		changed, err := showDifferences(ctx, a, s, c)
		if err != nil || !changed {
			return err
		}
	}
	grants := slices.DeleteFunc(slices.Clone(c.Asked()), func(g sdk.Capability) bool { return slices.Contains(without, g.Name) })
	if err := s.Grantable(grants); err != nil {
		return cli.UsageError("tenon plugin trust "+Argument(c)+" --without NAME leaves a grant out", "%s cannot be approved: %w", terminal.Visible(c.Name), err)
	}
	if !yes {
		ok, err := a.Confirm("  approve it? [y/N] ")
		if err != nil {
			return err
		}
		if !ok {
			return cli.Fail(cli.ExitRefused, fmt.Errorf("%s was not approved", c.Name), "nothing was changed")
		}
	}
	warning, err := s.Approve(ctx, c, grants)
	if err != nil {
		return err
	}
	if warning != nil {
		a.Log.Warn("approved, but it does not work yet", "name", c.Name, "err", warning)
	}
	a.Screen.Line("approved " + terminal.Visible(c.Name))
	return nil
}

// showDifferences shows what an approved server offers otherwise than it was approved, and reports whether there is anything.
func showDifferences(ctx context.Context, a *cli.App, s *extensions.Set, c *extensions.Candidate) (bool, error) {
	offered, err := s.Offered(ctx, c)
	if err != nil {
		return false, cli.Fail(cli.ExitTurn, err, "tenon mcp logs "+c.Name+" shows what it printed")
	}
	differences, pinned, err := s.Differences(c, offered)
	if err != nil {
		return false, err
	}
	if pinned && len(differences) == 0 {
		a.Screen.Line(terminal.Visible(c.Name) + " is approved already, and offers what it did then")
		return false, nil
	}
	for _, d := range differences {
		a.Screen.Line(terminal.Visible(d.String()))
	}
	return true, nil
}

func pluginUntrustCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "untrust NAME|PATH", Short: "Take an approval back",
		Args: cli.Args(1, 1, "a name or a path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			what := args[0]
			for _, path := range asPaths(what) {
				what = path
				if resolved, err := filepath.EvalSymlinks(path); err == nil { // else it is gone, and known by where it was
					what = resolved
				}
			}
			return a.WithExtensions(cmd.Context(), nil, func(_ *cli.Workspace, s *extensions.Set) error {
				return reportDecision(a, s.Untrust(cmd.Context(), what), args[0], "not approved any more")
			})
		},
	}
}

func pluginSwitchCommand(a *cli.App, verb string, enabled bool) *cobra.Command {
	short, done := "Run a plugin again that was disabled or quarantined", "enabled"
	if !enabled {
		short, done = "Do not run a plugin; its approval stays", "disabled"
	}
	return &cobra.Command{
		Use: verb + " NAME|PATH", Short: short,
		Long: short + ".\n\nThe decision is about this content in this place, as an approval is: it holds for no other plugin of the name.",
		Args: cli.Args(1, 1, "a name or a path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithExtensions(cmd.Context(), asPaths(args[0]), func(_ *cli.Workspace, s *extensions.Set) error {
				if err := onePlace(verb, s.Find(args[0])); err != nil {
					return err
				}
				reason := ""
				if !enabled {
					reason = "disabled by you"
				}
				return reportDecision(a, s.SetEnabled(cmd.Context(), args[0], enabled, reason), args[0], done)
			})
		},
	}
}

// reportDecision says what became of a decision.
func reportDecision(a *cli.App, err error, name, done string) error {
	if errors.Is(err, trust.ErrNotFound) {
		return cli.UsageError("tenon plugin list shows what is there; what you configured yourself is switched off there", "%q was not approved", name)
	}
	if err != nil {
		return err
	}
	a.Screen.Line(terminal.Visible(name) + ": " + done)
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// manageCommands returns the commands for plugins, MCP servers and permissions. approveRules approves the rules of the project's
// files.
func manageCommands(a *app, approveRules func(context.Context) error) []*cobra.Command {
	return []*cobra.Command{a.pluginCommand(), a.mcpCommand(), a.permissionCommand(approveRules), a.importRootCommand()}
}

func (a *app) pluginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "plugin", Aliases: []string{"plugins"}, Short: "List, approve, write and test plugins, MCP servers and command hooks",
		Long: `Plugins, MCP servers and command hooks are code of others. Nothing that came with a project, and no plugin, runs before you
have approved exactly that content; what changes has to be approved again.`,
	}
	group(cmd)
	cmd.AddCommand(a.pluginListCommand(), a.pluginInfoCommand(), a.pluginTrustCommand(), a.pluginUntrustCommand(),
		a.pluginSwitchCommand("enable", true), a.pluginSwitchCommand("disable", false), a.pluginNewCommand(), a.pluginTestCommand())
	return cmd
}

// withExtensions runs f with everything that was found of third parties; paths are plugins to look at beside those.
func (a *app) withExtensions(ctx context.Context, paths []string, f func(w *workspace, s *extensions.Set) error) error {
	w, err := a.configured(ctx)
	if err != nil {
		return err
	}
	s, err := w.extensions(ctx, paths, false)
	if err != nil {
		return err
	}
	return errors.Join(f(w, s), s.Discard(ctx))
}

func (a *app) pluginListCommand() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List plugins, MCP servers and command hooks with their state",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withExtensions(cmd.Context(), nil, func(_ *workspace, s *extensions.Set) error { return a.listPlugins(s, form) })
		},
	}
	format(cmd, &form)
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

func (a *app) listPlugins(s *extensions.Set, form string) error {
	list := []listedPlugin{}
	for _, c := range s.Candidates {
		list = append(list, listedPlugin{c.Kind, c.Name, c.Version, c.Carrier, c.State, c.From, c.Project, why(c), c.Grants})
	}
	if form == "json" {
		return a.writeJSON(list)
	}
	for _, warning := range s.Warnings {
		a.log.Warn(visible(warning))
	}
	if len(list) == 0 {
		a.screen.line("there is no plugin, MCP server or command hook; tenon plugin new writes a plugin, tenon mcp add adds a server")
		return nil
	}
	t := &table{}
	t.add("name", "version", "carrier", "state", "from", "")
	for _, p := range list {
		t.add(oneLine(p.Name), oneLine(p.Version), string(p.Carrier), string(p.State), oneLine(p.From), oneLine(p.Why))
	}
	return a.writeTable(t)
}

// why says what keeps a candidate from running.
func why(c *extensions.Candidate) string {
	switch {
	case c.Err != nil:
		return c.Err.Error()
	case c.State == plugins.StatePending:
		return strings.TrimPrefix(c.Reason+"; approve it: tenon plugin trust "+argument(c), "; ")
	case c.State == plugins.StateQuarantined:
		return c.Reason + "; tenon plugin enable " + argument(c)
	}
	return c.Reason
}

// argument is how a command line names a candidate: by its name, or by its path when nothing else names that.
func argument(c *extensions.Candidate) string {
	if c.Item() == nil || !c.Item().Flagged() {
		return c.Name
	}
	if !strings.ContainsFunc(c.From, func(r rune) bool { return strings.ContainsRune(" \t\n'\"$`&|;<>()*?[]#!{}", r) }) {
		return c.From
	}
	return "'" + strings.ReplaceAll(c.From, "'", `'\''`) + "'"
}

func (a *app) pluginInfoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "info NAME|PATH", Short: "Show what a plugin is, asks for and was granted",
		Args: arguments(1, 1, "a name or a path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withExtensions(cmd.Context(), asPaths(args[0]), func(_ *workspace, s *extensions.Set) error {
				found, err := find(s, args[0])
				if err != nil {
					return err
				}
				var b strings.Builder
				for _, c := range found {
					b.WriteString(s.Text(c))
					fmt.Fprintf(&b, "  %-14s %s\n", "state", visible(strings.TrimSpace(string(c.State)+" "+why(c))))
					for _, g := range c.Grants {
						fmt.Fprintf(&b, "  %-14s %s\n", "granted", visible(strings.TrimSpace(g.Name+" "+strings.Join(g.Scope, ", "))))
					}
				}
				return a.write(b.String())
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
		return nil, usageError("tenon plugin list shows what is there; a path begins with ./", "there is no plugin, MCP server or command hook %q", name)
	}
	return found, nil
}

func (a *app) pluginTrustCommand() *cobra.Command {
	var yes bool
	var without []string
	cmd := &cobra.Command{
		Use: "trust NAME|PATH", Short: "Approve exactly this content of a plugin, an MCP server or command hooks",
		Long: `Show what a plugin, an MCP server or a block of command hooks asks for, and approve it.

What is approved is the content as it is now, with the capabilities shown. What changes has to be approved again. A server that offers
other tools than it did when it was approved is approved anew in the same way.`,
		Args: arguments(1, 1, "a name or a path"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.trust(cmd.Context(), args[0], yes, without) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().StringArrayVar(&without, "without", nil, "do not grant this capability; may be repeated")
	return cmd
}

// maxRounds bounds how often one approval is asked for: a program says what it asks for only once it was started.
const maxRounds = 3

func (a *app) trust(ctx context.Context, name string, yes bool, without []string) error {
	for round := 1; ; round++ {
		again := false
		err := a.withExtensions(ctx, asPaths(name), func(_ *workspace, s *extensions.Set) (err error) {
			again, err = a.trustFound(ctx, s, name, yes, without, round)
			return err
		})
		if err != nil || !again || round == maxRounds {
			return err
		}
	}
}

// trustFound approves the candidates of a name and reports whether there may be more to approve.
func (a *app) trustFound(ctx context.Context, s *extensions.Set, name string, yes bool, without []string, round int) (again bool, err error) {
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
				a.screen.line(c.Name + " is approved already")
			}
			continue
		}
		if err := a.approve(ctx, s, c, yes, without); err != nil {
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
			return usageError("correct that first", "%s: %w", c.Name, c.Err)
		case plugins.StateDisabled, plugins.StateQuarantined:
			return usageError("enable it: tenon plugin enable "+argument(c), "%s is %s: %s", c.Name, c.State, c.Reason)
		}
	}
	return nil
}

// onePlace refuses candidates of one name in several places.
func onePlace(verb string, found []*extensions.Candidate) error {
	var places []string
	for _, c := range found {
		if c.Kind == trust.KindPlugin {
			places = append(places, visible(c.From))
		}
	}
	if len(places) > 1 {
		return usageError("name one by its path: tenon plugin "+verb+" PATH", "several plugins are named %q: %s", found[0].Name, strings.Join(places, ", "))
	}
	return nil
}

// approve shows a candidate, asks, and notes the answer.
func (a *app) approve(ctx context.Context, s *extensions.Set, c *extensions.Candidate, yes bool, without []string) error {
	if err := s.Describe(ctx, c); err != nil {
		return fail(exitTurn, err, "correct the plugin, or leave it out")
	}
	a.screen.line(strings.TrimRight(s.Text(c), "\n"))
	if c.Config() != nil && c.State == plugins.StateReady {
		changed, err := a.showDifferences(ctx, s, c)
		if err != nil || !changed {
			return err
		}
	}
	grants := slices.DeleteFunc(slices.Clone(c.Asked()), func(g sdk.Capability) bool { return slices.Contains(without, g.Name) })
	if err := s.Grantable(grants); err != nil {
		return usageError("tenon plugin trust "+argument(c)+" --without NAME leaves a grant out", "%s cannot be approved: %w", visible(c.Name), err)
	}
	if !yes {
		ok, err := a.confirm("  approve it? [y/N] ")
		if err != nil {
			return err
		}
		if !ok {
			return fail(exitRefused, fmt.Errorf("%s was not approved", c.Name), "nothing was changed")
		}
	}
	warning, err := s.Approve(ctx, c, grants)
	if err != nil {
		return err
	}
	if warning != nil {
		a.log.Warn("approved, but it does not work yet", "name", c.Name, "err", warning)
	}
	a.screen.line("approved " + visible(c.Name))
	return nil
}

// showDifferences shows what an approved server offers otherwise than it was approved, and reports whether there is anything.
func (a *app) showDifferences(ctx context.Context, s *extensions.Set, c *extensions.Candidate) (bool, error) {
	offered, err := s.Offered(ctx, c)
	if err != nil {
		return false, fail(exitTurn, err, "tenon mcp logs "+c.Name+" shows what it printed")
	}
	differences, pinned, err := s.Differences(c, offered)
	if err != nil {
		return false, err
	}
	if pinned && len(differences) == 0 {
		a.screen.line(visible(c.Name) + " is approved already, and offers what it did then")
		return false, nil
	}
	for _, d := range differences {
		a.screen.line(visible(d.String()))
	}
	return true, nil
}

func (a *app) pluginUntrustCommand() *cobra.Command {
	return &cobra.Command{
		Use: "untrust NAME|PATH", Short: "Take an approval back",
		Args: arguments(1, 1, "a name or a path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			what := args[0]
			for _, path := range asPaths(what) {
				what = path
				if resolved, err := filepath.EvalSymlinks(path); err == nil { // else it is gone, and known by where it was
					what = resolved
				}
			}
			return a.withExtensions(cmd.Context(), nil, func(_ *workspace, s *extensions.Set) error {
				return a.decided(s.Untrust(cmd.Context(), what), args[0], "not approved any more")
			})
		},
	}
}

func (a *app) pluginSwitchCommand(verb string, enabled bool) *cobra.Command {
	short, done := "Run a plugin again that was disabled or quarantined", "enabled"
	if !enabled {
		short, done = "Do not run a plugin; its approval stays", "disabled"
	}
	return &cobra.Command{
		Use: verb + " NAME|PATH", Short: short,
		Long: short + ".\n\nThe decision is about this content in this place, as an approval is: it holds for no other plugin of the name.",
		Args: arguments(1, 1, "a name or a path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withExtensions(cmd.Context(), asPaths(args[0]), func(_ *workspace, s *extensions.Set) error {
				if err := onePlace(verb, s.Find(args[0])); err != nil {
					return err
				}
				reason := ""
				if !enabled {
					reason = "disabled by you"
				}
				return a.decided(s.SetEnabled(cmd.Context(), args[0], enabled, reason), args[0], done)
			})
		},
	}
}

// decided says what became of a decision.
func (a *app) decided(err error, name, done string) error {
	if errors.Is(err, trust.ErrNotFound) {
		return usageError("tenon plugin list shows what is there; what you configured yourself is switched off there", "%q was not approved", name)
	}
	if err != nil {
		return err
	}
	a.screen.line(visible(name) + ": " + done)
	return nil
}

package manage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/extensions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// onPlugins returns work with all third-party extensions, and the one at the path if the argument is one.
func (g *group) onPlugins(f func(ctx context.Context, s *extensions.Set, name string) error) cli.Work {
	return func(cmd *cobra.Command, args []string) error {
		return g.WithExtensions(cmd.Context(), asPaths(args[0]), func(_ *cli.Workspace, s *extensions.Set) error { return f(cmd.Context(), s, args[0]) })
	}
}

// switchPlugin returns the work that enables or disables the plugin with a name or path.
func (g *group) switchPlugin(enabled bool) func(context.Context, *extensions.Set, string) error {
	return func(ctx context.Context, s *extensions.Set, name string) error {
		if err := onePlace(strings.TrimSuffix(switched(enabled), "d"), s.Find(name)); err != nil {
			return err
		}
		return g.setEnabled(ctx, s, name, enabled)
	}
}

// setEnabled enables or disables everything with a name or path.
func (g *group) setEnabled(ctx context.Context, s *extensions.Set, name string, enabled bool) error {
	done := switched(enabled)
	for _, c := range s.Find(name) {
		if enabled && c.AwaitsApproval() {
			done = "enabled, but its content is not approved; approve it with tenon plugin trust " + c.Argument()
		}
	}
	return g.reportDecision(s.SetEnabled(ctx, name, enabled), s, name, done)
}

func switched(enabled bool) string {
	if enabled {
		return "enabled"
	}
	return "disabled"
}

// why returns the reason why a candidate does not run, with the remedy.
func why(c *extensions.Candidate) string {
	switch {
	case c.Err != nil:
		return c.Err.Error()
	case c.State == plugins.StatePending:
		return strings.TrimPrefix(c.Reason+"; approve it with tenon plugin trust "+c.Argument(), "; ")
	case c.State == plugins.StateQuarantined:
		return c.Reason + "; enable it with tenon plugin enable " + c.Argument()
	}
	return c.Reason
}

// pluginInfo is a plugin with its requests.
type pluginInfo struct {
	listedPlugin
	Description string          `json:"description,omitempty"`
	Digest      trust.Digest    `json:"digest,omitempty"`
	Request     *trust.Request  `json:"request,omitempty"`
	Options     json.RawMessage `json:"options,omitempty"` // their schema
	Starts      []string        `json:"starts,omitempty"`  // of a server or command hooks
}

func (g *group) showPlugins(_ context.Context, s *extensions.Set, name string) error {
	found, err := find(s, name)
	if err != nil {
		return err
	}
	var list []pluginInfo
	var b strings.Builder
	for _, c := range found {
		info := pluginInfo{listedPlugin: listed(s, c), Starts: c.Lines}
		if c.Item != nil {
			info.Description, info.Digest, info.Request, info.Options = c.Item.Manifest.Summary, c.Item.Digest, &c.Item.Request, c.Item.Manifest.Options
		}
		list = append(list, info)
		line := func(label, text string) {
			fmt.Fprintf(&b, "  %-14s %s\n", label, terminal.Visible(strings.TrimSpace(text)))
		}
		b.WriteString(s.Text(c))
		if c.Item != nil {
			b.WriteString(c.Item.OptionsText())
		}
		line("state", strings.TrimSuffix(string(info.State)+"; "+info.Why, "; "))
		for _, grant := range c.Grants {
			line("granted", grant.Name+" "+strings.Join(grant.Scope, ", "))
		}
	}
	return g.Show(list, func() error { return g.Print(b.String()) })
}

// asPaths returns the argument if it looks like a path, and not like a reference with a scheme.
func asPaths(arg string) []string {
	reference := strings.Contains(arg, ":") && source.IsRef(arg)
	if reference || !strings.ContainsAny(arg, `/\`) && !strings.HasSuffix(arg, ".wasm") && arg != "." && arg != ".." {
		return nil
	}
	path, _ := filepath.Abs(arg) // without a working directory, no command works
	return []string{path}
}

func find(s *extensions.Set, name string) ([]*extensions.Candidate, error) {
	found := s.Find(name)
	switch {
	case len(found) > 0 && asPaths(name) != nil && errors.Is(found[0].Err, plugins.ErrMissing):
		return nil, cli.UsageError(cli.CheckPath, "%w: %s", plugins.ErrMissing, terminal.Visible(found[0].From))
	case len(found) > 0:
		return found, nil
	case source.IsRef(name):
		return nil, cli.UsageError("tenon plugin list shows the installed plugins; to install this one and approve it, run: tenon plugin install "+visible.Word(name), "no plugin is installed from %q", name)
	}
	fix := "tenon plugin list shows them; a path begins with ./"
	if _, err := os.Stat(name); err == nil {
		fix = "tenon plugin list shows them; for the file or directory of this name, write " + visible.Word("./"+name)
	}
	return nil, cli.UsageError(fix, "plugin, MCP server or command hook %q not found", name)
}

// trustPlugin approves everything with a name or path.
func (g *group) trustPlugin(ctx context.Context, s *extensions.Set, name string) error {
	found, err := find(s, name)
	if err == nil {
		err = onePlace("trust", found)
	}
	for _, c := range found {
		if err == nil {
			err = Approve(ctx, g.App, s, c, g.yes, g.without)
		}
	}
	return err
}

// onePlace returns an error if several plugins have the same name.
func onePlace(verb string, found []*extensions.Candidate) error {
	var places []string
	for _, c := range found {
		if c.Kind == trust.KindPlugin {
			places = append(places, terminal.Visible(c.From))
		}
	}
	if len(places) > 1 {
		return cli.UsageError("select one by its path: tenon plugin "+verb+" PATH", "several plugins are named %q: %s", found[0].Name, strings.Join(places, ", "))
	}
	return nil
}

// maxRounds limits the rounds of one approval.
const maxRounds = 3

// Approve shows a candidate, asks the user unless yes is set, and stores the approval. It asks again if the plugin then requests more. It
// grants neither the capabilities in without, nor those that the user withheld from the earlier content.
func Approve(ctx context.Context, a *cli.App, s *extensions.Set, c *extensions.Candidate, yes bool, without []string) error {
	for _, name := range without { // a misspelled name would withhold no grant
		if known := manifest.Capabilities(); !slices.Contains(known, name) {
			return cli.UsageError(nearest.Remedy(name, known), "--without: unknown capability %q", name)
		}
	}
	var err error
	switch approved := c.State == plugins.StateReady && c.Server == nil; {
	case approved && slices.ContainsFunc(c.Grants, func(g sdk.Capability) bool { return slices.Contains(without, g.Name) }):
		return cli.UsageError("to change its grants, first run: tenon plugin untrust "+c.Argument(), "%s is already approved", c.Name)
	case approved:
		a.Say("%s is already approved", c.Name)
		return nil
	}
	for round := 0; err == nil && c != nil && round < maxRounds; round++ {
		c, err = approve(ctx, a, s, c, yes, without)
	}
	return err
}

// approve is one round of Approve. It returns the plugin if it requests more.
func approve(ctx context.Context, a *cli.App, s *extensions.Set, c *extensions.Candidate, yes bool, without []string) (again *extensions.Candidate, err error) {
	switch c.State {
	case plugins.StateRejected:
		return nil, cli.UsageError("fix the plugin, or name another one", "%s: %w", c.Name, c.Err)
	case plugins.StateDisabled, plugins.StateQuarantined:
		return nil, cli.UsageError("enable it with tenon plugin enable "+c.Argument(), "%s is %s: %s", c.Name, c.State, c.Reason)
	}
	if err := s.Describe(ctx, c); err != nil {
		return nil, cli.Fail(cli.ExitTurn, err, "fix the plugin, or remove it")
	}
	a.Screen.Line(a.Screen.Wrapped(strings.TrimRight(s.Text(c), "\n")))
	if c.Server != nil && c.State == plugins.StateReady {
		offer, err := s.Compare(ctx, c)
		if err != nil {
			return nil, cli.Fail(cli.ExitTurn, err, s.Remedy(c))
		}
		if offer.Pinned && !offer.Differs {
			a.Say("%s is already approved, and its tools are unchanged", c.Name)
			return nil, nil
		}
		for _, w := range offer.Withheld {
			a.Say("%s", w)
		}
	}
	if c.Item != nil {
		without = slices.Concat(without, c.Item.Decision.Withheld)
	}
	grants := slices.DeleteFunc(slices.Clone(c.Asks), func(g sdk.Capability) bool { return slices.Contains(without, g.Name) })
	if err := s.Loader.Grantable(grants); err != nil {
		return nil, cli.UsageError("tenon plugin trust "+c.Argument()+" --without NAME omits a grant", "%s cannot be approved: %w", terminal.Visible(c.Name), err)
	}
	if err := a.Consent(yes, "  approve it? [y/N] ", cli.Fail(cli.ExitRefused, fmt.Errorf("%s was not approved", c.Name), "nothing was changed")); err != nil {
		return nil, err
	}
	again, warning, err := s.Approve(ctx, c, grants)
	if errors.Is(err, extensions.ErrLocked) {
		return nil, cli.Fail(cli.ExitRefused, err, fmt.Sprintf("compare it with the commit that changed %s; if the change is right, remove %s from that file, approve it, and run tenon mcp lock", extensions.ServerLock, c.Argument()))
	}
	if err != nil {
		return nil, err
	}
	if warning != nil {
		a.Log.Warn("approved, but it does not work yet", "name", c.Name, "err", warning)
	}
	a.Say("approved %s", c.Name)
	return again, nil
}

func (g *group) untrust(ctx context.Context, s *extensions.Set, name string) error {
	what := name
	for _, path := range asPaths(what) {
		what = path
		if resolved, err := filepath.EvalSymlinks(path); err == nil { // if it was removed, its old path identifies it
			what = resolved
		}
	}
	for _, c := range s.Find(what) {
		if c.Item != nil && source.IsRef(name) {
			what = c.Item.Trusted().Source
		}
	}
	return g.reportDecision(s.Untrust(ctx, what), s, name, "approval revoked")
}

// reportDecision prints the result of a decision about the candidates with a name or path.
func (g *group) reportDecision(err error, s *extensions.Set, name, done string) error {
	if errors.Is(err, trust.ErrNotFound) {
		return cli.UsageError("tenon plugin list shows the approved ones; tenon mcp enable and tenon mcp disable are for servers of your own configuration", "%q was not approved", name)
	}
	if err != nil {
		return err
	}
	if found := s.Find(name); len(found) > 0 {
		name = found[0].Name
	}
	g.Say("%s: %s", name, done)
	return nil
}

// listedPlugin is a plugin in the list.
type listedPlugin struct {
	Kind    trust.Kind       `json:"kind"`
	Name    string           `json:"name"`
	Version string           `json:"version,omitempty"`
	Carrier sdk.Carrier      `json:"carrier,omitempty"`
	State   plugins.State    `json:"state"` // or stateFailed
	From    string           `json:"from"`
	Project bool             `json:"project"` // part of the project
	Why     string           `json:"why,omitempty"`
	Grants  []sdk.Capability `json:"grants,omitempty"`
	*parts                   // nil for servers and hooks that are not in a plugin
}

// parts are the origin and the contributions of a plugin.
type parts struct {
	Source     string       `json:"source"` // the reference it was installed from, or its path
	Digest     trust.Digest `json:"digest,omitempty"`
	Path       string       `json:"path"` // path of the sealed copy; before approval, of the plugin itself
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
		MCPServers: list(c.Item.Servers()), LeftOut: list(c.Item.LeftOut()),
	}
	points := cli.Mapped(r.Hooks, func(h *trust.Hook) string { return string(h.Point) })
	out.Hooks = append(list(points), r.CommandHooks...)
	return out
}

func list(s []string) []string { return append([]string{}, s...) }

func listed(s *extensions.Set, c *extensions.Candidate) listedPlugin {
	state, reason, _ := standing(s, c)
	return listedPlugin{c.Kind, c.Name, c.Version, c.Carrier, state, c.From, c.Project, reason, c.Grants, partsOf(c)}
}

// warn prints the warnings about plugins, servers and hooks.
func (g *group) warn(s *extensions.Set) {
	for _, warning := range s.Warnings {
		g.Log.Warn(warning)
	}
}

func (g *group) listPlugins(_ context.Context, s *extensions.Set, _ []string) error {
	rows := cli.Mapped(s.Candidates, func(c **extensions.Candidate) listedPlugin { return listed(s, *c) })
	g.warn(s)
	const empty = "no plugins, MCP servers or command hooks; tenon plugin new creates a plugin, tenon mcp add adds a server"
	return cli.List(g.App, rows, empty, []string{"name", "version", "carrier", "state", "from", ""}, func(p *listedPlugin) []string {
		return []string{p.Name, p.Version, string(p.Carrier), string(p.State), p.From, p.Why}
	})
}

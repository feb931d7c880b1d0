package extensions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// Text describes a candidate and its requests for a terminal.
func (s *Set) Text(c *Candidate) string {
	if c.Item != nil {
		return c.Item.Text(s.free(c))
	}
	var b strings.Builder
	kind := "MCP server"
	request := trust.Request{Servers: c.Lines, Hooks: c.serverHooks()}
	if c.Kind == trust.KindHooks {
		kind, request = "command hooks", trust.Request{CommandHooks: c.Lines}
	}
	fmt.Fprintf(&b, "%s %s\n  %-14s %s\n", kind, plugins.Clean(c.Name), "from", plugins.Clean(c.From))
	if c.trusted.Digest != "" {
		fmt.Fprintf(&b, "  %-14s %s\n", "digest", c.trusted.Digest.Short())
	}
	plugins.RequestText(&b, request, s.free(c))
	if c.Project {
		s.coveredText(&b, c)
	}
	plugins.ChangesText(&b, c.decision)
	return b.String()
}

// serverHooks returns the requests of a server's hooks; none if it is disabled, because then they are not checked.
func (c *Candidate) serverHooks() []trust.Hook {
	if c.Server == nil || c.Server.Disabled {
		return nil
	}
	var out []trust.Hook
	for i := range c.Server.Hooks {
		out = append(out, plugins.HookRequest(&c.Server.Hooks[i].HookDescription))
	}
	return out
}

// coveredText lists the project's files that an approval of commands covers, and describes those that it does not.
func (s *Set) coveredText(b *strings.Builder, c *Candidate) {
	label := "approved with"
	for _, path := range slices.Compact(slices.Sorted(slices.Values(c.files))) {
		if rel, err := filepath.Rel(s.opts.Project.Worktree, path); err == nil {
			path = rel
		}
		fmt.Fprintf(b, "  %-14s %s\n", label, plugins.Clean(path))
		label = ""
	}
	if len(c.Lines) > 0 && (c.Server == nil || c.Server.Transport == mcp.TransportStdio) {
		fmt.Fprintf(b, "  %-14s %s\n", "NOT covered", trust.NotCovered)
	}
}

// Describe asks a module that awaits approval for its contributions. It runs without grants.
func (s *Set) Describe(ctx context.Context, c *Candidate) error {
	if c.Item == nil {
		return nil
	}
	err := s.Loader.Describe(ctx, c.Item)
	*c = *pluginCandidate(c.Item)
	return err
}

// Approve records the user's approval of a candidate as Text shows it, with these grants. It prepares the first turn: programs describe their
// contributions, servers list what they offer, modules are compiled. Failures of that are only a warning. Approving a plugin also reloads the
// set. again is the plugin if it requests more: a program reports its requests only after it is started.
func (s *Set) Approve(ctx context.Context, c *Candidate, grants []sdk.Capability) (again *Candidate, warning, err error) {
	if c.Item != nil {
		if err := s.Loader.Approve(ctx, c.Item, grants); err != nil {
			return nil, nil, err
		}
		again, warning = s.prepare(ctx, c)
		return again, warning, nil
	}
	if err := s.checkDefinition(ctx, c); err != nil {
		return nil, nil, err
	}
	if c.Server != nil {
		_, warning = s.Offered(ctx, c)
	}
	if c.Server != nil && warning == nil {
		if err := s.Pin(ctx, c); err != nil { // before the approval, which would be valid even without pins
			return nil, nil, err
		}
	}
	if c.State == plugins.StatePending {
		if err := s.store.Approve(ctx, c.trusted, nil, nil); err != nil {
			return nil, nil, err
		}
	}
	return nil, warning, nil
}

// Pin stores the definition that Offered returned as approved, so that nothing is approved that was not shown.
func (s *Set) Pin(ctx context.Context, c *Candidate) error {
	offered, err := s.Offered(ctx, c)
	if err != nil {
		return err
	}
	if err := s.checkOffers(c, offered); err != nil {
		return err
	}
	return mcp.Approve(s.pins(), *c.Server, offered)
}

// Offered returns what a server offers. The first call connects to the server.
func (s *Set) Offered(ctx context.Context, c *Candidate) (*mcp.Definition, error) {
	if c.offered == nil {
		offered, err := mcp.Probe(ctx, *c.Server, s.opts.Project, s.serverOptions(c))
		if err != nil {
			return nil, err
		}
		c.offered = offered
	}
	return c.offered, nil
}

// Offer is what a server offers, compared with what was approved.
type Offer struct {
	*mcp.Definition
	Pinned   bool       // something was approved
	Tools    []mcp.Tool // the tools that a run offers
	Withheld []mcp.Withheld
	Differs  bool // from what was approved
}

// Compare returns what a server offers. The first call connects to the server.
func (s *Set) Compare(ctx context.Context, c *Candidate) (*Offer, error) {
	current, err := s.Offered(ctx, c)
	if err != nil {
		return nil, err
	}
	pin, err := s.pins().Load(*c.Server)
	if err != nil {
		return nil, err
	}
	offered, rest := pin.Offer(current)
	differs := slices.ContainsFunc(rest, func(w mcp.Withheld) bool { return w.Diff != "" })
	return &Offer{Definition: current, Pinned: pin != nil, Tools: offered.Tools, Withheld: rest, Differs: differs}, nil
}

// pins are the approvals of servers.
func (s *Set) pins() mcp.FilePins { return mcp.FilePins(s.serverDir()) }

// Call connects to a server and calls one of its tools by the server's name for it. It returns a *sdk.Refusal for a tool that an administrator's
// file denies. A call that the user types needs no other permission.
func (s *Set) Call(ctx context.Context, c *Candidate, tool string, args json.RawMessage) (*sdk.ToolResult, error) {
	id, origin := mcp.ToolID(c.Server.Name, tool), sdk.Origin{Carrier: sdk.CarrierMCP, Plugin: c.Server.PluginName(), Server: c.Server.Name}
	d := permission.Compile(s.opts.Project.Home, s.opts.Config.Managed).DecideRequest(&permission.Request{
		Permission: id, Patterns: []string{"*"}, Tool: id, Sources: permission.SourcesOf(origin),
	})
	if d.Action == sdk.ActionDeny {
		return nil, &sdk.Refusal{By: "rule", Reason: fmt.Sprintf("the tool %q is denied by the rule at %s", id, d.Rule.Origin)}
	}
	return mcp.Call(ctx, *c.Server, s.opts.Project, s.serverOptions(c), tool, args)
}

// LogPath returns the path of a server's log.
func (s *Set) LogPath(c *Candidate) string { return mcp.LogPath(s.serverDir(), *c.Server) }

// prepare reloads the set. It compiles the module of an approved plugin, and pins what its servers offer. It returns the plugin if it is
// pending again.
func (s *Set) prepare(ctx context.Context, approved *Candidate) (again *Candidate, err error) {
	now, err := Open(ctx, s.opts)
	if err != nil {
		return nil, err
	}
	err = s.Discard(ctx)
	*s = *now
	for _, c := range s.Candidates {
		if c.Server != nil && c.From == packageOf(approved.Name) {
			err = errors.Join(err, s.Pin(ctx, c))
		}
		if c.Item == nil || c.Item.Trusted().Source != approved.Item.Trusted().Source {
			continue
		}
		err = errors.Join(err, c.precompile(ctx))
		if c.State == plugins.StatePending {
			again = c
		}
	}
	return again, err
}

// Precompile compiles the modules that are not compiled yet, so that no hook spends its deadline on that. One after the other, so that an
// interrupted start has made progress.
func (s *Set) Precompile(ctx context.Context) (err error) {
	for _, c := range s.Candidates {
		slow := time.AfterFunc(time.Second, func() {
			s.opts.Logger.Warn("compiling a plugin, once for each version of it and of tenon", "plugin", c.Name)
		})
		err = errors.Join(err, c.precompile(ctx))
		slow.Stop()
	}
	return err
}

func (c *Candidate) precompile(ctx context.Context) error {
	if p, ok := c.plugin.(remote.Precompiler); ok && !p.Compiled() {
		return p.Precompile(ctx)
	}
	return nil
}

// packageOf returns the origin of servers and command hooks of a package.
func packageOf(plugin string) string { return "plugin " + plugin }

// Untrust revokes the approvals of a name, or of a plugin at an absolute path, links resolved. trust.ErrNotFound if nothing was approved.
func (s *Set) Untrust(ctx context.Context, name string) error {
	err := s.Loader.Untrust(ctx, name)
	for _, kind := range []trust.Kind{trust.KindServer, trust.KindHooks} {
		if !errors.Is(err, trust.ErrNotFound) {
			return err
		}
		_, err = s.store.Revoke(ctx, kind, name)
	}
	return err
}

// SetEnabled enables or disables the candidates with a name or path. Without such a candidate, it changes the approval of that name if only
// one path has one, and entries of version 1 that disable the name everywhere. trust.ErrNotFound if nothing was approved.
func (s *Set) SetEnabled(ctx context.Context, name string, enabled bool) error {
	items := []trust.Item{{Name: name}}
	elsewhere := slices.DeleteFunc(slices.Clone(s.entries), func(e trust.Entry) bool { return e.Name != name || e.Source == "" })
	if len(elsewhere) > 0 && !slices.ContainsFunc(elsewhere, func(e trust.Entry) bool { return e.Source != elsewhere[0].Source || e.Kind != elsewhere[0].Kind }) {
		items[0] = elsewhere[0].Item
	}
	if found := s.Find(name); len(found) > 0 {
		items = nil
		for _, c := range found {
			items = append(items, c.approvedItem())
		}
	}
	err := trust.ErrNotFound
	for _, i := range items {
		if one := s.store.SetEnabled(ctx, i, enabled, "disabled by you"); !errors.Is(one, trust.ErrNotFound) {
			err = one
		}
	}
	return err
}

// Quarantine records that a plugin is in quarantine, for the next runs too. trust.ErrNotFound for plugins without their own approval.
func (s *Set) Quarantine(ctx context.Context, plugin, reason string) error {
	for c := range s.opened() {
		if c.plugin.Manifest().Name == plugin {
			return s.store.Quarantine(ctx, c.approvedItem(), reason)
		}
	}
	return trust.ErrNotFound
}

// Failures returns the number of consecutive failures in earlier runs, by plugin and hook.
func (s *Set) Failures() map[string]map[string]int {
	out := map[string]map[string]int{}
	for c := range s.opened() {
		if len(c.decision.Failures) > 0 {
			out[c.plugin.Manifest().Name] = c.decision.Failures
		}
	}
	return out
}

// KeepFailures saves the current series of failures of hooks for the next run. Plugins without their own approval start from zero.
func (s *Set) KeepFailures(ctx context.Context, failures map[string]map[string]int) (err error) {
	for c := range s.opened() {
		now := failures[c.plugin.Manifest().Name]
		if c.State != plugins.StateReady || maps.Equal(now, c.decision.Failures) {
			continue
		}
		if one := s.store.SetFailures(ctx, c.approvedItem(), now); !errors.Is(one, trust.ErrNotFound) {
			err = errors.Join(err, one)
		}
	}
	return err
}

// approvedItem returns the item that the user approves.
func (c *Candidate) approvedItem() trust.Item {
	if c.Item != nil {
		return c.Item.Trusted()
	}
	i := c.trusted
	i.Kind, i.Name = c.Kind, c.Name
	return i
}

// Server returns the configuration of a server by its name; nil without one.
func (s *Set) Server(name string) (found *Candidate) {
	for _, c := range s.Candidates {
		if c.Server != nil && c.Name == name && (found == nil || found.Server.Disabled) {
			found = c
		}
	}
	return found
}

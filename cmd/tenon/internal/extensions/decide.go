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
	if c.State == plugins.StatePending {
		plugins.ChangesText(&b, c.decision)
	}
	return b.String()
}

// serverHooks returns the requests of a server's hooks.
func (c *Candidate) serverHooks() []trust.Hook {
	if c.Server == nil {
		return nil
	}
	var out []trust.Hook
	for i := range c.Server.Hooks {
		description := c.Server.Hooks[i].Description()
		if hook, ok := plugins.HookRequest(&description); ok {
			out = append(out, hook)
		}
	}
	return out
}

// rights leaves the hooks that have full rights.
func rights(hooks []trust.Hook) []trust.Hook {
	return slices.DeleteFunc(hooks, func(h trust.Hook) bool { return h.Right == "" })
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
	err := s.loader.Describe(ctx, c.Item)
	*c = *pluginCandidate(c.Item)
	return err
}

// Asked returns the capabilities that a candidate requests.
func (c *Candidate) Asked() []sdk.Capability {
	if c.Item == nil {
		return nil
	}
	return c.Item.Request.Capabilities
}

// Grantable returns an error for grants that no plugin may have.
func (s *Set) Grantable(grants []sdk.Capability) error { return s.loader.Grantable(grants) }

// Approve records the user's approval of a candidate as Text shows it, with these grants. It prepares the first turn: programs describe their
// contributions, servers list what they offer, modules are compiled. Failures of that are only a warning.
func (s *Set) Approve(ctx context.Context, c *Candidate, grants []sdk.Capability) (warning, err error) {
	if c.Item != nil {
		if err := s.loader.Approve(ctx, c.Item, grants); err != nil {
			return nil, err
		}
		return s.prepare(ctx, c.Name), nil
	}
	if err := s.checkDefinition(ctx, c); err != nil {
		return nil, err
	}
	if c.Server != nil {
		_, warning = s.Offered(ctx, c)
	}
	if c.Server != nil && warning == nil {
		if err := s.Pin(ctx, c); err != nil { // before the approval, which would count without it
			return nil, err
		}
	}
	if c.State == plugins.StatePending {
		if err := s.store.Approve(ctx, c.trusted, nil); err != nil {
			return nil, err
		}
	}
	return warning, nil
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
	return mcp.Approve(mcp.FilePins(s.serverDir()), *c.Server, offered)
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

// Differences returns the differences between what a server offers and what was approved; pinned is false if nothing was approved.
func (s *Set) Differences(c *Candidate, offered *mcp.Definition) (list []mcp.Difference, pinned bool, err error) {
	pin, err := mcp.FilePins(s.serverDir()).Load(*c.Server)
	if err != nil || pin == nil {
		return nil, false, err
	}
	return mcp.Compare(&pin.Definition, offered), true, nil
}

// Available returns the tools of a server that a run offers, and the names of unusable ones with the reasons.
func (s *Set) Available(c *Candidate, offered *mcp.Definition) (tools []mcp.Tool, unusable map[string]string, err error) {
	pin, err := mcp.FilePins(s.serverDir()).Load(*c.Server)
	if err != nil {
		return nil, nil, err
	}
	tools, unusable = mcp.Available(pin, offered)
	return tools, unusable, nil
}

// Call connects to a server and calls one of its tools by the server's name for it.
func (s *Set) Call(ctx context.Context, c *Candidate, tool string, args json.RawMessage) (*sdk.ToolResult, error) {
	if err := s.forbidden(c, mcp.ToolID(c.Server.Name, tool)); err != nil {
		return nil, err
	}
	return mcp.Call(ctx, *c.Server, s.opts.Project, s.serverOptions(c), tool, args)
}

// forbidden returns a *sdk.Refusal for a tool that an administrator's file denies. A call that the user types needs no other permission.
func (s *Set) forbidden(c *Candidate, tool string) error {
	origin := sdk.Origin{Carrier: sdk.CarrierMCP, Plugin: c.Server.PluginName(), Server: c.Server.Name}
	d := permission.Compile(s.opts.Project.Home, s.opts.Config.Managed).DecideRequest(&permission.Request{
		Permission: tool, Patterns: []string{"*"}, Tool: tool, Sources: permission.SourcesOf(origin),
	})
	if d.Action != sdk.ActionDeny {
		return nil
	}
	return &sdk.Refusal{By: "rule", Reason: fmt.Sprintf("the tool %q is denied by the rule at %s", tool, d.Rule.Origin)}
}

// LogPath returns the path of a server's log.
func (s *Set) LogPath(c *Candidate) string { return mcp.LogPath(s.serverDir(), *c.Server) }

// prepare prepares the first turn of an approved plugin: it compiles its module and pins what its servers offer.
func (s *Set) prepare(ctx context.Context, name string) error {
	again, err := Open(ctx, s.opts)
	if err != nil {
		return err
	}
	for _, p := range again.Plugins {
		if p.Manifest().Name == name {
			err = errors.Join(err, precompile(ctx, p))
		}
	}
	for _, c := range again.Candidates {
		if c.Server != nil && c.From == packageOf(name) {
			err = errors.Join(err, again.Pin(ctx, c))
		}
	}
	return errors.Join(err, again.Discard(ctx))
}

// precompile compiles the module of a plugin; others need none.
func precompile(ctx context.Context, p sdk.Plugin) error {
	if c, ok := p.(remote.Precompiler); ok {
		return c.Precompile(ctx)
	}
	return nil
}

// Precompile compiles the modules that are not compiled yet, so that no hook spends its deadline on that.
func (s *Set) Precompile(ctx context.Context) error {
	var err error
	for _, p := range s.Plugins {
		err = errors.Join(err, precompile(ctx, p))
	}
	return err
}

// packageOf returns the origin of servers and command hooks of a package.
func packageOf(plugin string) string { return "plugin " + plugin }

// Untrust revokes the approvals of a name, or of a plugin at an absolute path, links resolved. trust.ErrNotFound if nothing was approved.
func (s *Set) Untrust(ctx context.Context, name string) error {
	err := s.loader.Untrust(ctx, name)
	for _, kind := range []trust.Kind{trust.KindServer, trust.KindHooks} {
		if !errors.Is(err, trust.ErrNotFound) {
			return err
		}
		_, err = s.store.Revoke(ctx, kind, name)
	}
	return err
}

// SetEnabled enables or disables the candidates with a name or path; reason is shown for disabled ones. Without such a candidate, it changes
// the approval of that name if only one path has one, and entries of version 1 that disable the name everywhere. trust.ErrNotFound if nothing
// was approved.
func (s *Set) SetEnabled(ctx context.Context, name string, enabled bool, reason string) error {
	items := []trust.Item{{Name: name}}
	elsewhere := slices.DeleteFunc(slices.Clone(s.entries), func(e trust.Entry) bool { return e.Name != name || e.Source == "" })
	if len(elsewhere) == 1 {
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
		if one := s.store.SetEnabled(ctx, i, enabled, reason); !errors.Is(one, trust.ErrNotFound) {
			err = one
		}
	}
	return err
}

// Quarantine records that a plugin is in quarantine, for the next runs too. trust.ErrNotFound for plugins without their own approval.
func (s *Set) Quarantine(ctx context.Context, plugin, reason string) error {
	for _, p := range s.Plugins {
		if p.Manifest().Name == plugin {
			return s.store.Quarantine(ctx, s.origins[p].candidate.approvedItem(), reason)
		}
	}
	return trust.ErrNotFound
}

// Failures returns the number of consecutive failures in earlier runs, by plugin and hook.
func (s *Set) Failures() map[string]map[string]int {
	out := map[string]map[string]int{}
	for _, p := range s.Plugins {
		if c := s.origins[p].candidate; len(c.decision.Failures) > 0 {
			out[p.Manifest().Name] = c.decision.Failures
		}
	}
	return out
}

// KeepFailures saves the current series of failures of hooks for the next run. Plugins without their own approval start from zero.
func (s *Set) KeepFailures(ctx context.Context, failures map[string]map[string]int) error {
	var err error
	for _, p := range s.Plugins {
		c, now := s.origins[p].candidate, failures[p.Manifest().Name]
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

// Server returns the configuration of a server by its name.
func (s *Set) Server(name string) (found *Candidate, ok bool) {
	for _, c := range s.Candidates {
		if c.Server != nil && c.Name == name && (found == nil || found.Server.Disabled) {
			found = c
		}
	}
	return found, found != nil
}

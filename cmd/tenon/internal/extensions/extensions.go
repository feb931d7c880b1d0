// Package extensions gathers third-party code for a run: plugins, MCP servers and command hooks, from flags, configuration,
// directories and packages. It opens the approved ones and reports the pending ones. Nothing else runs.
package extensions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/builtin/commandhooks"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/plugins"
	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/trust"
	"github.com/tenonhq/tenon/sdk"
)

// Options configure Open. All paths are absolute.
type Options struct {
	plugins.Options // Project, Staged, CacheDir, Reserved, Shipped, Environ and Logger are used

	Config      *config.Loaded
	Flags       []string // paths of plugins that the command line names
	Watch       bool     // Flags are under development: their new content runs without a question
	Version     string
	Hide        func(secrets []string) // masks the tokens of MCP servers; see auth.Options
	Credentials *credentials.Store     // store of the tokens of MCP servers
}

// Set is the result of Open. The host closes its plugins; Discard closes plugins that no host received.
type Set struct {
	// Candidates lists everything that Open found, in the order of the hooks: plugins as configured, MCP servers, command hooks.
	Candidates []*Candidate
	Skills     []sdk.PackagedSkill // of approved packages
	Loader     *plugins.Loader
	// Warnings are for the user.
	Warnings []string

	opts    Options
	store   *trust.Store
	entries trust.Entries
	turns   chan struct{} // see mcp.Options
}

// Candidate is a third-party plugin, server or block of command hooks, with the user's decision.
type Candidate struct {
	Kind    trust.Kind
	Name    string
	Version string
	Carrier sdk.Carrier
	From    string // origin, human-readable
	Project bool   // it is part of the project
	State   plugins.State
	Err     error            // the reason why it is rejected
	Reason  string           // the reason why it is disabled or in quarantine
	Asks    []sdk.Capability // the capabilities that it requests
	Grants  []sdk.Capability

	Item    *plugins.Item   // of a plugin
	Server  *mcp.Server     // of a server
	Lines   []string        // what servers and command hooks start or call
	pack    string          // name of the package of servers and command hooks; empty: none
	trusted trust.Item      // of servers and command hooks
	files   []string        // files of the project that an approval of the project's servers and hooks covers
	offered *mcp.Definition // the server's answer to the last request for its definition; nil before
	// decision is empty for items of the user, which need no approval.
	decision trust.Decision

	named  string     // name of the plugin of a server of the configuration
	plugin sdk.Plugin // nil if no part of it runs
	key    string     // plugins with the same key are interchangeable
	reused bool       // plugin is of an earlier set
}

// Open finds all candidates and opens those that may run. A problem of one candidate does not affect the others; the error is about
// tenon.lock, or from ctx.
func Open(ctx context.Context, o Options) (*Set, error) {
	s := &Set{opts: o, store: trust.OpenStore(filepath.Join(o.Project.DataDir, trust.LockFile)), turns: make(chan struct{}, maxProbes)}
	var err error
	if s.entries, err = s.store.Read(); err != nil {
		return nil, err
	}
	policy, err := signature.New(o.Config.Config.PluginPolicy, signature.Sigstore{})
	if err != nil {
		return nil, err
	}
	without, _ := child.Lookup(o.Environ, WithoutVariable)
	l := o.Options
	l.Entries, l.Store, l.Openers, l.Policy, l.Without = pluginEntries(&o), s.store, openers(&o), policy, strings.Split(without, ",")
	l.ConfigFiles = slices.DeleteFunc(slices.Clone(o.Config.Files), func(path string) bool { return o.Config.ProjectFiles[path] != "" }) // the user's
	l.Hooks = func(file, root string, data []byte) (lines, warnings []string, err error) {
		return commandhooks.Commands(commandhooks.Source{Where: file, Root: root, Data: data})
	}
	s.Loader = plugins.New(l)
	found, err := s.Loader.Load(ctx)
	if err != nil {
		return nil, err
	}
	s.Skills, s.Warnings = found.Skills, found.Warnings
	for _, name := range l.Without {
		if name != "" && !slices.ContainsFunc(found.Items, func(i *plugins.Item) bool { return i.Name == name }) {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s names %q, which is not a plugin here", WithoutVariable, name))
		}
	}
	for _, i := range found.Items {
		c := pluginCandidate(i)
		s.Candidates = append(s.Candidates, c)
		c.plugin, c.key = i.Plugin, fmt.Sprintf("%s %s %s %v %s %v", i.State, i.Name, i.Digest, i.Grants, i.Options, o.unconfined(i.Name))
		warnings := i.Ignored
		if i.Pin() == nil { // others were shown when it was installed, and by plugin info
			warnings = slices.Concat(warnings, i.Warnings)
		}
		for _, w := range warnings {
			s.Warnings = append(s.Warnings, "plugin "+i.Name+": "+w)
		}
	}
	s.servers(ctx, found.Servers)
	s.commandHooks(ctx, found.HookFiles)
	if err := ctx.Err(); err != nil { // it rejected candidates
		return nil, errors.Join(err, s.Discard(ctx))
	}
	s.distinct()
	return s, nil
}

// WithoutVariable is an environment variable with names of plugins, separated by commas, that are disabled for one run.
const WithoutVariable = "TENON_WITHOUT_PLUGINS"

// Plugins returns the plugins that may run, in the order of their hooks.
func (s *Set) Plugins() []sdk.Plugin {
	var out []sdk.Plugin
	for c := range s.opened() {
		out = append(out, c.plugin)
	}
	return out
}

// opened yields the candidates with a plugin.
func (s *Set) opened() iter.Seq[*Candidate] {
	return func(yield func(*Candidate) bool) {
		for _, c := range s.Candidates {
			if c.plugin != nil && !yield(c) {
				return
			}
		}
	}
}

// running reports whether the candidate is part of a run, at least with the hooks that remain in quarantine.
func (c *Candidate) running() bool {
	return c.State == plugins.StateReady || c.State == plugins.StateQuarantined
}

// Quarantined returns the reasons for the quarantine of plugins, by name.
func (s *Set) Quarantined() map[string]string {
	out := map[string]string{}
	for c := range s.opened() {
		if c.State == plugins.StateQuarantined {
			out[c.plugin.Manifest().Name] = c.Reason
		}
	}
	return out
}

// Reuse puts the plugins of an earlier set in the place of those that would do the same, and closes the latter, which must not have
// been started.
func (s *Set) Reuse(ctx context.Context, earlier *Set) (err error) {
	for c := range s.opened() {
		for old := range earlier.opened() {
			if !c.reused && old.key == c.key {
				err = errors.Join(err, c.plugin.Close(context.WithoutCancel(ctx)))
				c.plugin, c.reused = old.plugin, true
			}
		}
	}
	return err
}

// Discard closes the plugins, except those of an earlier set, also after the end of ctx.
func (s *Set) Discard(ctx context.Context) (err error) {
	for c := range s.opened() {
		if !c.reused {
			err = errors.Join(err, c.plugin.Close(context.WithoutCancel(ctx)))
		}
	}
	return err
}

// flagOrigin is the origin of plugins on the command line.
const flagOrigin = "--plugin"

// pluginEntries returns the plugins that the configuration and the command line name.
func pluginEntries(o *Options) []plugins.Entry {
	var out []plugins.Entry
	for _, c := range o.Config.Config.Plugins {
		origin := o.Config.PluginOrigin(c.Path)
		out = append(out, plugins.Entry{
			Path: c.Path, Options: c.Options, From: origin.String(), Project: origin.Layer == config.LayerProject,
			Required: c.Required,
		})
	}
	for _, path := range o.Flags {
		out = append(out, plugins.Entry{Path: path, From: flagOrigin, Flag: true, Watch: o.Watch, Required: !o.Watch})
	}
	return out
}

func pluginCandidate(i *plugins.Item) *Candidate {
	return &Candidate{
		Kind: trust.KindPlugin, Name: i.Name, Version: i.Manifest.Version, Carrier: i.Carrier, From: i.Path, Project: i.Project,
		State: i.State, Err: i.Err, Reason: i.Reason, Asks: i.Request.Capabilities, Grants: i.Grants, Item: i, decision: i.Decision,
	}
}

// judge sets the state of a server or of command hooks with this definition. A project's servers and hooks need an approval of the definition
// and its files; the user's own are ready. judge returns false after it rejected the candidate.
func (s *Set) judge(ctx context.Context, c *Candidate, definition []byte, request trust.Request) bool {
	c.State = plugins.StateReady
	if !c.Project {
		return true
	}
	var err error
	item := trust.Item{Kind: c.Kind, Name: c.Name, Source: c.From, Request: request}
	c.trusted, err = trust.NewItem(ctx, item, json.RawMessage(definition), c.files)
	if err != nil {
		s.reject(c, err)
		return false
	}
	c.decision = s.entries.Check(c.trusted)
	switch {
	case c.decision.Disabled:
		c.State, c.Reason = plugins.StateDisabled, c.decision.Reason
	case c.decision.Quarantined != "" && c.decision.Approved:
		c.State, c.Reason = plugins.StateQuarantined, c.decision.Quarantined
	case !c.decision.Approved:
		c.State = plugins.StatePending
	}
	return true
}

func (s *Set) reject(c *Candidate, err error) {
	c.State, c.Err = plugins.StateRejected, err
	s.Candidates = append(s.Candidates, c)
}

// distinct removes plugins that have the name of an earlier one.
func (s *Set) distinct() {
	seen := slices.Clone(s.opts.Reserved)
	for c := range s.opened() {
		name := c.plugin.Manifest().Name
		if slices.Contains(seen, name) {
			s.Warnings = append(s.Warnings, fmt.Sprintf("duplicate name %s: the second one is not loaded; rename one of them", name))
			c.plugin = nil
		}
		seen = append(seen, name)
	}
}

// In returns the candidates in a state.
func (s *Set) In(state plugins.State) []*Candidate {
	return slices.DeleteFunc(slices.Clone(s.Candidates), func(c *Candidate) bool { return c.State != state })
}

// ApprovalsChanged reports whether anything waits for approval and tenon.lock has changed since it was last read.
func (s *Set) ApprovalsChanged() (bool, error) {
	if len(s.In(plugins.StatePending)) == 0 {
		return false, nil
	}
	entries, err := s.store.Read()
	if err != nil || reflect.DeepEqual(entries, s.entries) {
		return false, err
	}
	s.entries = entries
	return true, nil
}

// Required returns the names of the plugins without which a run must not start: those that the configuration requires and those on the
// command line. The error is about the first of them that does not work, with the remedy.
func (s *Set) Required() (names map[string]bool, fix string, err error) {
	names = map[string]bool{}
	for _, c := range s.Candidates {
		if c.Item == nil || !c.Item.Required {
			continue
		}
		names[c.Name] = true
		if err == nil && c.State != plugins.StateReady {
			fix, err = c.missing()
		}
	}
	return names, fix, err
}

// missing returns the error of a required plugin that does not work, and the remedy.
func (c *Candidate) missing() (fix string, err error) {
	kind := "required plugin"
	fix = `tenon plugin list shows its state; or remove "required" from its entry in plugins of tenon.json`
	if c.Item.From == flagOrigin {
		kind, fix = "plugin", "correct the path, or the plugin there"
	}
	switch c.State {
	case plugins.StatePending:
		return "approve it: tenon plugin trust " + visible.Word(c.From), fmt.Errorf("%s %q is not approved", kind, c.Name)
	case plugins.StateDisabled, plugins.StateQuarantined:
		fix = "enable it: tenon plugin enable " + visible.Word(c.From)
	}
	if c.Err != nil {
		return fix, fmt.Errorf("%s %q is %s: %w", kind, c.Name, c.State, c.Err)
	}
	return fix, fmt.Errorf("%s %q is %s: %s", kind, c.Name, c.State, c.Reason)
}

// AwaitsApproval reports whether an item that the user disabled is not approved as it is now.
func (c *Candidate) AwaitsApproval() bool { return c.decision.Disabled && !c.decision.Approved }

// Argument returns the argument for a candidate on a command line: its name, or its path if only a path identifies it.
func (c *Candidate) Argument() string {
	if c.Item != nil && c.Item.Flagged() {
		return visible.Word(c.From)
	}
	return visible.Word(c.Name)
}

// Find returns the candidates with a name, at a path, or installed from a reference.
func (s *Set) Find(name string) []*Candidate {
	path, _ := filepath.Abs(name) // without a working directory, relative paths cannot be found
	return slices.DeleteFunc(slices.Clone(s.Candidates), func(c *Candidate) bool { return c.Name != name && c.From != name && c.From != path })
}

package generation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// startTimeout bounds the start of one plugin.
const startTimeout = 5 * time.Second

// Set is one generation: a frozen set of started plugins and their contributions. A reload builds a new one. It is used between
// Registry.Acquire, or Retain, and Release.
type Set struct {
	r         *Registry
	made      ReloadOptions
	strict    bool // a plugin that does not work is an error; set for all generations after the first
	Plugins   []*Plugin
	held      []*Plugin // including plugins that do not work; closed with the generation
	Engine    *hooks.Engine
	Config    *sdk.Config
	own       *sdk.Config // the user's own part of Config; nil if the repository's files do not choose models
	protocols map[string]sdk.Protocol
	auth      []sdk.AuthMethod // of all plugins, in their order
	Models    *model.Models

	users  int           // guarded by Registry.mu; the registry counts as a user while the generation is in force
	unused chan struct{} // closed when users reaches 0
}

func (r *Registry) newGeneration(ctx context.Context, o ReloadOptions, old *Set) (*Set, error) {
	g := &Set{
		r: r, made: o, strict: old != nil, Config: r.o.Config, own: r.o.Own, protocols: map[string]sdk.Protocol{}, users: 1, unused: make(chan struct{}),
	}
	err := g.start(ctx, old)
	if err == nil {
		err = g.makeEngine(old)
	}
	if err == nil {
		err = g.transformConfig(ctx)
	}
	if err != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
		defer cancel()
		return nil, errors.Join(err, r.closeGeneration(closing, g))
	}
	var providers []sdk.ProviderInfo
	for _, l := range g.Plugins {
		providers = append(providers, l.providers...)
		g.auth = append(g.auth, l.auth...)
	}
	g.Models = model.New(model.Options{
		Config: g.Config, Own: g.own, ByRepository: r.o.FromProject != nil, Providers: providers,
		Catalogs: compiledIn[sdk.ModelCatalog](g), Protocols: g.protocols, Engine: g.Engine, Environ: r.o.Environ, Secrets: r.o.UserSecrets, Foreign: r.o.Foreign,
		Approved: r.o.ApprovedReceiver, SignIn: r.o.SignIn, AuthMethods: g.auth,
	})
	return g, nil
}

// compiledIn returns the compiled-in plugins that are a T, for calls that other plugins could delay while a prompt waits.
func compiledIn[T any](g *Set) (out []T) {
	for _, l := range g.Plugins {
		if v, ok := l.Value.(T); ok && l.Builtin() {
			out = append(out, v)
		}
	}
	return out
}

// start starts the plugins in parallel and keeps those that work. Plugins of the old generation continue.
func (g *Set) start(ctx context.Context, old *Set) error {
	for _, p := range g.made.Plugins {
		l := old.find(p)
		if l == nil {
			l = g.r.load(p)
		}
		l.holders.Add(1)
		g.held = append(g.held, l)
		if l.started == nil {
			l.start(ctx)
		}
	}
	limit, cancel := context.WithTimeout(ctx, startTimeout) // plugins of the old generation get this time again
	defer cancel()
	var problems []error
	for _, l := range g.held {
		select {
		case <-l.started:
		case <-limit.Done():
		}
		err := l.startError()
		if err == nil {
			err = l.contribute(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			err = g.addProtocols(l)
		}
		if err != nil {
			problems = append(problems, g.drop(l, err))
			continue
		}
		g.Plugins = append(g.Plugins, l)
	}
	return errors.Join(problems...)
}

// drop leaves a plugin out, with a notice. It returns an error if the plugin is required.
func (g *Set) drop(l *Plugin, err error) error {
	if g.strict || g.made.Required[l.Manifest.Name] {
		return fmt.Errorf("plugin %q: %w", l.Manifest.Name, err)
	}
	g.r.notice(sdk.PluginNotice{Plugin: l.Manifest.Name, Message: fmt.Sprintf("plugin %s is skipped: %v", l.Manifest.Name, err)})
	return nil
}

// makeEngine makes the hook engine.
func (g *Set) makeEngine(old *Set) (err error) {
	var list []hooks.Plugin
	for _, l := range g.Plugins {
		hooked := l.asHooks()
		hooked.Required = g.made.Required[l.Manifest.Name]
		list = append(list, hooked)
	}
	notice := func(n sdk.PluginNotice) {
		n.Message = g.Hide(n.Message)
		g.r.notice(n)
	}
	quarantined, failures := g.states(old)
	g.Engine, err = hooks.New(hooks.Options{
		Plugins: list, Overrides: g.r.o.Config.HookConfig, Notice: notice, Logger: g.r.o.Logger,
		CheckChanges: checkHookChanges, Failures: failures, Quarantined: quarantined, Quarantine: g.made.Quarantine,
	})
	return err
}

// addProtocols adds the protocols of a plugin to the table, all or none.
func (g *Set) addProtocols(l *Plugin) error {
	for _, proto := range l.protocols {
		if _, taken := g.protocols[proto.Name]; taken {
			return fmt.Errorf("plugin %s: duplicate protocol %q", l.Manifest.Name, proto.Name)
		}
	}
	for _, proto := range l.protocols {
		g.protocols[proto.Name] = proto
	}
	return nil
}

// states returns the plugins that start quarantined, with the reasons, and the failures of hooks in a row. Plugins of the old generation keep
// their state.
func (g *Set) states(old *Set) (quarantined map[string]string, failures map[string]map[string]int) {
	quarantined, failures = map[string]string{}, map[string]map[string]int{}
	for _, l := range g.Plugins {
		name, reasons, counts := l.Manifest.Name, g.made.Quarantined, g.made.Failures
		if old.find(l.Value) != nil {
			reasons, counts = old.Engine.Quarantined(), old.Engine.Failures()
		}
		quarantined[name], failures[name] = reasons[name], counts[name]
	}
	return quarantined, failures
}

// find returns the loaded plugin of this generation; nil if it does not have the plugin. The generation may be nil.
func (g *Set) find(p sdk.Plugin) *Plugin {
	if g == nil {
		return nil
	}
	for _, l := range g.held {
		if same(l.Value, p) {
			return l
		}
	}
	return nil
}

// transformConfig runs the hooks at config. They get the configuration without secrets; their changes are
// applied to the real one.
func (g *Set) transformConfig(ctx context.Context) error {
	if !g.Engine.Has(sdk.PointConfig) {
		return nil
	}
	public := g.r.o.PublicConfig
	edited := value.Clone(public).(*sdk.Config)
	in := &sdk.ConfigInput{Directory: g.r.o.Project.Directory}
	if _, err := g.Engine.Transform(ctx, sdk.PointConfig, hooks.Scope{}, in, edited); err != nil {
		return err
	}
	changes, err := value.Diff[sdk.Change](public, edited)
	if err != nil || len(changes) == 0 {
		return err
	}
	changed := value.Clone(g.Config).(*sdk.Config)
	if err := value.Apply(changed, changes); err != nil {
		return fmt.Errorf("hooks at config: %w", err)
	}
	g.Config = changed
	if g.own == nil {
		return nil
	}
	// The choices of an approved plugin count as the user's, so they are in both. A change of something that only the repository's files define
	// cannot be applied, and stays the repository's choice.
	own := value.Clone(g.own).(*sdk.Config)
	if value.Apply(own, changes) == nil {
		g.own = own
	}
	return nil
}

// Fire runs the hooks at a point over a value. l records their changes; subject is the part or call that the value belongs to.
func (g *Set) Fire(ctx context.Context, p sdk.Point, l *hooks.Ledger, subject string, in, value any) error {
	_, err := g.Engine.Transform(ctx, p, hooks.Scope{Ledger: l, Subject: subject}, in, value)
	return err
}

// closeGeneration ends the engine of a generation, then the plugins that no other generation holds, in reverse order. MCP servers, whose processes
// may take a while to end, are closed at the same time. A plugin that hangs is abandoned when ctx ends.
func (r *Registry) closeGeneration(ctx context.Context, g *Set) error {
	errs := make([]error, 1+len(g.held))
	if g.Engine != nil {
		errs[0] = g.Engine.Close(ctx)
	}
	var servers sync.WaitGroup
	for i, l := range slices.Backward(g.held) {
		switch {
		case l.holders.Add(-1) > 0:
		case l.Manifest.Carrier == sdk.CarrierMCP:
			servers.Go(func() { errs[1+i] = l.close(ctx) }) // ends with ctx at the latest
		default:
			errs[1+i] = l.close(ctx)
		}
	}
	servers.Wait()
	return errors.Join(errs...)
}

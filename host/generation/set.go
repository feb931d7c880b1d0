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
	options   ReloadOptions
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
		r: r, options: o, strict: old != nil, Config: r.o.Config, own: r.o.Own, protocols: map[string]sdk.Protocol{}, users: 1, unused: make(chan struct{}),
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
	for _, p := range g.Plugins {
		providers = append(providers, p.providers...)
		g.auth = append(g.auth, p.auth...)
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
	for _, p := range g.Plugins {
		if v, ok := p.Value.(T); ok && p.Builtin() {
			out = append(out, v)
		}
	}
	return out
}

// start starts the plugins in parallel and keeps those that work. Plugins of the old generation continue.
func (g *Set) start(ctx context.Context, old *Set) error {
	for _, v := range g.options.Plugins {
		p := old.find(v)
		if p == nil {
			p = g.r.load(v)
		}
		p.holders.Add(1)
		g.held = append(g.held, p)
		if p.started == nil {
			p.start(ctx)
		}
	}
	limit, cancel := context.WithTimeout(ctx, startTimeout) // plugins of the old generation get this time again
	defer cancel()
	var problems []error
	for _, p := range g.held {
		select {
		case <-p.started:
		case <-limit.Done():
		}
		err := p.startError()
		if err == nil {
			err = p.contribute(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			err = g.addProtocols(p)
		}
		if err != nil {
			problems = append(problems, g.drop(p, err))
			continue
		}
		g.Plugins = append(g.Plugins, p)
	}
	return errors.Join(problems...)
}

// drop leaves a plugin out, with a notice. It returns an error if the plugin is required.
func (g *Set) drop(p *Plugin, err error) error {
	if g.strict || g.options.Required[p.Manifest.Name] {
		return fmt.Errorf("plugin %q: %w", p.Manifest.Name, err)
	}
	g.r.notice(sdk.PluginNotice{Plugin: p.Manifest.Name, Message: fmt.Sprintf("plugin %s is skipped: %v", p.Manifest.Name, err)})
	return nil
}

// makeEngine makes the hook engine.
func (g *Set) makeEngine(old *Set) (err error) {
	var list []hooks.Plugin
	for _, p := range g.Plugins {
		hooked := p.asHooks()
		hooked.Required = g.options.Required[p.Manifest.Name]
		list = append(list, hooked)
	}
	notice := func(n sdk.PluginNotice) {
		n.Message = g.Hide(n.Message)
		g.r.notice(n)
	}
	quarantined, failures := g.states(old)
	g.Engine, err = hooks.New(hooks.Options{
		Plugins: list, Overrides: g.r.o.Config.HookConfig, Notice: notice, Logger: g.r.o.Logger,
		CheckChanges: checkHookChanges, Failures: failures, Quarantined: quarantined, Quarantine: g.options.Quarantine,
	})
	return err
}

// addProtocols adds the protocols of a plugin to the table, all or none.
func (g *Set) addProtocols(p *Plugin) error {
	for _, proto := range p.protocols {
		if _, taken := g.protocols[proto.Name]; taken {
			return fmt.Errorf("plugin %s: duplicate protocol %q", p.Manifest.Name, proto.Name)
		}
	}
	for _, proto := range p.protocols {
		g.protocols[proto.Name] = proto
	}
	return nil
}

// states returns the plugins that start quarantined, with the reasons, and the failures of hooks in a row. Plugins of the old generation keep
// their state.
func (g *Set) states(old *Set) (quarantined map[string]string, failures map[string]map[string]int) {
	quarantined, failures = map[string]string{}, map[string]map[string]int{}
	for _, p := range g.Plugins {
		name, reasons, counts := p.Manifest.Name, g.options.Quarantined, g.options.Failures
		if old.find(p.Value) != nil {
			reasons, counts = old.Engine.Quarantined(), old.Engine.Failures()
		}
		quarantined[name], failures[name] = reasons[name], counts[name]
	}
	return quarantined, failures
}

// find returns the loaded plugin of this generation; nil if it does not have the plugin. The generation may be nil.
func (g *Set) find(v sdk.Plugin) *Plugin {
	if g == nil {
		return nil
	}
	for _, p := range g.held {
		if same(p.Value, v) {
			return p
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

// Fire runs the hooks at a point over a value. The ledger records their changes; subject is the part or call that the value belongs to.
func (g *Set) Fire(ctx context.Context, p sdk.Point, ledger *hooks.Ledger, subject string, in, value any) error {
	_, err := g.Engine.Transform(ctx, p, hooks.Scope{Ledger: ledger, Subject: subject}, in, value)
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
	for i, p := range slices.Backward(g.held) {
		switch {
		case p.holders.Add(-1) > 0:
		case p.Manifest.Carrier == sdk.CarrierMCP:
			servers.Go(func() { errs[1+i] = p.close(ctx) }) // ends with ctx at the latest
		default:
			errs[1+i] = p.close(ctx)
		}
	}
	servers.Wait()
	return errors.Join(errs...)
}

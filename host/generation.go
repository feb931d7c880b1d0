package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// startTimeout bounds the start of one plugin.
const startTimeout = 5 * time.Second

// generation is one frozen set of started plugins and what they contribute. A reload builds a new one. It is used between
// acquire, or retain, and release.
type generation struct {
	made      ReloadOptions // what it was made of; complete
	plugins   []*loaded
	leftOut   []*loaded // did not start; closed with the others
	engine    *hooks.Engine
	config    *sdk.Config
	own       *sdk.Config // the user's own part of config; nil where the repository's files do not choose models
	protocols map[string]sdk.Protocol
	models    *model.Models

	users   int           // under Host.genMu; the host itself is one as long as the generation is in force
	retired bool          // under Host.genMu: another one is in force
	unused  chan struct{} // closed when it is retired and nobody uses it any more
}

func (h *Host) newGeneration(ctx context.Context, o ReloadOptions, old *generation) (*generation, error) {
	g := &generation{made: o, config: o.Config, own: o.Own, protocols: map[string]sdk.Protocol{}, users: 1, unused: make(chan struct{})}
	if g.made.PublicConfig == nil {
		g.made.PublicConfig = &sdk.Config{}
	}
	err := g.start(ctx, h, old)
	if err == nil {
		err = g.contributions(ctx, h, old)
	}
	if err == nil {
		err = g.transformConfig(ctx, h)
	}
	if err != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
		defer cancel()
		return nil, errors.Join(err, h.closeGeneration(closing, g))
	}
	var providers []sdk.ProviderInfo
	for _, l := range g.plugins {
		providers = append(providers, l.providers...)
	}
	g.models = model.New(model.Options{
		Config: g.config, Own: g.own, ByRepository: h.opts.FromProject != nil, Providers: providers, Protocols: g.protocols, Engine: g.engine,
		Environ: h.opts.Environ, Secrets: g.made.Secrets, Foreign: g.made.Foreign, Approved: h.opts.ApprovedReceiver,
	})
	return g, nil
}

// start starts the plugins, side by side, and keeps those that did in their order. A plugin of the old generation that is still
// there goes on as it is.
func (g *generation) start(ctx context.Context, h *Host, old *generation) error {
	names := map[string]bool{}
	var all []*loaded
	for _, p := range g.made.Plugins {
		l := old.find(p)
		if l == nil {
			l = h.load(p, &g.made)
		}
		h.hold(l)
		if l.failure != nil && l.started == nil {
			if err := g.drop(h, l, l.failure); err != nil {
				g.leftOut = append(g.leftOut, all...)
				return err
			}
			continue
		}
		all = append(all, l)
		if names[l.manifest.Name] {
			g.leftOut = append(g.leftOut, all...)
			return fmt.Errorf("plugin %q is there twice: remove one of them from plugins in tenon.json", l.manifest.Name)
		}
		names[l.manifest.Name] = true
		if l.started == nil {
			l.start(ctx)
		}
	}
	return g.await(ctx, h, all)
}

// await keeps the plugins that started in time.
func (g *generation) await(ctx context.Context, h *Host, all []*loaded) error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	var problems []error
	for i, l := range all {
		select {
		case <-l.started:
		case <-deadline.C:
			deadline.Reset(0) // for the plugins that come
		case <-ctx.Done():
			g.leftOut = append(g.leftOut, all[i:]...)
			return ctx.Err()
		}
		if err := l.startError(); err != nil {
			problems = append(problems, g.drop(h, l, err))
			continue
		}
		g.plugins = append(g.plugins, l)
	}
	return errors.Join(append(problems, ctx.Err())...)
}

// drop leaves a plugin out, with a notice. When all must work that is an error.
func (g *generation) drop(h *Host, l *loaded, err error) error {
	g.leftOut = append(g.leftOut, l)
	if g.made.Strict || g.made.Required[l.manifest.Name] {
		return fmt.Errorf("plugin %q: %w", l.manifest.Name, err)
	}
	h.notice(sdk.PluginNotice{Plugin: l.manifest.Name, Message: fmt.Sprintf("plugin %s is left out: %v", l.manifest.Name, err)})
	return nil
}

// contributions builds the hook engine and the table of protocols.
func (g *generation) contributions(ctx context.Context, h *Host, old *generation) error {
	var list []hooks.Plugin
	kept := g.plugins
	g.plugins = nil
	for i, l := range kept {
		err := l.contribute(ctx, h)
		if err == nil {
			err = g.addProtocols(l)
		}
		if err != nil {
			if l.builtin() && l.failure == nil { // two of ours that do not go together
				g.leftOut = append(g.leftOut, kept[i:]...)
				return err
			}
			if err := g.drop(h, l, err); err != nil {
				g.leftOut = append(g.leftOut, kept[i+1:]...)
				return err
			}
			continue
		}
		g.plugins = append(g.plugins, l)
		hooked := l.asHooks()
		hooked.Required = g.made.Required[l.manifest.Name]
		list = append(list, hooked)
	}
	notice := func(n sdk.PluginNotice) {
		n.Message = g.hide(n.Message)
		h.notice(n)
	}
	engine, err := hooks.New(hooks.Options{
		Plugins: list, Overrides: g.made.Config.HookConfig, Notice: notice, Logger: h.log,
		Guard: guardHook, Failures: g.made.Failures, Quarantined: g.quarantined(old), Quarantine: func(plugin, reason string) { h.rememberQuarantine(g, plugin, reason) },
	})
	g.engine = engine
	return err
}

// addProtocols adds the protocols of a plugin to the table, all or none.
func (g *generation) addProtocols(l *loaded) error {
	for _, proto := range l.protocols {
		if _, taken := g.protocols[proto.Name]; taken {
			return fmt.Errorf("plugin %s: protocol %q is there already", l.manifest.Name, proto.Name)
		}
	}
	for _, proto := range l.protocols {
		g.protocols[proto.Name] = proto
	}
	return nil
}

// quarantined returns the plugins that start quarantined. A plugin that goes on from the old generation keeps its state.
func (g *generation) quarantined(old *generation) map[string]string {
	out := map[string]string{}
	var before map[string]string
	if old != nil {
		before = old.engine.Quarantined()
	}
	for _, l := range g.plugins {
		state := g.made.Quarantined
		if old.find(l.plugin) != nil {
			state = before
		}
		if reason := state[l.manifest.Name]; reason != "" {
			out[l.manifest.Name] = reason
		}
	}
	return out
}

// find returns the plugin as this generation, which may be nil, loaded it; nil when it does not have it.
func (g *generation) find(p sdk.Plugin) *loaded {
	if g == nil {
		return nil
	}
	for _, l := range slices.Concat(g.plugins, g.leftOut) {
		if same(l.plugin, p) {
			return l
		}
	}
	return nil
}

// transformConfig lets hooks change the configuration. They see it without secrets; what they change is
// carried over to the real one.
func (g *generation) transformConfig(ctx context.Context, h *Host) error {
	if !g.engine.Has(sdk.PointConfig) {
		return nil
	}
	public := g.made.PublicConfig
	edited := value.Clone(public).(*sdk.Config)
	in := &sdk.ConfigInput{Directory: h.opts.Project.Directory}
	if _, err := g.engine.Transform(ctx, sdk.PointConfig, hooks.Scope{}, in, edited); err != nil {
		return err
	}
	changes, err := value.Diff[sdk.Change](public, edited)
	if err != nil || len(changes) == 0 {
		return err
	}
	changed := value.Clone(g.config).(*sdk.Config)
	if err := value.Apply(changed, changes); err != nil {
		return fmt.Errorf("hooks at config: %w", err)
	}
	g.config = changed
	if g.own == nil {
		return nil
	}
	// What an approved plugin chooses is the user's choice, so it is in both. Where it changes what only the repository's files
	// have, it cannot be applied and the repository's choice stays one.
	own := value.Clone(g.own).(*sdk.Config)
	if value.Apply(own, changes) == nil {
		g.own = own
	}
	return nil
}

// closeGeneration ends the engine of a generation, then the plugins that no other one holds, in the reverse of their order. One
// that hangs costs what is left of ctx and is abandoned.
func (h *Host) closeGeneration(ctx context.Context, g *generation) error {
	var errs []error
	if g.engine != nil {
		errs = append(errs, g.engine.Close(ctx))
	}
	for _, l := range slices.Backward(slices.Concat(g.leftOut, g.plugins)) {
		if h.letGo(l) {
			errs = append(errs, l.close(ctx))
		}
	}
	return errors.Join(errs...)
}

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// startTimeout bounds the start of one plugin.
const startTimeout = 5 * time.Second

// generation is one frozen set of started plugins and what they contribute. A reload builds a new one.
type generation struct {
	plugins   []*loaded
	leftOut   []*loaded // did not start; closed with the others
	engine    *hooks.Engine
	config    *sdk.Config
	protocols map[string]sdk.Protocol
	models    *models
}

// loaded is a plugin that started.
type loaded struct {
	plugin   sdk.Plugin
	manifest sdk.Manifest
}

func (l *loaded) origin() sdk.Origin {
	return sdk.Origin{Carrier: l.manifest.Carrier, Plugin: l.manifest.Name}
}

// pluginHost is the host as one plugin sees it.
type pluginHost struct {
	log     *slog.Logger
	project sdk.Project
	options json.RawMessage
	config  *sdk.Config
}

var (
	_ sdk.Host         = (*pluginHost)(nil)
	_ sdk.ConfigReader = (*pluginHost)(nil)
)

// Logger returns the plugin's logger.
func (p *pluginHost) Logger() *slog.Logger { return p.log }

// Project returns where the host works.
func (p *pluginHost) Project() sdk.Project { return p.project }

// Options returns the plugin's options.
func (p *pluginHost) Options() json.RawMessage { return p.options }

// Config returns the configuration without secrets.
func (p *pluginHost) Config() *sdk.Config { return p.config }

func (h *Host) newGeneration(ctx context.Context) (*generation, error) {
	g := &generation{config: h.opts.Config, protocols: map[string]sdk.Protocol{}}
	public := h.opts.PublicConfig
	if public == nil {
		public = &sdk.Config{}
	}
	if err := g.start(ctx, h, public); err != nil {
		return nil, errors.Join(err, g.closePlugins(context.WithoutCancel(ctx)))
	}
	if err := g.contributions(h); err != nil {
		return nil, errors.Join(err, g.close(context.WithoutCancel(ctx)))
	}
	if err := g.transformConfig(ctx, h, public); err != nil {
		return nil, errors.Join(err, g.close(context.WithoutCancel(ctx)))
	}
	g.models = newModels(h, g)
	return g, nil
}

// start starts the plugins, side by side, and keeps those that did in their order.
func (g *generation) start(ctx context.Context, h *Host, public *sdk.Config) error {
	names := map[string]bool{}
	var started []chan error
	var all []*loaded
	for _, p := range h.opts.Plugins {
		m, err := manifestOf(p)
		if err != nil {
			h.notice(sdk.PluginNotice{Plugin: m.Name, Message: fmt.Sprintf("plugin %q is left out: %v", m.Name, err)})
			g.leftOut = append(g.leftOut, &loaded{p, m})
			continue
		}
		if names[m.Name] {
			return fmt.Errorf("plugin %q is there twice: remove one of them from plugins in tenon.json", m.Name)
		}
		names[m.Name] = true
		done := make(chan error, 1)
		all, started = append(all, &loaded{p, m}), append(started, done)
		ph := &pluginHost{log: h.log.With("plugin", m.Name), project: h.opts.Project, options: json.RawMessage("null"), config: public}
		for _, pc := range h.opts.Config.Plugins {
			if pc.Path == m.Name && len(pc.Options) > 0 {
				ph.options = pc.Options
			}
		}
		// Ends with Start; one that hangs is abandoned after startTimeout and its plugin left out.
		go func() { done <- startPlugin(ctx, p, ph) }()
	}
	return g.await(ctx, h, all, started)
}

// await keeps the plugins that started in time.
func (g *generation) await(ctx context.Context, h *Host, all []*loaded, started []chan error) error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	expired := false
	for i, l := range all {
		err := errors.New("did not start in " + startTimeout.String())
		if expired {
			select {
			case err = <-started[i]:
			default:
			}
		} else {
			select {
			case err = <-started[i]:
			case <-deadline.C:
				expired = true
			}
		}
		if err != nil {
			h.notice(sdk.PluginNotice{Plugin: l.manifest.Name, Message: fmt.Sprintf("plugin %s is left out: start: %v", l.manifest.Name, err)})
			g.leftOut = append(g.leftOut, l)
			continue
		}
		g.plugins = append(g.plugins, l)
	}
	return ctx.Err()
}

// manifestOf asks a plugin who it is; a panic is an error of the plugin.
func manifestOf(p sdk.Plugin) (m sdk.Manifest, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("manifest: panic: %v", r)
		}
	}()
	m = p.Manifest()
	return m, m.Validate()
}

// hooksOf asks a plugin for its hooks and protocols; a panic is an error of the plugin.
func hooksOf(p sdk.Plugin) (list []sdk.Hook, protocols []sdk.Protocol, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("hooks: panic: %v", r)
		}
	}()
	if h, ok := p.(sdk.Hooker); ok {
		list = h.Hooks()
	}
	if s, ok := p.(sdk.ProtocolSource); ok {
		protocols = s.Protocols()
	}
	return list, protocols, nil
}

func startPlugin(ctx context.Context, p sdk.Plugin, h sdk.Host) (err error) {
	defer func() {
		if r := recover(); r != nil {
			h.Logger().Debug("plugin panicked", "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return p.Start(ctx, h)
}

// contributions builds the hook engine and the table of protocols.
func (g *generation) contributions(h *Host) error {
	var list []hooks.Plugin
	var kept []*loaded
	for _, l := range g.plugins {
		own, protocols, err := hooksOf(l.plugin)
		if err != nil {
			h.notice(sdk.PluginNotice{Plugin: l.manifest.Name, Message: fmt.Sprintf("plugin %s is left out: %v", l.manifest.Name, err)})
			g.leftOut = append(g.leftOut, l)
			continue
		}
		kept = append(kept, l)
		list = append(list, hooks.Plugin{Name: l.manifest.Name, Version: l.manifest.Version, Carrier: l.manifest.Carrier, Hooks: own})
		for _, proto := range protocols {
			if _, taken := g.protocols[proto.Name]; taken {
				return fmt.Errorf("plugin %s: protocol %q is there already", l.manifest.Name, proto.Name)
			}
			g.protocols[proto.Name] = proto
		}
	}
	g.plugins = kept
	engine, err := hooks.New(hooks.Options{
		Plugins: list, Overrides: h.opts.Config.HookConfig, Notice: h.notice, Logger: h.log,
	})
	g.engine = engine
	return err
}

// transformConfig lets hooks change the configuration. They see it without secrets; what they change is
// carried over to the real one.
func (g *generation) transformConfig(ctx context.Context, h *Host, public *sdk.Config) error {
	if !g.engine.Has(sdk.PointConfig) {
		return nil
	}
	value := sdk.Clone(public).(*sdk.Config)
	in := &sdk.ConfigInput{Directory: h.opts.Project.Directory}
	if _, err := g.engine.Transform(ctx, sdk.PointConfig, hooks.Scope{}, in, value); err != nil {
		return err
	}
	changes, err := sdk.Diff(public, value)
	if err != nil || len(changes) == 0 {
		return err
	}
	changed := sdk.Clone(g.config).(*sdk.Config)
	if err := sdk.Apply(changed, changes); err != nil {
		return fmt.Errorf("hooks at config: %w", err)
	}
	g.config = changed
	return nil
}

func (g *generation) close(ctx context.Context) error {
	var err error
	if g.engine != nil {
		err = g.engine.Close(ctx)
	}
	return errors.Join(err, g.closePlugins(ctx))
}

// closePlugins closes the plugins in the reverse of their order. One that hangs costs what is left of
// ctx and is abandoned.
func (g *generation) closePlugins(ctx context.Context) error {
	var errs []error
	for _, l := range slices.Backward(slices.Concat(g.leftOut, g.plugins)) {
		done := make(chan error, 1)
		go func() { done <- closePlugin(ctx, l.plugin) }() // ends with Close
		select {
		case err := <-done:
			if err != nil {
				errs = append(errs, fmt.Errorf("plugin %s: %w", l.manifest.Name, err))
			}
		case <-ctx.Done():
			errs = append(errs, fmt.Errorf("plugin %s does not close: %w", l.manifest.Name, ctx.Err()))
		}
	}
	return errors.Join(errs...)
}

func closePlugin(ctx context.Context, p sdk.Plugin) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return p.Close(ctx)
}

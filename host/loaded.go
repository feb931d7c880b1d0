package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// loaded is a plugin and what it said once of itself. Generations share it as long as the plugin is in all of them.
type loaded struct {
	plugin   sdk.Plugin
	manifest sdk.Manifest
	host     *pluginHost
	holders  int // generations that have it, under Host.genMu; it is closed with the last

	// Written by the goroutine that starts it, before started is closed.
	started chan struct{} // nil before start
	err     error

	// Written once, by the first generation that has it.
	failure error // why it is left out for good
	asked   bool
	contribution

	questions questions
}

// contribution is what a plugin contributes once and for all.
type contribution struct {
	hooks     []sdk.Hook
	protocols []sdk.Protocol
	providers []sdk.ProviderInfo
}

// load asks a plugin who it is and makes the host it will see.
func (h *Host) load(p sdk.Plugin, made *ReloadOptions) *loaded {
	l := &loaded{plugin: p}
	l.manifest, l.failure = manifestOf(p)
	l.host = &pluginHost{h: h, manifest: l.manifest, log: h.log.With("plugin", l.manifest.Name), options: optionsOf(l.manifest.Name, made.Config)}
	l.host.config.Store(made.PublicConfig)
	return l
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

// optionsOf returns the plugin's own part of the configuration.
func optionsOf(name string, c *sdk.Config) json.RawMessage {
	options := json.RawMessage("null")
	for _, pc := range c.Plugins {
		if pc.Path == name && len(pc.Options) > 0 {
			options = pc.Options
		}
	}
	return options
}

// same reports whether two plugins are one value. Types that cannot be compared never are.
func same(a, b sdk.Plugin) bool {
	ta, tb := reflect.TypeOf(a), reflect.TypeOf(b)
	return ta == tb && ta != nil && ta.Comparable() && a == b
}

func (l *loaded) builtin() bool { return l.manifest.Carrier == sdk.CarrierBuiltin }

func (l *loaded) origin() sdk.Origin {
	return sdk.Origin{Carrier: l.manifest.Carrier, Plugin: l.manifest.Name, Server: l.manifest.Server}
}

// start begins to start the plugin.
func (l *loaded) start(ctx context.Context) {
	l.started = make(chan struct{})
	go func() { // ends with Start; one that hangs is abandoned after startTimeout and its plugin left out
		defer close(l.started)
		l.err = errors.New("start: it ended its goroutine")
		ctx, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		_, err := contained(ctx, l.host.log, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, l.plugin.Start(ctx, l.host)
		})
		if err != nil {
			err = fmt.Errorf("start: %w", err)
		}
		l.err = err
	}()
}

// startError returns why the plugin is not ready, nil when it is.
func (l *loaded) startError() error {
	select {
	case <-l.started:
	default:
		return errors.New("start: did not start in " + startTimeout.String())
	}
	if l.err != nil {
		return l.err
	}
	return l.failure
}

// contribute asks the plugin for what it contributes once.
func (l *loaded) contribute(ctx context.Context, h *Host) error {
	if l.asked {
		return l.failure
	}
	limit := contributeTimeout
	if l.builtin() {
		limit = startTimeout
	}
	var err error
	l.contribution, err = bounded(ctx, h.log, limit, func(context.Context) (c contribution, err error) {
		if s, ok := l.plugin.(sdk.Hooker); ok {
			c.hooks = s.Hooks()
		}
		if s, ok := l.plugin.(sdk.ProtocolSource); ok {
			c.protocols = s.Protocols()
		}
		if s, ok := l.plugin.(sdk.ProviderSource); ok {
			c.providers = s.Providers()
		}
		return c, nil
	})
	if err == nil && !l.builtin() {
		err = l.checkHooks(h)
	} else if err != nil {
		err = fmt.Errorf("hooks: %w", err)
	}
	l.asked, l.failure = true, err
	return err
}

// checkHooks finds hooks that the engine would refuse: they cost their plugin its place, not the host its start.
func (l *loaded) checkHooks(h *Host) error {
	engine, err := hooks.New(hooks.Options{Plugins: []hooks.Plugin{l.asHooks()}, Logger: h.log})
	if err != nil {
		return err
	}
	closing, cancel := context.WithTimeout(h.ctx, time.Second)
	defer cancel()
	return engine.Close(closing)
}

func (l *loaded) asHooks() hooks.Plugin {
	return hooks.Plugin{Name: l.manifest.Name, Version: l.manifest.Version, Carrier: l.manifest.Carrier, Hooks: l.hooks}
}

// close closes the plugin. One that hangs is abandoned when ctx ends.
func (l *loaded) close(ctx context.Context) error {
	l.host.end()
	done := make(chan error, 1)
	go func() { // ends with Close
		_, err := contained(ctx, l.host.log, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, l.plugin.Close(ctx)
		})
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("plugin %s: %w", l.manifest.Name, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("plugin %s does not close: %w", l.manifest.Name, ctx.Err())
	}
}

package generation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// Plugin is a loaded plugin with its manifest and contributions. Consecutive generations share it.
type Plugin struct {
	r        *Registry
	Value    sdk.Plugin
	Manifest sdk.Manifest
	host     *pluginHost
	holders  atomic.Int32 // number of generations that use it; it is closed with the last one

	// err is written by the goroutine that starts it, before started is closed.
	started chan struct{} // nil before start
	err     error

	// Written once, by the first generation that uses it.
	failure error // why no generation uses it
	asked   bool
	contribution

	abandoned sync.Map // by contribution, the context of the last call that was abandoned, which ends when the call returns
	notices   sync.Map // by contribution, the last failure that users were notified of
}

// contribution holds the contributions that a plugin is asked for only once.
type contribution struct {
	hooks     []sdk.Hook
	protocols []sdk.Protocol
	providers []sdk.ProviderInfo
	auth      []sdk.AuthMethod
}

// load reads the manifest of a plugin and makes its host.
func (r *Registry) load(v sdk.Plugin) *Plugin {
	p := &Plugin{r: r, Value: v}
	p.Manifest, p.failure = hooks.RecoverPanic(r.ctx, r.o.Logger, func(context.Context) (sdk.Manifest, error) {
		m := v.Manifest()
		return m, m.Validate()
	})
	if p.failure != nil {
		p.started = make(chan struct{})
		close(p.started) // there is nothing to start
	}
	p.host = &pluginHost{plugin: p, log: r.o.Logger.With("plugin", p.Manifest.Name), options: optionsOf(p.Manifest.Name, r.o.Config)}
	p.host.open, p.host.end = context.WithCancel(context.WithoutCancel(r.ctx))
	return p
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

// Builtin reports whether the plugin is compiled in.
func (p *Plugin) Builtin() bool { return p.Manifest.Carrier == sdk.CarrierBuiltin }

// Name returns the plugin's name, empty for nil.
func (p *Plugin) Name() string {
	if p == nil {
		return ""
	}
	return p.Manifest.Name
}

// Origin returns the origin of the plugin's contributions and requests.
func (p *Plugin) Origin() sdk.Origin {
	return sdk.Origin{Carrier: p.Manifest.Carrier, Plugin: p.Manifest.Name, Server: p.Manifest.Server}
}

// start begins to start the plugin.
func (p *Plugin) start(ctx context.Context) {
	p.started = make(chan struct{})
	go func() { // ends with Start; if Start takes longer than startTimeout, the plugin is left out until it returns
		defer close(p.started)
		p.err = errors.New("start: it ended its goroutine")
		ctx, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		_, err := hooks.RecoverPanic(ctx, p.host.log, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, p.Value.Start(ctx, p.host)
		})
		if err != nil {
			err = fmt.Errorf("start: %w", err)
		}
		p.err = err
	}()
}

// startError returns the reason why no generation can use the plugin now; nil if one can.
func (p *Plugin) startError() error {
	select {
	case <-p.started:
		return cmp.Or(p.err, p.failure)
	default:
		return fmt.Errorf("start: %w in %s", hooks.ErrNoAnswer, startTimeout)
	}
}

// contribute asks the plugin for its contributions, at its first call.
func (p *Plugin) contribute(ctx context.Context) error {
	if p.asked {
		return p.failure
	}
	limit := contributeTimeout
	if p.Builtin() {
		limit = startTimeout
	}
	var err error
	p.contribution, err = hooks.WithDeadline(ctx, p.r.o.Logger, limit, func(context.Context) (c contribution, err error) {
		if s, ok := p.Value.(sdk.Hooker); ok {
			c.hooks = s.Hooks()
		}
		if s, ok := p.Value.(sdk.ProtocolSource); ok {
			c.protocols = s.Protocols()
		}
		if s, ok := p.Value.(sdk.ProviderSource); ok {
			c.providers = s.Providers()
		}
		if s, ok := p.Value.(sdk.AuthSource); ok {
			c.auth = p.owned(s.AuthMethods())
		}
		return c, nil
	})
	if ctx.Err() != nil {
		return ctx.Err() // the next generation asks again
	}
	if err == nil && !p.Builtin() {
		err = p.checkHooks()
	} else if err != nil {
		err = fmt.Errorf("hooks: %w", err)
	}
	p.asked, p.failure = true, err
	return err
}

// owned returns sign-in methods with the name of the plugin, unless it is compiled in. Other plugins cannot choose addresses.
func (p *Plugin) owned(methods []sdk.AuthMethod) []sdk.AuthMethod {
	out := slices.Clone(methods)
	for i := range out {
		if p.Builtin() {
			out[i].Plugin, out[i].Owner = "", ""
			continue
		}
		out[i].Plugin, out[i].Owner, out[i].Apply = p.Manifest.Name, cmp.Or(out[i].Owner, p.Manifest.Name), nil
	}
	return out
}

// checkHooks returns an error for hooks that the engine would refuse, so that only their plugin is left out.
func (p *Plugin) checkHooks() error {
	engine, err := hooks.New(hooks.Options{Plugins: []hooks.Plugin{p.asHooks()}, Logger: p.r.o.Logger})
	if err != nil {
		return err
	}
	closing, cancel := context.WithTimeout(p.r.ctx, time.Second)
	defer cancel()
	return engine.Close(closing)
}

func (p *Plugin) asHooks() hooks.Plugin {
	return hooks.Plugin{Name: p.Manifest.Name, Version: p.Manifest.Version, Carrier: p.Manifest.Carrier, Hooks: p.hooks}
}

// close closes the plugin, after its start has ended. If the start or the closing hangs, it is abandoned after closeGrace or when ctx ends.
func (p *Plugin) close(ctx context.Context) error {
	p.host.end()
	_, err := hooks.WithDeadline(ctx, p.host.log, closeGrace, func(ctx context.Context) (struct{}, error) {
		if p.started != nil {
			<-p.started
		}
		return struct{}{}, p.Value.Close(ctx)
	})
	if err != nil {
		return fmt.Errorf("close plugin %s: %w", p.Manifest.Name, err)
	}
	return nil
}

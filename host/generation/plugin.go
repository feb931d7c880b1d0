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
func (r *Registry) load(p sdk.Plugin) *Plugin {
	l := &Plugin{r: r, Value: p}
	l.Manifest, l.failure = hooks.RecoverPanic(r.ctx, r.o.Logger, func(context.Context) (sdk.Manifest, error) {
		m := p.Manifest()
		return m, m.Validate()
	})
	if l.failure != nil {
		l.started = make(chan struct{})
		close(l.started) // there is nothing to start
	}
	l.host = &pluginHost{plugin: l, log: r.o.Logger.With("plugin", l.Manifest.Name), options: optionsOf(l.Manifest.Name, r.o.Config)}
	l.host.open, l.host.end = context.WithCancel(context.WithoutCancel(r.ctx))
	return l
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
func (l *Plugin) Builtin() bool { return l.Manifest.Carrier == sdk.CarrierBuiltin }

// Origin returns the origin of the plugin's contributions and requests.
func (l *Plugin) Origin() sdk.Origin { return OriginOf(l.Manifest) }

// OriginOf returns the origin of a plugin's contributions and requests.
func OriginOf(m sdk.Manifest) sdk.Origin {
	return sdk.Origin{Carrier: m.Carrier, Plugin: m.Name, Server: m.Server}
}

// start begins to start the plugin.
func (l *Plugin) start(ctx context.Context) {
	l.started = make(chan struct{})
	go func() { // ends with Start; if Start takes longer than startTimeout, the plugin is left out until it returns
		defer close(l.started)
		l.err = errors.New("start: it ended its goroutine")
		ctx, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		_, err := hooks.RecoverPanic(ctx, l.host.log, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, l.Value.Start(ctx, l.host)
		})
		if err != nil {
			err = fmt.Errorf("start: %w", err)
		}
		l.err = err
	}()
}

// startError returns the reason why no generation can use the plugin now; nil if one can.
func (l *Plugin) startError() error {
	select {
	case <-l.started:
		return cmp.Or(l.err, l.failure)
	default:
		return fmt.Errorf("start: %w in %s", ErrNoAnswer, startTimeout)
	}
}

// contribute asks the plugin for its contributions, at its first call.
func (l *Plugin) contribute(ctx context.Context) error {
	if l.asked {
		return l.failure
	}
	limit := contributeTimeout
	if l.Builtin() {
		limit = startTimeout
	}
	var err error
	l.contribution, err = WithDeadline(ctx, l.r.o.Logger, limit, func(context.Context) (c contribution, err error) {
		if s, ok := l.Value.(sdk.Hooker); ok {
			c.hooks = s.Hooks()
		}
		if s, ok := l.Value.(sdk.ProtocolSource); ok {
			c.protocols = s.Protocols()
		}
		if s, ok := l.Value.(sdk.ProviderSource); ok {
			c.providers = s.Providers()
		}
		if s, ok := l.Value.(sdk.AuthSource); ok {
			c.auth = l.owned(s.AuthMethods())
		}
		return c, nil
	})
	if ctx.Err() != nil {
		return ctx.Err() // the next generation asks again
	}
	if err == nil && !l.Builtin() {
		err = l.checkHooks()
	} else if err != nil {
		err = fmt.Errorf("hooks: %w", err)
	}
	l.asked, l.failure = true, err
	return err
}

// owned returns sign-in methods with the name of the plugin, unless it is compiled in. Other plugins cannot choose addresses.
func (l *Plugin) owned(methods []sdk.AuthMethod) []sdk.AuthMethod {
	out := slices.Clone(methods)
	for i := range out {
		if l.Builtin() {
			out[i].Plugin, out[i].Owner = "", ""
			continue
		}
		out[i].Plugin, out[i].Owner, out[i].Apply = l.Manifest.Name, cmp.Or(out[i].Owner, l.Manifest.Name), nil
	}
	return out
}

// checkHooks returns an error for hooks that the engine would refuse, so that only their plugin is left out.
func (l *Plugin) checkHooks() error {
	engine, err := hooks.New(hooks.Options{Plugins: []hooks.Plugin{l.asHooks()}, Logger: l.r.o.Logger})
	if err != nil {
		return err
	}
	closing, cancel := context.WithTimeout(l.r.ctx, time.Second)
	defer cancel()
	return engine.Close(closing)
}

func (l *Plugin) asHooks() hooks.Plugin {
	return hooks.Plugin{Name: l.Manifest.Name, Version: l.Manifest.Version, Carrier: l.Manifest.Carrier, Hooks: l.hooks}
}

// close closes the plugin, after its start has ended. If the start or the closing hangs, it is abandoned after closeGrace or when ctx ends.
func (l *Plugin) close(ctx context.Context) error {
	l.host.end()
	_, err := WithDeadline(ctx, l.host.log, closeGrace, func(ctx context.Context) (struct{}, error) {
		if l.started != nil {
			<-l.started
		}
		return struct{}{}, l.Value.Close(ctx)
	})
	if err != nil {
		return fmt.Errorf("close plugin %s: %w", l.Manifest.Name, err)
	}
	return nil
}

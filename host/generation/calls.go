package generation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// contributeTimeout bounds each request for contributions of a plugin that is not compiled in. Turns wait for it, so it is short: the plugin
// must answer from memory.
const contributeTimeout = 2 * time.Second

// Contributions asks a plugin for contributions; what names them for the user. If the plugin fails, they are left out, with one notice while the
// failure stays the same. A call of a plugin that is not compiled in is abandoned after contributeTimeout, and not repeated before it returned.
func Contributions[T any](ctx context.Context, p *Plugin, what string, f func(context.Context) (T, error)) (none T) {
	var v T
	var err error
	if p.Builtin() {
		v, err = hooks.RecoverPanic(ctx, p.r.o.Logger, f)
	} else {
		v, err = CallUnlessHung(ctx, p, what, contributeTimeout, f)
	}
	if err == nil {
		p.notices.Delete(what)
		return v
	}
	if ctx.Err() == nil && !errors.Is(err, errHangs) { // otherwise the caller canceled it, or users were already notified
		p.LeaveOut(what, err)
	}
	return none
}

// each asks the plugins that are a source S, in order, and calls f with everything they contribute.
func each[S, T any](ctx context.Context, g *Set, what string, list func(S, context.Context) ([]T, error), f func(*Plugin, T)) {
	for _, p := range g.Plugins {
		source, ok := p.Value.(S)
		if !ok {
			continue
		}
		for _, c := range Contributions(ctx, p, what, func(ctx context.Context) ([]T, error) { return list(source, ctx) }) {
			f(p, c)
		}
	}
}

// CallUnlessHung is hooks.WithDeadline, but does nothing while an abandoned earlier call for the same contributions has not returned.
func CallUnlessHung[T any](ctx context.Context, p *Plugin, what string, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	if call, ok := p.abandoned.Load(what); ok && call.(context.Context).Err() == nil {
		var none T
		return none, errHangs
	}
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	v, err := hooks.WithDeadline(ctx, p.r.o.Logger, limit, func(ctx context.Context) (T, error) {
		defer end()
		return f(ctx)
	})
	if errors.Is(err, hooks.ErrNoAnswer) {
		p.abandoned.Store(what, over)
	}
	return v, err
}

// LeaveOut notifies users, once, that contributions of a plugin are not used, and why.
func (p *Plugin) LeaveOut(what string, err error) {
	if before, _ := p.notices.Swap(what, err.Error()); before != err.Error() {
		p.r.notice(sdk.PluginNotice{Plugin: p.Manifest.Name, Message: fmt.Sprintf("plugin %s: %s skipped: %v", p.Manifest.Name, what, err)})
	}
}

// yields reports whether the plugin is a third party's, and leaves out its agent or command, whose name the plugin owner has: the user who
// chooses it by its name expects the other.
func (p *Plugin) yields(kind, name, owner string) bool {
	if !p.Builtin() {
		p.LeaveOut(fmt.Sprintf("%s %q", kind, name), fmt.Errorf("plugin %s has one of this name", owner))
	}
	return !p.Builtin()
}

// Notify sends users a message about the plugin.
func (p *Plugin) Notify(message string) {
	p.r.notice(sdk.PluginNotice{Plugin: p.Manifest.Name, Message: "plugin " + p.Manifest.Name + ": " + message})
}

// errHangs is the error of calls that CallUnlessHung does not make.
var errHangs = errors.New("an earlier call is still running")

// replace replaces the element that is the same, or appends the new one.
func replace[T any](list []T, one T, same func(T) bool) []T {
	if i := slices.IndexFunc(list, same); i >= 0 {
		list[i] = one
		return list
	}
	return append(list, one)
}

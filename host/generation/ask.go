package generation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// contributeTimeout bounds each request for contributions of a plugin that is not compiled in. Turns wait for it, so it is short: the plugin
// must answer from memory.
const contributeTimeout = 2 * time.Second

// Ask asks a plugin for contributions; what names them for the user. If the plugin fails, they are left out, with one notice while the
// failure stays the same. A call of a plugin that is not compiled in is abandoned after contributeTimeout, and not repeated before it returned.
func Ask[T any](ctx context.Context, l *Plugin, what string, f func(context.Context) (T, error)) (none T) {
	var v T
	var err error
	if l.Builtin() {
		v, err = hooks.RecoverPanic(ctx, l.r.o.Logger, f)
	} else {
		v, err = CallUnlessHung(ctx, l, what, contributeTimeout, f)
	}
	if err == nil {
		l.notices.Delete(what)
		return v
	}
	if ctx.Err() == nil && !errors.Is(err, errHangs) { // otherwise the caller canceled it, or users were already notified
		l.LeaveOut(what, err)
	}
	return none
}

// each asks the plugins that are a source S, in order, and calls f with everything they contribute.
func each[S, T any](ctx context.Context, g *Set, what string, list func(S, context.Context) ([]T, error), f func(*Plugin, T)) {
	for _, l := range g.Plugins {
		source, ok := l.Value.(S)
		if !ok {
			continue
		}
		for _, c := range Ask(ctx, l, what, func(ctx context.Context) ([]T, error) { return list(source, ctx) }) {
			f(l, c)
		}
	}
}

// CallUnlessHung is WithDeadline, but does nothing while an abandoned earlier call for the same contributions has not returned.
func CallUnlessHung[T any](ctx context.Context, l *Plugin, what string, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	if call, ok := l.abandoned.Load(what); ok && call.(context.Context).Err() == nil {
		var none T
		return none, errHangs
	}
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	v, err := WithDeadline(ctx, l.r.o.Logger, limit, func(ctx context.Context) (T, error) {
		defer end()
		return f(ctx)
	})
	if errors.Is(err, ErrNoAnswer) {
		l.abandoned.Store(what, over)
	}
	return v, err
}

// LeaveOut notifies users, once, that contributions of a plugin are not used, and why.
func (l *Plugin) LeaveOut(what string, err error) {
	if before, _ := l.notices.Swap(what, err.Error()); before != err.Error() {
		l.r.notice(sdk.PluginNotice{Plugin: l.Manifest.Name, Message: fmt.Sprintf("plugin %s: %s skipped: %v", l.Manifest.Name, what, err)})
	}
}

// Notify sends users a message about the plugin.
func (l *Plugin) Notify(message string) {
	l.r.notice(sdk.PluginNotice{Plugin: l.Manifest.Name, Message: "plugin " + l.Manifest.Name + ": " + message})
}

// ErrNoAnswer is returned for code of a plugin that was abandoned at its deadline. errHangs is the error of calls that CallUnlessHung does
// not make.
var (
	ErrNoAnswer = errors.New("no answer")
	errHangs    = errors.New("an earlier call is still running")
)

// WithDeadline is hooks.WithDeadline with an error for users.
func WithDeadline[T any](ctx context.Context, log *slog.Logger, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	v, err := hooks.WithDeadline(ctx, log, limit, f)
	if errors.Is(err, hooks.ErrAbandoned) {
		err = fmt.Errorf("%w in %s", ErrNoAnswer, limit)
	}
	return v, err
}

package generation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// contributeTimeout is how long a plugin that is not built in may take to say what it contributes. Turns wait for that, so it is
// short: the plugin is to answer from memory.
const contributeTimeout = 2 * time.Second

// Ask asks a plugin for something it contributes. A failure costs the plugin that contribution, with one notice for the user,
// as long as it stays the same. A plugin that is not built in is given up on after contributeTimeout, and not asked for the same
// thing again before it answered.
func Ask[T any](ctx context.Context, l *Plugin, what string, f func(context.Context) (T, error)) (T, bool) {
	var v T
	var err error
	if l.Builtin() {
		v, err = hooks.Contain(ctx, l.r.o.Log, f)
	} else {
		v, err = Guarded(ctx, l, what, contributeTimeout, f)
	}
	if err == nil {
		l.told.Delete(what)
		return v, true
	}
	if ctx.Err() == nil && !errors.Is(err, errHangs) { // else the caller gave up, or users know
		l.LeaveOut(what, err)
	}
	var none T
	return none, false
}

// each asks the plugins that are a source S, in order, and calls f with everything they contribute.
func each[S, T any](ctx context.Context, g *Set, what string, list func(S, context.Context) ([]T, error), f func(*Plugin, T)) {
	for _, l := range g.Plugins {
		source, ok := l.Value.(S)
		if !ok {
			continue
		}
		contributed, _ := Ask(ctx, l, what, func(ctx context.Context) ([]T, error) { return list(source, ctx) })
		for _, c := range contributed {
			f(l, c)
		}
	}
}

// Guarded runs code of a plugin within a time. A call is not made while an earlier one of its kind, which was abandoned, still hangs.
func Guarded[T any](ctx context.Context, l *Plugin, what string, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	if l.abandoned.hangs(what) {
		var none T
		return none, errHangs
	}
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	v, err := Bounded(ctx, l.r.o.Log, limit, func(ctx context.Context) (T, error) {
		defer end()
		return f(ctx)
	})
	if errors.Is(err, ErrNoAnswer) {
		l.abandoned.add(what, over)
	}
	return v, err
}

// LeaveOut tells users, once, what of a plugin is not used and why.
func (l *Plugin) LeaveOut(what string, err error) {
	if before, _ := l.told.Swap(what, err.Error()); before != err.Error() {
		l.r.o.Notice(sdk.PluginNotice{Plugin: l.Manifest.Name, Message: fmt.Sprintf("plugin %s: %s skipped: %v", l.Manifest.Name, what, err)})
	}
}

// Notify tells users about the plugin.
func (l *Plugin) Notify(message string) {
	l.r.o.Notice(sdk.PluginNotice{Plugin: l.Manifest.Name, Message: "plugin " + l.Manifest.Name + ": " + message})
}

// ErrNoAnswer is returned for code of a plugin that was abandoned after its time. errHangs is the error of calls that are not made because
// an earlier one has not returned yet.
var (
	ErrNoAnswer = errors.New("no answer")
	errHangs    = errors.New("an earlier call hangs")
)

// Bounded is hooks.Guard with an error for users.
func Bounded[T any](ctx context.Context, log *slog.Logger, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	v, err := hooks.Guard(ctx, log, limit, f)
	if errors.Is(err, hooks.ErrAbandoned) {
		err = fmt.Errorf("%w in %s", ErrNoAnswer, limit)
	}
	return v, err
}

// abandoned are the calls of a plugin's code that were given up. Safe for use from many goroutines.
type abandoned struct {
	mu    sync.Mutex
	calls []abandonedCall
}

// abandonedCall is a call of one kind. Its context ends with it.
type abandonedCall struct {
	what string
	over context.Context
}

// hangs reports whether a call of a kind is not over yet.
func (a *abandoned) hangs(what string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = slices.DeleteFunc(a.calls, func(c abandonedCall) bool { return c.over.Err() != nil })
	return slices.ContainsFunc(a.calls, func(c abandonedCall) bool { return c.what == what })
}

func (a *abandoned) add(what string, over context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, abandonedCall{what, over})
}

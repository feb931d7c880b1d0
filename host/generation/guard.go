package generation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
		l.questions.settle(what)
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
	q := l.questions.begin(what)
	if q == nil {
		var none T
		return none, errHangs
	}
	v, err := Bounded(ctx, l.r.o.Log, limit, func(ctx context.Context) (T, error) {
		defer q.end()
		return f(ctx)
	})
	if errors.Is(err, ErrNoAnswer) {
		q.giveUp()
	}
	return v, err
}

// LeaveOut tells users, once, what of a plugin is not used and why.
func (l *Plugin) LeaveOut(what string, err error) {
	if l.questions.tell(what, err.Error()) {
		l.r.o.Notice(sdk.PluginNotice{Plugin: l.Manifest.Name, Message: fmt.Sprintf("plugin %s: %s left out: %v", l.Manifest.Name, what, err)})
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

// questions are what a plugin was asked and did not answer, or not well. Safe for use from many goroutines.
type questions struct {
	mu      sync.Mutex
	hanging map[string]int    // how many of one kind were given up and are not over
	told    map[string]string // the last failure of each kind that users were told of
}

// question is one call of a plugin's code.
type question struct {
	of      *questions
	what    string
	over    bool // under of.mu, as given up
	givenUp bool
}

// begin returns nil when an earlier question of the same kind hangs.
func (a *questions) begin(what string) *question {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hanging[what] > 0 {
		return nil
	}
	return &question{of: a, what: what}
}

func (q *question) end() {
	q.of.mu.Lock()
	defer q.of.mu.Unlock()
	q.over = true
	if q.givenUp {
		q.of.hanging[q.what]--
	}
}

func (q *question) giveUp() {
	q.of.mu.Lock()
	defer q.of.mu.Unlock()
	if q.over {
		return
	}
	q.givenUp = true
	if q.of.hanging == nil {
		q.of.hanging = map[string]int{}
	}
	q.of.hanging[q.what]++
}

// settle forgets a failure that is over.
func (a *questions) settle(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.told, what)
}

// tell reports whether the failure is news.
func (a *questions) tell(what, failure string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.told[what] == failure {
		return false
	}
	if a.told == nil {
		a.told = map[string]string{}
	}
	a.told[what] = failure
	return true
}

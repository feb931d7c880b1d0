package hooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

// Plugin is a plugin with its hooks.
type Plugin struct {
	Name, Version string
	Carrier       sdk.Carrier
	Hooks         []sdk.Hook
	Required      bool // a contradiction of Before and After with its hooks is an error, not a notice
}

// Options configure an Engine.
type Options struct {
	Plugins []Plugin // in configuration order
	// Overrides are the user's settings, which override the manifests, by the name of the plugin.
	Overrides map[string]sdk.HookOverride
	// Notice receives messages for the user: failures and quarantines. It is called from any goroutine
	// and must not block. If nil, messages are dropped.
	Notice func(sdk.PluginNotice)
	Logger *slog.Logger // required
	// Quarantined holds the plugins that start quarantined, with the reason of each.
	Quarantined map[string]string
	// Failures is the result of Engine.Failures of an earlier engine, so that plugins whose hooks are called once per engine are quarantined
	// too.
	Failures map[string]map[string]int
	// Quarantine is called for each plugin that the engine quarantines, with the reason, so that the host can remember it. It is called
	// like Notice. If nil, it is not called.
	Quarantine func(plugin, reason string)
	// CheckChanges is called with the value before and after a hook outside of this process, before its changes count. Both are pointers to
	// the value type of the point, and must not be changed or kept. An error refuses the whole answer, as a failure of the hook. It is
	// called from any goroutine. If nil, every change of declared fields counts.
	CheckChanges func(hook *sdk.Hook, before, after any) error
}

// Engine calls the hooks of one generation. New fixes which hooks are called at each point, and in which order.
// All methods may be called concurrently. Close ends the observers.
type Engine struct {
	o         Options
	points    map[sdk.Point][]*pluginHook // in order
	plugins   map[string]*pluginState
	observers []*observer
	life      context.Context // of observers and idle workers
	end       context.CancelFunc
	workers   workers
}

// pluginHook is a hook of a plugin, with the user's overrides.
type pluginHook struct {
	sdk.Hook
	info   hookpoint.Info
	plugin *pluginState

	row
	dropped atomic.Bool // the user knows that it changes fields that it does not declare
	// prevented is set after a notice that a call failed without the plugin's fault: to the session whose input was too large, else to "".
	prevented atomic.Pointer[string]
}

// HookInfo describes a hook and its place in the order.
type HookInfo struct {
	Point       sdk.Point     `json:"point"`
	Position    int           `json:"position"` // at the point, from 1
	Plugin      string        `json:"plugin"`
	Version     string        `json:"version,omitempty"`
	Carrier     sdk.Carrier   `json:"carrier"`
	Hook        string        `json:"hook"`
	Priority    int           `json:"priority"`
	Reads       []string      `json:"reads,omitempty"`
	Writes      []string      `json:"writes,omitempty"`
	OnError     sdk.OnError   `json:"onError"`               // the policy in force, never the default
	Timeout     time.Duration `json:"timeout"`               // nanoseconds in JSON
	Quarantined string        `json:"quarantined,omitempty"` // the reason why the plugin is not called; empty if it is called
}

// New makes an engine. The error joins all problems of the plugins and the overrides, with the names of the plugin and the hook. A
// contradiction of Before and After is a notice.
func New(o Options) (*Engine, error) {
	if o.Notice == nil {
		o.Notice = func(sdk.PluginNotice) {}
	}
	e := &Engine{o: o, points: map[sdk.Point][]*pluginHook{}, plugins: map[string]*pluginState{}}
	e.life, e.end = context.WithCancel(context.Background())
	e.workers = workers{next: make(chan func()), end: e.life.Done()}
	var problems []error
	for _, p := range o.Plugins {
		problems = append(problems, e.add(p, o.Overrides[p.Name])...)
	}
	var notices []sdk.PluginNotice
	for p, list := range e.points {
		e.points[p] = sortHooks(list, func(waiting []*pluginHook) {
			names := make([]string, len(waiting))
			for i, h := range waiting {
				names[i] = h.plugin.Name
			}
			first := waiting[0]
			problem := fmt.Errorf("contradictory before and after among the plugins %s", strings.Join(names, ", "))
			if slices.ContainsFunc(waiting, func(h *pluginHook) bool { return h.plugin.Required }) {
				problems = append(problems, first.error(problem))
				return
			}
			notices = append(notices, sdk.PluginNotice{
				Plugin: first.plugin.Name, Hook: first.label(), Message: fmt.Sprintf("%v; %s is called first", problem, names[0]),
			})
		})
	}
	for name := range o.Overrides {
		if e.plugins[name] == nil {
			e.o.Logger.Warn("hook override for an unknown plugin", "plugin", name)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	for _, n := range notices {
		e.o.Notice(n)
	}
	return e, nil
}

func (e *Engine) add(p Plugin, override sdk.HookOverride) []error {
	if p.Name == "" {
		return []error{errors.New("plugin without a name")}
	}
	if e.plugins[p.Name] != nil {
		return []error{fmt.Errorf("duplicate plugin %q: remove one entry from plugins in tenon.json", p.Name)}
	}
	state := &pluginState{Plugin: p}
	if quarantined := e.o.Quarantined[p.Name]; quarantined != "" {
		state.reason.Store(&quarantined)
	}
	e.plugins[p.Name] = state
	hooks, problems := bind(state, p.Hooks, override, e.o.Failures[p.Name])
	if override.Disable {
		return problems
	}
	for _, h := range hooks {
		e.points[h.Point] = append(e.points[h.Point], h)
		if h.info.Kind == hookpoint.KindObserve {
			e.observers = append(e.observers, &observer{engine: e, pluginHook: h})
		}
	}
	return problems
}

// Has reports whether a hook is called at the point.
func (e *Engine) Has(p sdk.Point) bool { return e.points[p] != nil }

// Order lists all hooks: the points in the order of a turn, and the hooks of each point in the order they are called.
func (e *Engine) Order() []HookInfo {
	var infos []HookInfo
	for _, info := range hookpoint.All() {
		for i, h := range e.points[info.Point] {
			infos = append(infos, HookInfo{
				Point: h.Point, Position: i + 1,
				Plugin: h.plugin.Name, Version: h.plugin.Version, Carrier: h.plugin.Carrier,
				Hook: h.Name, Priority: h.Priority, OnError: h.OnError, Timeout: h.Timeout,
				Reads: slices.Clone(h.Reads), Writes: slices.Clone(h.Writes),
				Quarantined: h.plugin.quarantined(),
			})
		}
	}
	return infos
}

// Close ends the observers. Queued events are handled until ctx ends; then hooks that hang are abandoned, and the error reports how many of
// their events are dropped. Later events are ignored. Transform and Gate continue to work, for calls that still run. Safe twice.
func (e *Engine) Close(ctx context.Context) error {
	var problems []error
	for _, o := range e.observers {
		problems = append(problems, o.close(ctx))
	}
	e.end()
	return errors.Join(problems...)
}

// label returns the name of the hook in errors and notices.
func (h *pluginHook) label() string { return hookpoint.Label(h.Point, h.Name) }

func (h *pluginHook) error(err error) *Error {
	return &Error{Plugin: h.plugin.Name, Hook: h.label(), Err: err}
}

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/sessions"
	"github.com/tenonhq/tenon/host/tasks"
	"github.com/tenonhq/tenon/host/tools"
	"github.com/tenonhq/tenon/host/undo"
	"github.com/tenonhq/tenon/sdk"
)

var (
	// ErrClosed is returned after Close.
	ErrClosed = generation.ErrClosed
	// ErrNotFound is returned for an unknown session, agent or request.
	ErrNotFound = live.ErrNotFound
	// ErrModel is wrapped by errors about a model or provider that cannot be used.
	ErrModel = model.ErrModel
	// ErrReceiver is wrapped by errors about a model whose receiver the repository chose and the user did not approve.
	ErrReceiver = model.ErrReceiver
	// ErrNoTurn is returned for a plugin's request on behalf of a session without a running turn.
	ErrNoTurn = generation.ErrNoTurn
	// ErrDisabled is the ErrNotFound for an agent that the configuration disables.
	ErrDisabled = generation.ErrDisabled
	// ErrSubagent is returned if a prompt is for an agent that only the task tool runs.
	ErrSubagent = generation.ErrSubagent
)

// Host runs sessions. Safe for use from many goroutines.
type Host struct {
	generation.Inventory // lists what plugins contribute, and Reload
	*permission.Asks     // the requests that wait for the user
	plugins              *generation.Registry

	opts      Options
	log       *slog.Logger
	ids       *live.IDs
	bus       *live.Bus
	approvals *permission.Approvals

	// Both contexts end in Close. backgroundCtx, which is for background work of turns, ends first.
	ctx, backgroundCtx       context.Context
	cancel, cancelBackground context.CancelFunc

	schemas  tools.Schemas
	trace    func(from, to state) // in tests: each step of the loop
	files    undo.Files
	sessions *sessions.Keeper

	mu      sync.Mutex         // guards runners and writes of closed
	runners map[string]*runner // by session
	closed  atomic.Bool
	wg      sync.WaitGroup // the goroutines of runners
}

// New starts the plugins and returns a host that is ready for prompts. A plugin that does not start is left out with a notice, unless it is
// required. ctx bounds starting.
func New(ctx context.Context, o Options) (*Host, error) {
	for name, missing := range map[string]bool{"Config": o.Config == nil, "Store": o.Store == nil, "Logger": o.Logger == nil, "Project.DataDir": o.Project.DataDir == ""} {
		if missing {
			return nil, fmt.Errorf("host: Options.%s is missing", name)
		}
	}
	o.Policy.Project = o.Project
	o.PublicConfig = cmp.Or(o.PublicConfig, &sdk.Config{})
	h := &Host{
		opts: o, log: o.Logger, ids: &live.IDs{}, bus: &live.Bus{},
		runners: map[string]*runner{},
		files:   undo.Files{Project: o.Project, Sessions: o.Store, Log: o.Logger},
	}
	h.sessions = &sessions.Keeper{
		Store: o.Store, IDs: h.ids, Project: o.Project, Version: o.Version, Log: o.Logger, Publish: h.publish, Observe: h.observe, Notice: h.notice,
	}
	h.approvals = &permission.Approvals{Store: o.Store, Project: o.Project, Root: h.sessions.Root}
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	h.Asks = permission.NewAsks(h.ctx, h.approvals)
	h.backgroundCtx, h.cancelBackground = context.WithCancel(h.ctx)
	h.plugins = generation.NewRegistry(ctx, o, turns{h}, h.bus, h.notice)
	h.Inventory = h.plugins.Inventory()
	if err := h.plugins.Start(ctx, o.ReloadOptions); err != nil {
		h.cancel()
		return nil, err
	}
	if err := h.sessions.Recover(ctx); err != nil {
		return nil, errors.Join(err, h.Close(ctx))
	}
	h.files.FinishReverts(ctx)
	return h, nil
}

// Arguments and results of Host's methods; see the packages.
type (
	// Options configure a host.
	Options      = generation.Options
	PromptInput  = input.Prompt
	Subscription = live.Subscription
	ModelInfo    = model.Info
	// ModelListOptions widens a listing of models.
	ModelListOptions = model.ListOptions
	ModelChoice      = model.Picked
	Receiver         = model.Receiver
	CommandInfo      = generation.Command
	NewSession       = sessions.New
	ReloadOptions    = generation.ReloadOptions
)

// CreateSession stores a new session. Errors: those of the store.
func (h *Host) CreateSession(ctx context.Context, n NewSession) (*sdk.Session, error) {
	return h.sessions.Create(ctx, n)
}

// Session returns a session by its identifier, or ErrNotFound.
func (h *Host) Session(ctx context.Context, id string) (*sdk.Session, error) {
	return h.sessions.Find(ctx, id)
}

// Fork creates a session with the messages of another one before messageID; see sessions.Keeper.
func (h *Host) Fork(ctx context.Context, session, messageID string) (*sdk.Session, error) {
	return h.sessions.Fork(ctx, session, messageID)
}

// Subscribe returns the events from now on. A lossless subscriber must read until it closes the subscription: the host waits for it. Other
// subscribers miss the oldest events if they do not keep up.
func (h *Host) Subscribe(size int, lossless bool) *live.Subscription {
	return h.bus.Subscribe(size, lossless)
}

// publish gives the event an identifier and hands it to observers and subscribers.
func (h *Host) publish(e sdk.Event) {
	e.ID = h.ids.New(sdk.PrefixEvent)
	h.observe(sdk.PointEvent, &e)
	h.bus.Publish(h.ctx, e)
}

// observe calls the observers at a point.
func (h *Host) observe(p sdk.Point, in any) {
	if g := h.plugins.Acquire(); g != nil {
		defer h.plugins.Release(g)
		g.Engine.Observe(p, in)
	}
}

// notice publishes and logs a problem of a plugin or, without one, of the host.
func (h *Host) notice(n sdk.PluginNotice) {
	var at []any
	if n.Plugin != "" {
		at = []any{"plugin", n.Plugin, "hook", n.Hook}
	}
	h.log.Warn(n.Message, at...)
	h.bus.Publish(h.ctx, sdk.Event{ID: h.ids.New(sdk.PrefixEvent), Type: sdk.EventPluginNotice, Properties: &n})
}

// Close aborts the running turns, calls the observers at session.end, and closes the plugins. It waits for all of them, but abandons plugins
// that take more than a few seconds. Safe twice.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	if h.closed.Swap(true) {
		h.mu.Unlock()
		return nil
	}
	running := slices.Collect(maps.Values(h.runners))
	h.mu.Unlock()
	for _, r := range running {
		r.abort()
	}
	graceTimer := time.AfterFunc(tasks.TitleGrace, h.cancelBackground)
	h.wg.Wait()
	graceTimer.Stop()
	h.cancelBackground()
	h.plugins.Stop()
	h.sessions.End(ctx)
	err := h.plugins.Close(ctx)
	h.bus.Close()
	h.cancel()
	if err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

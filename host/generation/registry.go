package generation

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/sdk"
)

// Registry holds the generation in force and earlier ones that turns still use. Safe for use from many goroutines.
type Registry struct {
	o      Options
	turns  Turns
	bus    *live.Bus
	notice func(sdk.PluginNotice)
	ctx    context.Context // ends in Stop
	cancel context.CancelFunc

	mu       sync.Mutex
	gen      *Set           // in force; nil until the first is complete
	reload   sync.Mutex     // held by the running reload
	retiring sync.WaitGroup // replaced generations that are not closed yet
}

// NewRegistry returns a registry without a generation, see Start. Plugins use turns and bus; notice receives messages for the user.
func NewRegistry(ctx context.Context, o Options, turns Turns, bus *live.Bus, notice func(sdk.PluginNotice)) *Registry {
	r := &Registry{o: o, turns: turns, bus: bus, notice: notice}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Inventory returns the lists of the generation in force.
func (r *Registry) Inventory() Inventory { return Inventory{r} }

// Start makes the first generation. ctx bounds only the start. After an error nothing is left open.
func (r *Registry) Start(ctx context.Context, o ReloadOptions) error {
	g, err := r.newGeneration(ctx, o, nil)
	r.mu.Lock() // started plugins may use it already
	r.gen = g
	r.mu.Unlock()
	return err
}

// Stop ends a reload under way and refuses others.
func (r *Registry) Stop() {
	r.mu.Lock()
	r.cancel() // no other generation comes into force
	r.mu.Unlock()
	r.reload.Lock()
	defer r.reload.Unlock()
}

// Close closes all plugins, in at most closeGrace, after Stop.
func (r *Registry) Close(ctx context.Context) error {
	r.retiring.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	return r.closeGeneration(ctx, r.gen)
}

// Acquire returns the generation in force, which stays open until Release; nil until the first generation is complete.
func (r *Registry) Acquire() *Set {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gen != nil {
		r.gen.users++
	}
	return r.gen
}

// Retain adds a use of a generation, for another goroutine. It returns false if the generation is no longer used.
func (r *Registry) Retain(g *Set) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g.users == 0 {
		return false
	}
	g.users++
	return true
}

// Release ends one use of a generation.
func (r *Registry) Release(g *Set) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g.users--; g.users == 0 {
		close(g.unused)
	}
}

// closeGrace bounds how long closing waits for plugins.
const closeGrace = 5 * time.Second

// ErrClosed is returned after the host was closed.
var ErrClosed = errors.New("host is closed")

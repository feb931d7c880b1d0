package generation

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenonhq/tenon/sdk"
)

// ReloadOptions describe a new generation.
type ReloadOptions struct {
	// Plugins are all plugins of the new generation, in their order. A plugin that is the same value as a plugin in force continues; it must
	// not have been closed.
	Plugins []sdk.Plugin
	// Quarantined holds the new plugins that start quarantined, and why, by name. The others keep their state.
	Quarantined map[string]string
	// Failures is the result of Host.Failures at the end of the previous host, for new plugins: failures of hooks in a row, by plugin and hook.
	Failures map[string]map[string]int
	// Required holds the names of the plugins that must start; otherwise New or Reload fails.
	Required map[string]bool
	// Quarantine is called when one of Plugins is quarantined, with the reason, so that it can be one of Quarantined next time. It is called from
	// any goroutine, even while the generation is being made and after another one has replaced it, and must not block. If nil, it is not called.
	Quarantine func(plugin, reason string)
}

// Reload starts the plugins that are new and puts a new generation in force. Turns that run keep the plugins they began with;
// the next turn of every session uses the new ones. Sessions, waiting prompts and requests to the user are not affected.
// Removed plugins are closed once no turn uses them any more. If a plugin does not work, or anything else fails, the old
// generation stays in force. ctx bounds only the reload. Errors: ErrClosed, and the errors of New.
func (n Inventory) Reload(ctx context.Context, o ReloadOptions) error {
	r := n.r
	r.reload.Lock()
	defer r.reload.Unlock()
	if r.ctx.Err() != nil {
		return ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	old := r.Acquire()
	defer r.Release(old)
	g, err := r.newGeneration(ctx, o, old)
	if err != nil {
		if r.ctx.Err() != nil { // it also ended the start of the plugins
			return errors.Join(ErrClosed, err)
		}
		return fmt.Errorf("reload: %w", err)
	}
	if !r.replace(old, g) {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
		defer cancel()
		return errors.Join(ErrClosed, r.closeGeneration(closing, g))
	}
	return nil
}

// replace puts a generation in force and arranges for the old one to be closed. It returns false if the host was closed.
func (r *Registry) replace(old, g *Set) bool {
	r.mu.Lock()
	if r.ctx.Err() != nil {
		r.mu.Unlock()
		return false
	}
	r.gen = g
	r.mu.Unlock()
	// Ends once no turn uses the old generation and its plugins are closed; Close waits.
	r.retiring.Go(func() {
		<-old.unused
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), closeGrace)
		defer cancel()
		if err := r.closeGeneration(ctx, old); err != nil {
			r.o.Logger.Warn("plugins of an earlier generation were not closed cleanly", "err", err)
		}
	})
	r.Release(old) // the host's own use of it
	return true
}

package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tenonhq/tenon/sdk"
)

// ReloadOptions say what a new generation is made of.
type ReloadOptions struct {
	// Config replaces the configuration, with PublicConfig, Secrets, Foreign and Own as in Options. Nil: all five stay as they are.
	Config       *sdk.Config
	PublicConfig *sdk.Config
	Secrets      []string
	Foreign      map[string]string
	Own          *sdk.Config
	// Plugins are all plugins of the new generation, in their order. One that is the same value as a plugin in force goes on as
	// it is, with the options it was started with; it must not have been closed.
	Plugins []sdk.Plugin
	// Quarantined is as in Options, for the plugins that were not there before. The others keep their state.
	Quarantined map[string]string
	// Failures is as in Options.
	Failures map[string]map[string]int
	// Required is as in Options.
	Required map[string]bool
	// Strict makes a plugin that does not work an error. Otherwise it is left out with a notice, as in New.
	Strict bool
}

// Reload starts the plugins that are new and puts a new generation in force. Turns that run keep the plugins they began with;
// the next turn of every session uses the new ones. Sessions, prompts that wait and requests to the user are not touched.
// Plugins that are gone are closed once no turn uses them any more. When something goes wrong the old generation stays in
// force. ctx bounds the reload alone. Errors: ErrClosed, and what New returns.
func (h *Host) Reload(ctx context.Context, o ReloadOptions) error {
	h.reload.Lock()
	defer h.reload.Unlock()
	if h.closing() {
		return ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.besideCtx, cancel)()
	old := h.acquire()
	defer h.release(old)
	if o.Config == nil {
		o.Config, o.PublicConfig, o.Secrets, o.Foreign, o.Own = old.made.Config, old.made.PublicConfig, old.made.Secrets, old.made.Foreign, old.made.Own
	}
	g, err := h.newGeneration(ctx, o, old)
	if err != nil {
		if h.closing() { // which is what ended the start of the plugins
			return errors.Join(ErrClosed, err)
		}
		return fmt.Errorf("reload: %w", err)
	}
	if !h.replace(old, g) {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
		defer cancel()
		return errors.Join(ErrClosed, h.closeGeneration(closing, g))
	}
	return nil
}

// replace puts a generation in force and sees to it that the old one is closed. It reports false when the host was closed.
func (h *Host) replace(old, g *generation) bool {
	for _, l := range g.plugins {
		if old.find(l.plugin) == nil {
			continue
		}
		l.host.config.Store(g.made.PublicConfig)
		if !bytes.Equal(l.host.options, optionsOf(l.manifest.Name, g.made.Config)) {
			h.notice(sdk.PluginNotice{Plugin: l.manifest.Name, Message: fmt.Sprintf("plugin %s keeps the options it was started with until tenon is started again", l.manifest.Name)})
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.genMu.Lock()
	h.gen, old.retired = g, true
	h.genMu.Unlock()
	// Ends once no turn uses the old generation and its plugins are closed; Close waits.
	h.retiring.Go(func() {
		<-old.unused
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), closeGrace)
		defer cancel()
		if err := h.closeGeneration(ctx, old); err != nil {
			h.log.Warn("plugins of an earlier generation were not closed cleanly", "err", err)
		}
	})
	h.release(old) // by the host itself
	return true
}

// acquire returns the generation in force, nil while the first is made. It stays open until release.
func (h *Host) acquire() *generation {
	h.genMu.Lock()
	defer h.genMu.Unlock()
	if h.gen != nil {
		h.gen.users++
	}
	return h.gen
}

// retain takes one more use of a generation, for another goroutine, and reports false when it is not used any more.
func (h *Host) retain(g *generation) bool {
	h.genMu.Lock()
	defer h.genMu.Unlock()
	if g.users == 0 {
		return false
	}
	g.users++
	return true
}

// release ends one use of a generation.
func (h *Host) release(g *generation) {
	h.genMu.Lock()
	defer h.genMu.Unlock()
	if g.users--; g.users == 0 && g.retired {
		close(g.unused)
	}
}

// hold notes that one more generation has the plugin.
func (h *Host) hold(l *loaded) {
	h.genMu.Lock()
	defer h.genMu.Unlock()
	l.holders++
}

// letGo ends that and reports whether it was the last one.
func (h *Host) letGo(l *loaded) bool {
	h.genMu.Lock()
	defer h.genMu.Unlock()
	l.holders--
	return l.holders == 0
}

// Enable ends the quarantine of a plugin. One that is not quarantined, or not there, is left alone.
func (h *Host) Enable(plugin string) {
	g := h.acquire()
	defer h.release(g)
	g.engine.Enable(plugin)
}

// rememberQuarantine tells the owner of the host that a plugin was quarantined, unless another has taken its place.
func (h *Host) rememberQuarantine(g *generation, plugin, reason string) {
	if h.opts.Quarantine == nil {
		return
	}
	now := h.acquire()
	if now == nil {
		h.opts.Quarantine(plugin, reason) // by a hook at config, before there is a generation
		return
	}
	defer h.release(now)
	for _, l := range g.plugins {
		if l.manifest.Name == plugin && (now == g || now.find(l.plugin) != nil) {
			h.opts.Quarantine(plugin, reason)
		}
	}
}

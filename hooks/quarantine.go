package hooks

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// maxFailures is the number of failures in a row that quarantine a plugin.
	maxFailures = 3
	// maxNotice is the maximum length of an error in a notice, in characters.
	maxNotice = 500
)

// pluginState is a plugin with its failures and its quarantine.
type pluginState struct {
	Plugin

	hooks  []*pluginHook
	row                           // of all hooks
	reason atomic.Pointer[string] // the reason for the quarantine; nil if there is none
}

// row counts the failures in a row of a hook, or of all hooks of a plugin.
type row struct {
	failures atomic.Int32
	counted  atomic.Pointer[time.Time] // time of the last failure that counted
}

// quarantined returns the reason why the plugin is not called, or "".
func (p *pluginState) quarantined() string {
	if reason := p.reason.Load(); reason != nil {
		return *reason
	}
	return ""
}

// blame counts a failed call for the plugin, unless it is not at fault, and notifies the user of the consequence, unless mute is set. input is
// the call's encoded input, if any.
func (e *Engine) blame(c *call, input []byte, err error, mute bool) {
	h, counts, reason := c.hook, false, ""
	if !Blameless(err) {
		counts, reason = c.countFailure(err)
		mute = mute || !counts && h.failures.Load() > 0 // part of a failure that the user knows
	}
	if !counts && !mute {
		session := ""
		if errors.Is(err, ErrInputSize) {
			session = hookpoint.SessionOf(input)
		}
		known := h.prevented.Swap(&session)
		mute = known != nil && *known == session
	}
	e.o.Logger.Debug("hook failed", "plugin", h.plugin.Name, "hook", h.label(), "err", err)
	if !mute {
		e.o.Notice(sdk.PluginNotice{Plugin: h.plugin.Name, Hook: h.label(), Message: h.policyText(err)})
	}
	if reason == "" {
		return
	}
	e.o.Notice(sdk.PluginNotice{
		Plugin: h.plugin.Name, Hook: h.label(), Quarantined: true,
		Message: fmt.Sprintf("quarantined after %s; run tenon plugin enable %s to have it called again", reason, h.plugin.Name),
	})
	if e.o.Quarantine != nil {
		e.o.Quarantine(h.plugin.Name, reason)
	}
}

// policyText describes the effect of a failure of the hook, for the user.
func (h *pluginHook) policyText(err error) string {
	switch {
	case h.OnError == sdk.OnErrorStop:
		return "stops the turn: " + oneLine(err)
	case h.OnError == sdk.OnErrorDeny:
		return "denies: " + oneLine(err)
	}
	return "skipped: " + oneLine(err)
}

// oneLine returns the text of an error as one line. Part of it is from a plugin: it must not look like another line or control a terminal.
func oneLine(err error) string { return visible.Clean(err.Error(), maxNotice) }

// clearFailures ends a row of failures, and of calls that failed without the plugin's fault. It writes only if it has to, so that
// concurrent calls of a healthy plugin do not write to shared memory.
func (h *pluginHook) clearFailures() {
	for _, r := range []*row{&h.row, &h.plugin.row} {
		if r.failures.Load() != 0 {
			r.failures.Store(0)
		}
	}
	if h.prevented.Load() != nil {
		h.prevented.Store(nil)
	}
}

// countFailure counts a failure for the hook, because working hooks must not hide one that always hangs, and for the plugin, because
// each of its hooks may be called only once. It reports whether that is one more failure. If it quarantines the plugin, it returns the reason.
func (c *call) countFailure(err error) (counts bool, reason string) {
	h := c.hook
	ofHook, ofPlugin := h.count(c.began), h.plugin.count(c.began)
	n := max(h.failures.Load(), h.plugin.failures.Load())
	reason = fmt.Sprintf("%d failures in a row, the last: %s", n, oneLine(err))
	if n < maxFailures || !h.plugin.reason.CompareAndSwap(nil, &reason) {
		reason = ""
	}
	return ofHook || ofPlugin, reason
}

// count counts the failure of a call that began at a time, and reports whether it is one more. Calls that began before the last one have most
// likely the same cause: three of them would quarantine a plugin whose process crashed once or starts slowly on a busy machine, or whose answers
// tenon could not receive while it was suspended.
func (r *row) count(began time.Time) bool {
	now, last := time.Now(), r.counted.Load()
	if last != nil && began.Before(*last) || !r.counted.CompareAndSwap(last, &now) {
		return false
	}
	r.failures.Add(1)
	return true
}

// Failures returns the number of failures in a row, by plugin and hook, for Options.Failures of the next engine. Quarantined plugins are left
// out.
func (e *Engine) Failures() map[string]map[string]int {
	out := map[string]map[string]int{}
	for name, p := range e.plugins {
		if p.quarantined() != "" {
			continue
		}
		for _, h := range p.hooks {
			if n := h.failures.Load(); n > 0 {
				if out[name] == nil {
					out[name] = map[string]int{}
				}
				out[name][h.label()] = int(n)
			}
		}
	}
	return out
}

// Quarantined returns the quarantined plugins, with the reasons, by name.
func (e *Engine) Quarantined() map[string]string {
	out := map[string]string{}
	for name, p := range e.plugins {
		if reason := p.quarantined(); reason != "" {
			out[name] = reason
		}
	}
	return out
}

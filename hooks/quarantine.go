package hooks

import (
	"fmt"
	"sync/atomic"

	"github.com/tenonhq/tenon/sdk"
)

// maxFailures is how many failures in a row quarantine a plugin.
const maxFailures = 3

// member is a plugin and how it has behaved.
type member struct {
	name, version string
	carrier       sdk.Carrier
	required      bool

	hooks    []*bound
	failures atomic.Int32           // in a row, of all hooks
	reason   atomic.Pointer[string] // why it is quarantined; nil when it is not
}

func newMember(p Plugin, quarantined string) *member {
	m := &member{name: p.Name, version: p.Version, carrier: p.Carrier, required: p.Required}
	if quarantined != "" {
		m.reason.Store(&quarantined)
	}
	return m
}

// quarantined returns why the plugin is not called, or "".
func (m *member) quarantined() string {
	if reason := m.reason.Load(); reason != nil {
		return *reason
	}
	return ""
}

// succeeded ends a row of failures. A healthy plugin's calls share no written memory.
func (h *bound) succeeded() {
	for _, failures := range []*atomic.Int32{&h.failures, &h.member.failures} {
		if failures.Load() != 0 {
			failures.Store(0)
		}
	}
}

// failed counts a failure: of this hook, so that a hook which always hangs is not saved by another one that works, and of the plugin,
// so that one whose hooks are called once each does not go on failing. It returns the reason when this failure quarantined the plugin.
func (h *bound) failed(err error) string {
	n := max(h.failures.Add(1), h.member.failures.Add(1))
	if n < maxFailures {
		return ""
	}
	reason := fmt.Sprintf("%d failures in a row, the last: %s", n, oneLine(err))
	if !h.member.reason.CompareAndSwap(nil, &reason) {
		return ""
	}
	return reason
}

// enable forgets the failures before it ends the quarantine: other goroutines must not see them without it.
func (m *member) enable() {
	m.failures.Store(0)
	for _, h := range m.hooks {
		h.failures.Store(0)
	}
	m.reason.Store(nil)
}

// Failures returns how often hooks failed in a row, up to now, by plugin and hook, for Options.Failures of the next engine. Plugins in
// quarantine are left out.
func (e *Engine) Failures() map[string]map[string]int {
	out := map[string]map[string]int{}
	for name, m := range e.members {
		if m.quarantined() != "" {
			continue
		}
		for _, h := range m.hooks {
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

// resume goes on counting the failures in a row where an earlier engine stopped.
func (m *member) resume(failures map[string]int) {
	for _, h := range m.hooks {
		h.failures.Store(int32(min(max(failures[h.label()], 0), maxFailures-1)))
	}
}

// Quarantined returns the plugins that are not called and why, by name.
func (e *Engine) Quarantined() map[string]string {
	out := map[string]string{}
	for name, m := range e.members {
		if reason := m.quarantined(); reason != "" {
			out[name] = reason
		}
	}
	return out
}

// Enable ends the quarantine of a plugin. A plugin that is not quarantined, or not there, is left alone.
func (e *Engine) Enable(plugin string) {
	if m := e.members[plugin]; m != nil {
		m.enable()
	}
}

// quarantineError is the error of a hook whose plugin is quarantined. It says how to end that.
func quarantineError(m *member, reason string) error {
	return fmt.Errorf("%w (%s); run tenon plugin enable %s", ErrQuarantined, reason, m.name)
}

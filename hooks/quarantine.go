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

	failures atomic.Int32           // in a row
	reason   atomic.Pointer[string] // why it is quarantined; nil when it is not
}

func newMember(p Plugin, quarantined string) *member {
	m := &member{name: p.Name, version: p.Version, carrier: p.Carrier}
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

func (m *member) succeeded() {
	if m.failures.Load() != 0 { // so that the calls of a healthy plugin share no written memory
		m.failures.Store(0)
	}
}

// failed counts a failure. It returns the reason when this one quarantined the plugin.
func (m *member) failed(err error) string {
	n := m.failures.Add(1)
	if n < maxFailures {
		return ""
	}
	reason := fmt.Sprintf("%d failures in a row, the last: %v", n, err)
	if !m.reason.CompareAndSwap(nil, &reason) {
		return ""
	}
	return reason
}

// enable forgets the failures first: nobody must see them without the quarantine.
func (m *member) enable() {
	m.failures.Store(0)
	m.reason.Store(nil)
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

package conformance_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/internal/pause"
	"github.com/tenonhq/tenon/plugins/plugintest"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

const (
	// grace is the time that hitting a deadline may cost in addition to the deadline.
	grace = 200 * time.Millisecond
	// returns is how often a plugin that a carrier brings back is called before it counts as gone: for ten seconds and more. The backoff of a
	// carrier has no signal to wait for.
	returns     = 100
	returnPause = 100 * time.Millisecond
)

// deadlines: a call that hangs ends at its deadline, and the plugin is usable afterwards.
func (s *suite) deadlines() map[string]func(t *testing.T) {
	out := map[string]func(t *testing.T){}
	add := func(name string, p sdk.Point, timeout time.Duration) {
		if s.has(p) {
			out[name] = func(t *testing.T) { s.deadline(t, p, timeout) }
		}
	}
	add("transform", sdk.PointChatSystem, 300*time.Millisecond)
	add("gate", sdk.PointPermissionAsk, 200*time.Millisecond)
	if s.yardstick() { // a carrier does not see the difference
		add("denying transform", sdk.PointToolBefore, 150*time.Millisecond)
		add("result", sdk.PointToolAfter, 50*time.Millisecond)
	}
	return out
}

// hangsFor is what the input of a call that shall hang holds.
const hangsFor = "ses_hangs"

func (s *suite) deadline(t *testing.T, p sdk.Point, timeout time.Duration) {
	hook := sdk.HookDescription{Point: string(p), Reads: []string{""}, Writes: []string{""}, TimeoutMS: timeout.Milliseconds()}
	script := conformance.Script{When: hangsFor, Fault: s.carrier.Hang}
	k := newCase(t, conformance.Options{Hooks: map[string]conformance.Script{string(p): script}}, hook)
	h := open(t, s.carrier, k, sdktest.Options{})
	s.works(t, h, p) // its start is over: it is the call that takes too long
	plugintest.InTime(t, timeout, timeout+grace, func() time.Duration {
		f := newFiring(t, member{s.carrier.Name, h.Plugin()})
		s.warm(t, h, hangsFor)
		begin := time.Now()
		f.fire(p, forSession(p, hangsFor), valueOf(p))
		took := time.Since(begin)
		if entries := f.ledger.Entries(); len(entries) != 1 || entries[0].Outcome != hooks.OutcomeTimeout {
			t.Fatalf("ledger = %+v, want one call that timed out", entries)
		}
		if told := f.told.all(); len(told) != 1 || !holds(told[0].Message, fmt.Sprintf("timed out after %s", timeout)) {
			t.Errorf("notices = %+v, want one that names the deadline", told)
		}
		return took
	})
	s.works(t, h, p)
}

// warm makes what a carrier makes when a session first calls the plugin.
func (s *suite) warm(t *testing.T, h *sdktest.Host, session string) {
	t.Helper()
	if s.skipped("tools", conformance.ToolEcho) != "" {
		return
	}
	if _, err := h.CallWith(within(t), &sdk.ToolCall{Tool: s.carrier.ToolID(conformance.ToolEcho), SessionID: session}); err != nil {
		t.Fatalf("the plugin is not usable: %v", err)
	}
}

// works checks that a call of the hook gets through. A carrier may need a while to bring a plugin back.
func (s *suite) works(t *testing.T, h *sdktest.Host, p sdk.Point) {
	t.Helper()
	var last hooks.Entry
	for range returns {
		f := newFiring(t, member{s.carrier.Name, h.Plugin()})
		f.fire(p, forSession(p, sessionID), valueOf(p))
		last = f.ledger.Entries()[0]
		if last.Error == "" {
			return
		}
		_ = pause.For(t.Context(), returnPause)
	}
	t.Errorf("the plugin does not come back: %+v", last)
}

// forSession returns the sample input of a point for another session.
func forSession(p sdk.Point, session string) any {
	in := sampleOf(p).input()
	switch in := in.(type) {
	case *sdk.ChatInput:
		in.SessionID = session
	case *sdk.ToolInput:
		in.SessionID = session
	case *sdk.ToolAfterInput:
		in.SessionID = session
	case *sdk.PermissionRequest:
		in.SessionID = session
	}
	return in
}

func valueOf(p sdk.Point) any { return orNil(sampleOf(p).value) }

// quarantine: three failures in a row and the plugin is no longer called; a success in between restarts the count.
func (s *suite) quarantine() map[string]func(t *testing.T) {
	if !s.has(sdk.PointChatSystem) {
		return nil
	}
	const bad = "ses_bad"
	script := conformance.Script{When: bad, Error: "no luck"}
	run := func(t *testing.T, c Carrier, sessions ...string) *outcome {
		t.Helper()
		point := string(sdk.PointChatSystem)
		k := newCase(t, conformance.Options{Hooks: map[string]conformance.Script{point: script}},
			sdk.HookDescription{Point: point, Reads: []string{""}, Writes: []string{""}})
		f := newFiring(t, member{c.Name, open(t, c, k, sdktest.Options{}).Plugin()})
		for _, session := range sessions {
			f.fire(sdk.PointChatSystem, forSession(sdk.PointChatSystem, session), valueOf(sdk.PointChatSystem))
		}
		o := &outcome{Entries: f.ledger.Entries(), Notices: f.told.all()}
		if s.carrier.Foreign {
			o.forgetCauses()
		}
		return o
	}
	cases := map[string]struct {
		sessions    []string
		quarantined int // notices
	}{
		"three in a row":       {[]string{bad, bad, bad, bad, sessionID}, 1},
		"a success in between": {[]string{bad, bad, sessionID, bad, bad, sessionID}, 0},
	}
	out := map[string]func(t *testing.T){}
	for name, c := range cases {
		out[name] = func(t *testing.T) {
			want, got := run(t, Builtin(), c.sessions...), run(t, s.carrier, c.sessions...)
			if diff := cmp.Diff(ledgerJSON(t, want.Entries), ledgerJSON(t, got.Entries)); diff != "" {
				t.Errorf("ledger (-in this process +over %s):\n%s", s.carrier.Name, diff)
			}
			if diff := cmp.Diff(want.Notices, got.Notices); diff != "" {
				t.Errorf("notices (-in this process +over %s):\n%s", s.carrier.Name, diff)
			}
			var quarantined int
			for _, n := range got.Notices {
				if n.Quarantined {
					quarantined++
				}
			}
			if quarantined != c.quarantined {
				t.Errorf("quarantined %d times, want %d: %+v", quarantined, c.quarantined, got.Notices)
			}
		}
	}
	return out
}

package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/plugins/plugintest"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// hookTimeout is the longest deadline of the hooks that go wrong: a process has time to start.
	hookTimeout = 200 * time.Millisecond
	// sureTimeout is the deadline of those that are sure to hit it.
	sureTimeout = hookTimeout / 2
	// slowness is how much slower than the measured turn one may be on a machine that has other things to do.
	slowness = 4
)

// place is a hook point of a turn, and how often the turn passes it.
type place struct {
	point sdk.Point
	calls int // that are waited for
}

// atStart is the place of what goes wrong when the plugin starts.
var atStart = place{"start", 1}

// places are where a fault is tried, besides the start: one of each kind of hook, and for what is decisive all that a turn passes.
func places(f conformance.Fault) []place {
	list := []place{{sdk.PointToolBefore, 1}, {sdk.PointPermissionAsk, 1}, {sdk.PointEvent, 0}}
	if decisive(f) {
		list = append(list, place{sdk.PointChatSystem, 2}, place{sdk.PointToolAfter, 1})
	}
	return list
}

// tried returns the places of a fault: two hooks and the start if it is decisive, one hook and the start if a limit ends it, else one of them.
// Another language has one hook and the start for the fault that its library turns into an error. The rest is up to the host, which is the same.
func tried(f conformance.Fault, turn int, otherLanguage bool) []place {
	switch {
	case otherLanguage && f != conformance.FaultPanic:
		return some(append(places(f), atStart), 1, turn)
	case decisive(f) && !otherLanguage:
		return append(some(places(f), 2, turn), atStart)
	case f == conformance.FaultPanic || f == conformance.FaultMemory || f == conformance.FaultFlood:
		return append(some(places(f), 1, turn), atStart)
	}
	return some(append(places(f), atStart), 1, turn)
}

// decisive reports whether a fault is one of those that the others come to for the host: an error, a call without an answer, the end of the
// plugin.
func decisive(f conformance.Fault) bool {
	return f == conformance.FaultPanic || f == conformance.FaultHang || f == conformance.FaultExit
}

// timeoutOf returns the deadline of a hook with the fault.
func timeoutOf(f conformance.Fault) time.Duration {
	switch f {
	case conformance.FaultHang, conformance.FaultDeaf, conformance.FaultLoop, conformance.FaultChatter:
		return sureTimeout
	}
	return hookTimeout
}

// allFaults tries every fault at every place. Otherwise each is tried at a few, which change from fault to fault and from carrier to carrier:
// a turn that waits for deadlines takes a second, and there are hundreds.
const allFaults = "TENON_ALL_FAULTS"

// some returns n of the places, in turns, or all of them.
func some(list []place, n, turn int) []place {
	if os.Getenv(allFaults) != "" || len(list) < n {
		return list
	}
	at := turn % len(list)
	return slices.Concat(list[at:], list[:at])[:n]
}

// configured gives a plugin its options, which the host would take from the configuration, and the name that the tests look for.
type configured struct {
	sdk.Plugin
	options json.RawMessage
}

func (c *configured) Manifest() sdk.Manifest {
	m := c.Plugin.Manifest()
	m.Name = conformance.Name
	return m
}

func (c *configured) Start(ctx context.Context, h sdk.Host) error {
	return c.Plugin.Start(ctx, &optionsHost{h, c.options})
}

// Hooks returns those of the plugin.
func (c *configured) Hooks() []sdk.Hook {
	hooker, ok := c.Plugin.(sdk.Hooker)
	if !ok {
		return nil
	}
	return hooker.Hooks()
}

type optionsHost struct {
	sdk.Host
	options json.RawMessage
}

func (h *optionsHost) Options() json.RawMessage { return h.options }

// faulty opens the conformance plugin over a carrier with options and one hook, and no tools.
func faulty(t *testing.T, c Carrier, o conformance.Options, hook sdk.HookDescription) sdk.Plugin {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var limit time.Duration
	if timeoutOf(o.Start.Fault) == sureTimeout {
		limit = time.Second // it never starts: waiting longer shows nothing else
	}
	p := c.Open(t, Case{Options: raw, StartTimeout: limit, Description: sdk.Description{
		Name: conformance.Name, Version: conformance.Version, Hooks: []sdk.HookDescription{hook}, Capabilities: conformance.Capabilities(),
	}})
	return &configured{p, raw}
}

// TestFaults runs turns with a plugin that fails in every way, at each kind of hook, over each carrier.
func TestFaults(t *testing.T) {
	t.Parallel()
	all := []conformance.Fault{
		conformance.FaultPanic, conformance.FaultHang, conformance.FaultDeaf, conformance.FaultLoop, conformance.FaultRecursion,
		conformance.FaultMemory, conformance.FaultExit, conformance.FaultFlood, conformance.FaultChatter,
	}
	inModule := slices.DeleteFunc(slices.Clone(all), func(f conformance.Fault) bool { return f == conformance.FaultDeaf })
	faults := []struct {
		name          string
		carrier       Carrier
		faults        []conformance.Fault
		otherLanguage bool // of a carrier that is tried with a plugin in Go
	}{
		// Faults of a handler that hit the whole process cannot be contained in this process.
		{"builtin", Builtin(), []conformance.Fault{conformance.FaultPanic, conformance.FaultHang}, false},
		{"wasm", wasmCarrier(), inModule, false},
		{"rust module", rustModuleCarrier(), inModule, true},
		{"process", processCarrier(), all, false},
		{"lines", linesCarrier(), all, false},
		{"node", nodeCarrier(), all, true},
		{"python", pythonCarrier(), all, true},
		{"rust", rustCarrier(), all, true},
		{"mcp", mcpCarrier(false), all, false},
	}
	for n, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for i, f := range c.faults {
				for _, at := range tried(f, n+i, c.otherLanguage) {
					t.Run(string(f)+" "+string(at.point), func(t *testing.T) {
						switch {
						case at != atStart:
							o, hook := faultyHook(at.point, timeoutOf(f), f)
							contained(t, at, func(t *testing.T) sdk.Plugin { return faulty(t, c.carrier, o, hook) })
						case c.name == "builtin":
							leftOut(t, faultyStart(t, c.carrier, f))
						default: // its first call fails
							contained(t, place{sdk.PointToolBefore, 1}, func(t *testing.T) sdk.Plugin { return faultyStart(t, c.carrier, f) })
						}
					})
				}
			}
		})
	}
}

// faultyStart opens a plugin that goes wrong when it starts.
func faultyStart(t *testing.T, c Carrier, f conformance.Fault) sdk.Plugin {
	return faulty(t, c, conformance.Options{Start: conformance.Script{Fault: f}}, hookAt(sdk.PointToolBefore, timeoutOf(f)))
}

// tries is how often turns that took too long are run again: the machine may have been busy.
const tries = 5

// contained runs turns with the plugin until it is quarantined, and one more.
func contained(t *testing.T, at place, open func(t *testing.T) sdk.Plugin) {
	t.Helper()
	want := shop.healthy(t)
	var slow []string
	for range tries {
		if slow = turns(t, at, &want, open(t)); len(slow) == 0 || t.Failed() {
			return
		}
		want = healthyTurn(t) // the machine may have more to do than before
	}
	t.Errorf("too slow, even when tried again:\n%s", strings.Join(slow, "\n"))
}

// healthyTurn runs a turn without a plugin that goes wrong.
func healthyTurn(t *testing.T) turn {
	t.Helper()
	m := newMachine(t)
	defer m.close()
	m.turn() // the first one warms up
	return m.turn()
}

// turns compares turns with the plugin to want, the one without, and returns what took too long.
func turns(t *testing.T, at place, want *turn, p sdk.Plugin) (slow []string) {
	t.Helper()
	m := newMachine(t, p)
	defer m.close()
	var failures int
	began := time.Now()
	for n := 1; n <= 4; n++ {
		before := failures
		lateness := plugintest.Lateness()
		got := m.turn()
		late := 2 * lateness()
		failures = min(failures+at.calls, 3)
		limit := slowness*want.took + grace + time.Duration(failures-before)*(hookTimeout+grace) + late
		if got.took > limit {
			slow = append(slow, fmt.Sprintf("turn %d took %s, at most %s was due; without the plugin it took %s", n, got.took, limit, want.took))
		}
		m.outcome(n, at, want, &got)
		if counted := len(m.told.about(conformance.Name)); at.calls > 0 && counted < failures && time.Since(began) < time.Minute {
			failures, n = counted, n-1 // calls that wait for one start count once
		}
		if at.calls > 0 {
			m.tells(n, at, failures)
		}
	}
	if at.calls == 0 { // no caller waits for an observer
		told := m.told.await(t, conformance.Name, 4)
		if len(told) != 4 || !strings.Contains(told[3], "quarantined") || !strings.Contains(told[0], "hook="+string(at.point)) {
			t.Errorf("the user was told %q, want three failures and the quarantine", told)
		}
	}
	return slow
}

// outcome checks what came of a turn: the same as without the plugin, unless a gate failed, which denies.
func (m *machine) outcome(n int, at place, want, got *turn) {
	m.t.Helper()
	if at.point != sdk.PointPermissionAsk || strings.HasPrefix(m.told.about(conformance.Name)[0], "skipped") {
		if diff := cmp.Diff(want.answer+want.result, got.answer+got.result); diff != "" {
			m.t.Errorf("turn %d (-without the plugin +with it):\n%s", n, diff)
		}
		return
	}
	if !strings.Contains(got.result, "plugin "+conformance.Name+": hook "+string(at.point)) || got.answer == "" {
		m.t.Errorf("turn %d: the call's result is %q, want a denial that names plugin and hook; answer %q", n, got.result, got.answer)
	}
}

// tells checks what the user was told up to now: one line for each failure, one for the quarantine.
func (m *machine) tells(n int, at place, failures int) {
	m.t.Helper()
	want := failures
	if failures == 3 {
		want++
	}
	told := m.told.about(conformance.Name)
	if len(told) != want {
		m.t.Errorf("after turn %d the user was told %q, want %d lines", n, told, want)
	}
	for _, line := range told {
		if !strings.Contains(line, "hook="+string(at.point)) || len(line) > 2000 || strings.ContainsFunc(line, unicode.IsControl) {
			m.t.Errorf("line %.2000q of %d bytes, want one short line that names the hook", line, len(line))
			break
		}
	}
	if failures == 3 && !strings.Contains(told[len(told)-1], "quarantined") {
		m.t.Errorf("after turn %d the user was told %q, want that the plugin is quarantined", n, told)
	}
}

// leftOut checks that a plugin that does not start is skipped with one line, and that turns run without it.
func leftOut(t *testing.T, p sdk.Plugin) {
	t.Helper()
	want := shop.healthy(t)
	m := newMachine(t, p)
	got := m.turn()
	if diff := cmp.Diff(want.answer+want.result, got.answer+got.result); diff != "" {
		t.Errorf("the turn (-without the plugin +with it):\n%s", diff)
	}
	if told := m.told.about(conformance.Name); len(told) != 1 || !strings.Contains(told[0], "is skipped") {
		t.Errorf("the user was told %q, want one line", told)
	}
}

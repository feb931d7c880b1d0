package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// probe is one call of one hook: what it does, and what has to come of it.
type probe struct {
	point  sdk.Point
	hook   sdk.HookDescription // its Point is set by point; without fields it reads and writes everything
	script conformance.Script
	// partial means that the hook reads a part of the value: one of this process sees all of it.
	partial bool
	// session is that of the call, if the script is for this session only. Empty: the sample's.
	session string
	// abnormal means that the handler does not come back; then the text of the error is the carrier's.
	abnormal bool
	// check inspects the result, in addition to the comparison with the yardstick. It may be nil.
	check func(t *testing.T, o *outcome)
}

// outcome is what came of a probe.
type outcome struct {
	Value   any
	Result  hooks.Result
	Gate    hooks.Result
	Err     string
	Entries []hooks.Entry
	Notices []sdk.PluginNotice
	Call    string // as the plugin recorded it
}

// bundles makes cases of probes that share a plugin, because a process takes longer to start than to answer. Those of one plugin run one
// after the other, at different hooks, or at the same hook in different sessions. A case that ends its plugin shares none.
func (s *suite) bundles(group string, list map[string]probe) map[string]func(t *testing.T) {
	var bundles []map[string]probe
	for i, name := range slices.Sorted(maps.Keys(list)) {
		p := list[name]
		if !s.has(p.point) {
			continue
		}
		if session := fmt.Sprintf("ses_%02d", i); p.script.Record == "" && strings.Contains(toJSON(s.t, forSession(p.point, session)), session) {
			p.session = session
		}
		n := slices.IndexFunc(bundles, func(b map[string]probe) bool {
			for _, other := range b {
				if p.abnormal || other.abnormal || other.point == p.point && (p.session == "" || other.session == "" || !cmp.Equal(p.hook, other.hook)) {
					return false
				}
			}
			return true
		})
		if n < 0 {
			n, bundles = len(bundles), append(bundles, map[string]probe{})
		}
		bundles[n][name] = p
	}
	cases := map[string]func(t *testing.T){}
	for n, b := range bundles {
		cases[fmt.Sprint("plugin ", n)] = func(t *testing.T) { s.bundle(t, group, b) }
	}
	return cases
}

// bundle runs probes over the carrier, with one plugin.
func (s *suite) bundle(t *testing.T, group string, list map[string]probe) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(list)), func(name string) bool { return !s.applies(t, group, name) })
	if len(names) == 0 {
		return
	}
	var probes []probe
	for _, name := range names {
		probes = append(probes, list[name])
	}
	h := openProbes(t, s.carrier, probes...)
	for i, name := range names {
		t.Run(name, func(t *testing.T) { s.probe(t, h, probes[i]) })
	}
}

// openProbes opens and starts a plugin with the hooks of probes.
func openProbes(t *testing.T, c Carrier, list ...probe) *sdktest.Host {
	t.Helper()
	scripts := map[string]conformance.Script{}
	var hooks []sdk.HookDescription
	for _, p := range list {
		d := p.description()
		script := p.script
		script.When = p.session
		if other, found := scripts[hookName(d)]; found {
			script.Otherwise = &other
		} else {
			hooks = append(hooks, d)
		}
		scripts[hookName(d)] = script
	}
	return open(t, c, newCase(t, conformance.Options{Hooks: scripts}, hooks...), sdktest.Options{})
}

// probe compares the result of a probe over the carrier with its result in this process.
func (s *suite) probe(t *testing.T, h *sdktest.Host, p probe) {
	want, got := p.run(t, Builtin(), openProbes(t, Builtin(), p)), p.run(t, s.carrier, h)
	if p.check != nil {
		p.check(t, got)
	}
	if p.partial {
		want.Call = got.Call
	}
	for _, o := range []*outcome{want, got} {
		if p.abnormal || s.carrier.Foreign {
			o.forgetCauses()
		}
		if s.carrier.Foreign {
			o.forgetChanges()
		}
	}
	for _, same := range []struct {
		what      string
		want, got any
	}{
		{"ledger", ledgerJSON(t, want.Entries), ledgerJSON(t, got.Entries)},
		{"value", s.rounded(s.valueJSON(t, want.Value)), s.rounded(s.valueJSON(t, got.Value))},
		{"result", want.Result, got.Result},
		{"gate result", want.Gate, got.Gate},
		{"error", want.Err, got.Err},
		{"notices", want.Notices, got.Notices},
		{"call as it arrived", s.rounded(want.Call), s.rounded(got.Call)},
	} {
		if diff := cmp.Diff(same.want, same.got); diff != "" {
			t.Errorf("%s (-in this process +over %s):\n%s", same.what, s.carrier.Name, diff)
		}
	}
}

// run fires the point once.
func (p *probe) run(t *testing.T, c Carrier, h *sdktest.Host) *outcome {
	t.Helper()
	f := newFiring(t, member{c.Name, h.Plugin()})
	sample := sampleOf(p.point)
	in := sample.input()
	if p.session != "" {
		in = forSession(p.point, p.session)
	}
	o := f.fire(p.point, in, orNil(sample.value))
	o.Entries, o.Notices = f.ledger.Entries(), f.told.all()
	if p.script.Record != "" {
		o.Call = recorded(t, c, h, p.script.Record)
	}
	return o
}

func (p *probe) description() sdk.HookDescription {
	d := p.hook
	d.Point = string(p.point)
	if d.Reads == nil && d.Writes == nil {
		d.Reads, d.Writes = []string{""}, []string{""}
	}
	return d
}

func hookName(d sdk.HookDescription) string {
	if d.Name == "" {
		return d.Point
	}
	return d.Name
}

func orNil(value func() any) any {
	if value == nil {
		return nil
	}
	return value()
}

// forgetCauses removes the reasons why handlers did not return.
func (o *outcome) forgetCauses() {
	for i, e := range o.Entries {
		if e.Error != "" {
			o.Entries[i].Error = "did not come back"
			if e.Reason != "" {
				o.Entries[i].Reason = "did not come back"
			}
		}
	}
	for i := range o.Notices {
		o.Notices[i].Message = ""
	}
	if o.Err != "" {
		o.Err = "did not come back"
	}
	for _, reason := range []*string{&o.Result.Reason, &o.Gate.Reason} {
		if *reason != "" {
			*reason = "did not come back"
		}
	}
}

// forgetChanges drops which places were changed, not that there was a change.
func (o *outcome) forgetChanges() {
	for i := range o.Entries {
		o.Entries[i].Changes, o.Entries[i].Dropped = nil, nil
	}
}

// member is a plugin in an engine.
type member struct {
	carrier string
	plugin  sdk.Plugin
}

// firing is an engine with a ledger.
type firing struct {
	t      *testing.T
	engine *hooks.Engine
	told   *notices
	ledger *hooks.Ledger
	close  func()
}

// newFiring makes an engine of started plugins. The first is named conformance, the others after their carriers.
func newFiring(t *testing.T, members ...member) *firing {
	t.Helper()
	var list []hooks.Plugin
	for i, m := range members {
		p := hooks.Plugin{Name: conformance.Name, Version: conformance.Version, Carrier: m.plugin.Manifest().Carrier}
		if len(members) > 1 {
			p.Name = fmt.Sprintf("%s%d", m.carrier, i+1)
		}
		if hooker, ok := m.plugin.(sdk.Hooker); ok {
			p.Hooks = hooker.Hooks()
		}
		list = append(list, p)
	}
	f := &firing{t: t, told: &notices{}, ledger: &hooks.Ledger{}}
	var err error
	f.engine, err = hooks.New(hooks.Options{Plugins: list, Notice: f.told.add, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	f.close = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(within(t), closeTimeout)
		defer cancel()
		if err := f.engine.Close(ctx); err != nil {
			t.Errorf("close the engine: %v", err)
		}
	})
	t.Cleanup(f.close)
	return f
}

// fire fires a point of any kind. After an observe point the engine has ended.
func (f *firing) fire(p sdk.Point, in, value any) *outcome {
	info, _ := hookpoint.Of(string(p))
	scope := hooks.Scope{Ledger: f.ledger, Subject: "call_1"}
	o := &outcome{Value: value}
	var err error
	switch info.Kind {
	case hookpoint.KindTransform:
		o.Result, err = f.engine.Transform(within(f.t), p, scope, in, value)
	case hookpoint.KindGate:
		o.Gate, err = f.engine.Gate(within(f.t), p, scope, in)
	case hookpoint.KindObserve:
		f.engine.Observe(p, in)
		f.close()
	}
	if err != nil {
		o.Err = err.Error()
	}
	return o
}

// notices collects the notices for the user.
type notices struct {
	mu   sync.Mutex
	list []sdk.PluginNotice
}

func (n *notices) add(p sdk.PluginNotice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, p)
}

func (n *notices) all() []sdk.PluginNotice {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

// ledgerJSON returns entries as JSON without the one field that differs from run to run.
func ledgerJSON(t *testing.T, entries []hooks.Entry) string {
	t.Helper()
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].DurationUS = 0
	}
	return toJSON(t, entries)
}

// valueJSON returns a value as JSON. Values that are kept unchanged keep their order of fields, except over a foreign carrier.
func (s *suite) valueJSON(t *testing.T, v any) string {
	t.Helper()
	text := toJSON(t, v)
	if !s.carrier.Foreign {
		return text
	}
	var loose any
	if err := jsontext.DecodeExact([]byte(text), &loose); err != nil {
		t.Fatal(err)
	}
	return toJSON(t, loose)
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

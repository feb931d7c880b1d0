package conformance_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// contestant is a plugin of an order test. Its hook replaces the first line of the system prompt by the value it got, as JSON, and the
// second by its own letter.
type contestant struct {
	letter        string
	priority      int
	before, after []string
}

// order: hooks of several plugins are called as priority, before and after, and configuration say, and each sees what its
// predecessors left. The plugins run, in turn, over the carrier and in this process.
func (s *suite) order() map[string]func(t *testing.T) {
	cases := map[string]struct {
		plugins []contestant
		want    string
		carried bool // has what a carrier must pass on
	}{
		"configuration":       {[]contestant{{letter: "a"}, {letter: "b"}, {letter: "c"}}, "abc", false},
		"priority":            {[]contestant{{letter: "a", priority: 5}, {letter: "b"}, {letter: "c", priority: -5}}, "cba", true},
		"before":              {[]contestant{{letter: "a"}, {letter: "b"}, {letter: "c", before: []string{"p1"}}}, "bca", true},
		"after":               {[]contestant{{letter: "a", after: []string{"p3"}}, {letter: "b"}, {letter: "c"}}, "bca", true},
		"priority over after": {[]contestant{{letter: "a", priority: -1, after: []string{"p2"}}, {letter: "b"}}, "ab", false},
		"unknown plugin":      {[]contestant{{letter: "a", after: []string{"absent"}}, {letter: "b", before: []string{"absent"}}}, "ab", false},
	}
	out := map[string]func(t *testing.T){}
	if !s.has(sdk.PointChatSystem) {
		return out
	}
	for name, c := range cases {
		if !c.carried && !s.yardstick() {
			continue
		}
		out[name] = func(t *testing.T) {
			var members []member
			for i, p := range c.plugins {
				carrier := s.carrier
				if i%2 == 1 {
					carrier = Builtin()
				}
				members = append(members, p.open(t, carrier))
			}
			called(t, members, c.want)
		}
	}
	out["two hooks of one plugin"] = s.twoHooks
	return out
}

// RunMixed runs plugins of all carriers in one engine: each sees what its predecessors left. In two rotations of their order, each follows
// its predecessor, and the first one the last one.
func RunMixed(t *testing.T, carriers ...Carrier) {
	t.Helper()
	for _, n := range []int{0, len(carriers) / 2} {
		rotated := slices.Concat(carriers[n:], carriers[:n])
		t.Run(rotated[0].Name+" first", func(t *testing.T) {
			t.Parallel()
			var members []member
			var want string
			for i, c := range rotated {
				letter := string(rune('a' + i))
				want += letter
				members = append(members, contestant{letter: letter}.open(t, c))
			}
			called(t, members, want)
		})
	}
}

func (c contestant) open(t *testing.T, carrier Carrier) member {
	t.Helper()
	d := sdk.HookDescription{
		Point: string(sdk.PointChatSystem), Reads: []string{""}, Writes: []string{""}, Priority: c.priority, Before: c.before, After: c.after,
	}
	script := conformance.Script{Value: "/system/0", Set: []sdk.Change{set("/system/1", string(jsontext.Quote(c.letter)))}}
	k := newCase(t, conformance.Options{Hooks: map[string]conformance.Script{string(sdk.PointChatSystem): script}}, d)
	return member{"p", open(t, carrier, k, sdktest.Options{}).Plugin()}
}

// called fires and checks the order, in the ledger and in what each plugin saw.
func called(t *testing.T, members []member, want string) {
	t.Helper()
	f := newFiring(t, members...)
	v := &sdk.ChatSystemValue{System: []string{"", ""}}
	if o := f.fire(sdk.PointChatSystem, chatInput(), v); o.Err != "" || len(f.told.all()) > 0 {
		t.Fatalf("outcome = %+v, notices %+v", o, f.told.all())
	}
	var order string
	for _, e := range f.ledger.Entries() {
		order += string('a' + e.Plugin[1] - '1')
	}
	if order != want {
		t.Errorf("plugins were called in the order %q, want %q", order, want)
	}
	// The first line holds the value that the last plugin saw, which holds the one before it, and so on.
	var seen string
	for v.System[1] != "" {
		seen = v.System[1] + seen
		var before sdk.ChatSystemValue
		if err := json.Unmarshal([]byte(v.System[0]), &before); err != nil || len(before.System) != 2 {
			t.Fatalf("line %q: %v", v.System[0], err)
		}
		v = &before
	}
	if seen != want {
		t.Errorf("the value went through %q, want %q", seen, want)
	}
}

// twoHooks: the hooks of one plugin at one point are called by priority, each with its own fields.
func (s *suite) twoHooks(t *testing.T) {
	first, again := conformance.Script{Set: []sdk.Change{set("/system/0", `"late"`)}}, conformance.Script{Set: []sdk.Change{set("/system/0", `"early"`), set("/system/1", `"mine"`)}}
	point := string(sdk.PointChatSystem)
	k := newCase(t, conformance.Options{Hooks: map[string]conformance.Script{point: first, conformance.Again: again}},
		sdk.HookDescription{Point: point, Reads: []string{""}, Writes: []string{"/system/0"}},
		sdk.HookDescription{Point: point, Name: conformance.Again, Reads: []string{""}, Writes: []string{""}, Priority: -1})
	ledgers := [2]string{}
	for i, c := range []Carrier{Builtin(), s.carrier} {
		f := newFiring(t, member{c.Name, open(t, c, k, sdktest.Options{}).Plugin()})
		v := &sdk.ChatSystemValue{System: []string{"", ""}}
		f.fire(sdk.PointChatSystem, chatInput(), v)
		if diff := cmp.Diff([]string{"late", "mine"}, v.System); diff != "" {
			t.Errorf("%s: system (-want +got):\n%s", c.Name, diff)
		}
		ledgers[i] = ledgerJSON(t, f.ledger.Entries())
	}
	if diff := cmp.Diff(ledgers[0], ledgers[1]); diff != "" {
		t.Errorf("ledger (-in this process +over %s):\n%s", s.carrier.Name, diff)
	}
}

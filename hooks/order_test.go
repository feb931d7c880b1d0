package hooks_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

func TestOrder(t *testing.T) {
	t.Parallel()
	hook := func(line string, set func(*sdk.Hook)) hooks.Plugin {
		h := appends(line)
		if set != nil {
			set(&h)
		}
		return plugin(line, h)
	}
	before := func(names ...string) func(*sdk.Hook) { return func(h *sdk.Hook) { h.Before = names } }
	after := func(names ...string) func(*sdk.Hook) { return func(h *sdk.Hook) { h.After = names } }
	priority := func(p int) func(*sdk.Hook) { return func(h *sdk.Hook) { h.Priority = p } }
	five := 5
	cases := map[string]struct {
		plugins   []hooks.Plugin
		overrides map[string]sdk.HookOverride
		want      []string
	}{
		"configuration":            {[]hooks.Plugin{hook("c", nil), hook("a", nil), hook("b", nil)}, nil, []string{"c", "a", "b"}},
		"priority":                 {[]hooks.Plugin{hook("a", priority(1)), hook("b", nil), hook("c", priority(-1)), hook("d", nil)}, nil, []string{"c", "b", "d", "a"}},
		"before":                   {[]hooks.Plugin{hook("a", nil), hook("b", nil), hook("c", before("a"))}, nil, []string{"b", "c", "a"}},
		"after":                    {[]hooks.Plugin{hook("a", after("c")), hook("b", nil), hook("c", nil)}, nil, []string{"b", "c", "a"}},
		"chain":                    {[]hooks.Plugin{hook("a", after("b")), hook("b", after("c")), hook("c", nil), hook("d", before("c"))}, nil, []string{"d", "c", "b", "a"}},
		"unknown names":            {[]hooks.Plugin{hook("a", after("missing")), hook("b", before("missing"))}, nil, []string{"a", "b"}},
		"priority goes first":      {[]hooks.Plugin{hook("a", priority(-1)), hook("b", before("a"))}, nil, []string{"a", "b"}},
		"user's priority":          {[]hooks.Plugin{hook("a", nil), hook("b", nil)}, map[string]sdk.HookOverride{"a": {Priority: &five}}, []string{"b", "a"}},
		"user's switch":            {[]hooks.Plugin{hook("a", nil), hook("b", nil)}, map[string]sdk.HookOverride{"a": {Disable: true}}, []string{"b"}},
		"override of unknown hook": {[]hooks.Plugin{hook("a", nil)}, map[string]sdk.HookOverride{"b": {Disable: true}}, []string{"a"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, _ := start(t, hooks.Options{Plugins: c.plugins, Overrides: c.overrides})
			got, err := fire(t, e, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			var listed []string
			for i, info := range e.Order() {
				if info.Position != i+1 {
					t.Errorf("%s is at position %d, want %d", info.Plugin, info.Position, i+1)
				}
				listed = append(listed, info.Plugin)
			}
			if diff := cmp.Diff(c.want, listed); diff != "" {
				t.Errorf("Order (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOrderDescribes(t *testing.T) {
	t.Parallel()
	h := appends("x")
	h.Name, h.Reads, h.Writes, h.Timeout, h.Point = "mine", []string{"/system"}, []string{"/system/0"}, time.Second, "experimental.chat.system.transform"
	e, _ := start(t, hooks.Options{
		Plugins:     []hooks.Plugin{plugin("p", gate(sdk.VerdictAllow, ""), h)},
		Overrides:   map[string]sdk.HookOverride{"p": {Timeout: 300, OnError: sdk.OnErrorDeny}},
		Quarantined: map[string]string{"p": "it crashed"},
	})
	want := []hooks.HookInfo{
		{
			Point: sdk.PointChatSystem, Position: 1, Plugin: "p", Version: "1", Carrier: sdk.CarrierBuiltin, Hook: "mine",
			Reads: []string{"/system"}, Writes: []string{"/system/0"}, Timeout: 300 * time.Millisecond,
			OnError: sdk.OnErrorSkip, Quarantined: "it crashed",
		},
		{
			Point: sdk.PointPermissionAsk, Position: 1, Plugin: "p", Version: "1", Carrier: sdk.CarrierBuiltin, Hook: "permission.ask",
			Reads: []string{""}, Writes: []string{""}, Timeout: 300 * time.Millisecond, OnError: sdk.OnErrorDeny, Quarantined: "it crashed",
		},
	}
	if diff := cmp.Diff(want, e.Order()); diff != "" {
		t.Errorf("Order (-want +got):\n%s", diff)
	}
	if !e.Has(sdk.PointChatSystem) || e.Has(sdk.PointChatParams) {
		t.Error("Has is wrong about what has hooks")
	}
}

// TestCycle checks that contradictory demands are reported and stop nothing: of hooks that wait for each other, the one that is configured first
// is called first.
func TestCycle(t *testing.T) {
	t.Parallel()
	hook := func(name string, before, after []string) hooks.Plugin {
		h := appends(name)
		h.Before, h.After = before, after
		return plugin(name, h)
	}
	for name, c := range map[string]struct {
		plugins []hooks.Plugin
		order   []string
		told    []string // plugins that are called first
	}{
		"of three": {
			[]hooks.Plugin{hook("z", nil, nil), hook("a", nil, []string{"b"}), hook("b", nil, []string{"c"}), hook("c", nil, []string{"a"})},
			[]string{"z", "a", "c", "b"}, []string{"a"},
		},
		"both before":     {[]hooks.Plugin{hook("a", []string{"b"}, nil), hook("b", []string{"a"}, nil)}, []string{"a", "b"}, []string{"a"}},
		"all of one":      {[]hooks.Plugin{hook("a", []string{"b"}, []string{"b"}), hook("b", nil, nil)}, []string{"a", "b"}, []string{"a"}},
		"two, not joined": {[]hooks.Plugin{hook("a", nil, []string{"b"}), hook("b", nil, []string{"a"}), hook("c", nil, []string{"d"}), hook("d", nil, []string{"c"})}, []string{"a", "b", "c", "d"}, []string{"a", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, told := engine(t, c.plugins...)
			order, err := fire(t, e, nil)
			if diff := cmp.Diff(c.order, order); err != nil || diff != "" {
				t.Errorf("order: %v (-want +got):\n%s", err, diff)
			}
			var first []string
			for _, n := range told.all() {
				first = append(first, n.Plugin)
				if !strings.Contains(n.Message, "contradictory before and after") {
					t.Errorf("notice %q does not say what is wrong", n.Message)
				}
			}
			if diff := cmp.Diff(c.told, first); diff != "" {
				t.Errorf("called first (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	with := func(set func(*sdk.Hook)) []hooks.Plugin {
		h := appends("x")
		set(&h)
		return []hooks.Plugin{plugin("p", h)}
	}
	cycle := func(name, after string) hooks.Plugin {
		h := appends(name)
		h.After = []string{after}
		return plugin(name, h)
	}
	required := func(p hooks.Plugin) hooks.Plugin {
		p.Required = true
		return p
	}
	event := sdk.OnEvent(func(context.Context, *sdk.Event) error { return nil })
	event.OnError = sdk.OnErrorStop
	cases := map[string]struct {
		plugins   []hooks.Plugin
		overrides map[string]sdk.HookOverride
		want      []string
	}{
		"no name":               {[]hooks.Plugin{plugin("")}, nil, []string{"without a name"}},
		"listed twice":          {[]hooks.Plugin{plugin("p"), plugin("p")}, nil, []string{`duplicate plugin "p"`}},
		"unknown point":         {with(func(h *sdk.Hook) { h.Point = "chat.nonsense" }), nil, []string{`"p": hook 1`, `unknown point "chat.nonsense"`}},
		"no handler":            {with(func(h *sdk.Hook) { h.Handler = nil }), nil, []string{"chat.system.transform", "exactly one of Handler and Remote"}},
		"two handlers":          {with(func(h *sdk.Hook) { h.Remote = remoteFunc(nil) }), nil, []string{"exactly one of Handler and Remote"}},
		"long timeout":          {with(func(h *sdk.Hook) { h.Timeout = 2 * sdk.MaxHookTimeout }), nil, []string{"timeout 2m0s"}},
		"negative timeout":      {with(func(h *sdk.Hook) { h.Timeout = -1 }), nil, []string{"timeout -1ns"}},
		"transform that denies": {with(func(h *sdk.Hook) { h.OnError = sdk.OnErrorDeny }), nil, []string{`onError "deny" does not fit`}},
		"unknown policy":        {with(func(h *sdk.Hook) { h.OnError = "panic" }), nil, []string{`unknown onError "panic"`}},
		"observer that stops":   {[]hooks.Plugin{plugin("p", event)}, nil, []string{`onError "stop" does not fit`}},
		"bad field":             {with(func(h *sdk.Hook) { h.Writes = []string{"system"} }), nil, []string{`"system" is not a JSON pointer`}},
		"two of one name":       {[]hooks.Plugin{plugin("p", appends("a"), appends("b"))}, nil, []string{"two hooks named chat.system.transform"}},
		"itself":                {with(func(h *sdk.Hook) { h.Before = []string{"p"} }), nil, []string{"its own plugin"}},
		"cycle of what must be": {[]hooks.Plugin{required(cycle("a", "b")), required(cycle("b", "a"))}, nil, []string{"plugin a", "contradictory before and after among the plugins a, b"}},
		"override's timeout":    {with(func(*sdk.Hook) {}), map[string]sdk.HookOverride{"p": {Timeout: 90000}}, []string{`plugin "p": timeout 90000`}},
		"override's policy":     {with(func(*sdk.Hook) {}), map[string]sdk.HookOverride{"p": {OnError: "x"}}, []string{`unknown onError "x"`}},
		"override fits nothing": {with(func(*sdk.Hook) {}), map[string]sdk.HookOverride{"p": {OnError: sdk.OnErrorDeny}}, []string{"does not fit any of its hooks"}},
		"all at once":           {[]hooks.Plugin{plugin("p", sdk.Hook{Point: "a"}, sdk.Hook{Point: "b"}), plugin("p")}, nil, []string{`"a"`, `"b"`, "duplicate plugin"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := hooks.New(hooks.Options{Plugins: c.plugins, Overrides: c.overrides, Logger: slog.New(slog.DiscardHandler)})
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("New = %v, want an error with %q", err, want)
				}
			}
		})
	}
}

type remoteFunc func(ctx context.Context, call *sdk.RemoteCall) (sdk.Answer, error)

func (f remoteFunc) HandleRemote(ctx context.Context, call *sdk.RemoteCall) (sdk.Answer, error) {
	return f(ctx, call)
}

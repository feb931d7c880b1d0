package hooks_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

func TestEachHookSeesItsPredecessors(t *testing.T) {
	t.Parallel()
	e, _ := engine(t, plugin("a", appends("one")), plugin("b", system(func(_ context.Context, v *sdk.ChatSystemValue) error {
		v.System[0] = strings.ToUpper(v.System[0])
		return nil
	})), plugin("c", appends("two")))
	var l hooks.Ledger
	got, err := fire(t, e, &l)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ONE", "two"}, got); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])[:16]
	}
	entry := func(plugin string, c hooks.EntryChange) hooks.Entry {
		return hooks.Entry{
			Firing: 1, Point: sdk.PointChatSystem, Plugin: plugin, Version: "1", Hook: "chat.system.transform",
			Outcome: hooks.OutcomeChanged, Changes: []hooks.EntryChange{c},
		}
	}
	want := []hooks.Entry{
		entry("a", hooks.EntryChange{Pointer: "/system/0", New: hash(`"one"`)}),
		entry("b", hooks.EntryChange{Pointer: "/system/0", Old: hash(`"one"`), New: hash(`"ONE"`)}),
		entry("c", hooks.EntryChange{Pointer: "/system/1", New: hash(`"two"`)}),
	}
	if diff := cmp.Diff(want, l.Entries(), cmpopts.IgnoreFields(hooks.Entry{}, "DurationUS")); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

func TestNoHooksNoWork(t *testing.T) {
	e, _ := engine(t, plugin("a", appends("x")))
	in, v := &sdk.ChatInput{}, &sdk.ChatParams{}
	request, event := &sdk.PermissionRequest{}, &sdk.Event{}
	ctx := t.Context()
	allocs := testing.AllocsPerRun(100, func() {
		_, errT := e.Transform(ctx, sdk.PointChatParams, hooks.Scope{}, in, v)
		_, errG := e.Gate(ctx, sdk.PointPermissionAsk, hooks.Scope{}, request)
		e.Observe(sdk.PointEvent, event)
		if errT != nil || errG != nil {
			t.Fatal(errT, errG)
		}
	})
	if allocs != 0 {
		t.Errorf("points without hooks allocate %v times", allocs)
	}
}

// TestTheValueBelongsToTheCaller checks that a hook cannot reach the value, before or after it has
// returned, and that data which the caller's value shares with others does not change.
func TestTheValueBelongsToTheCaller(t *testing.T) {
	t.Parallel()
	var kept *sdk.ChatMessagesValue
	e, _ := engine(t, plugin("a", sdk.OnChatMessages(func(_ context.Context, _ *sdk.ChatInput, v *sdk.ChatMessagesValue) error {
		kept = v
		v.Messages[0].Parts[0].(*sdk.TextPart).Text = "changed"
		return nil
	})))
	stored := &sdk.TextPart{PartHead: sdk.PartHead{ID: "p"}, Text: "stored"}
	v := &sdk.ChatMessagesValue{Messages: []sdk.MessageWithParts{{Info: &sdk.UserMessage{}, Parts: sdk.Parts{stored}}}}
	if _, err := e.Transform(t.Context(), sdk.PointChatMessages, hooks.Scope{}, &sdk.ChatInput{}, v); err != nil {
		t.Fatal(err)
	}
	kept.Messages[0].Parts[0].(*sdk.TextPart).Text = "too late"
	if got := v.Messages[0].Parts[0].(*sdk.TextPart).Text; got != "changed" {
		t.Errorf("text = %q, want %q", got, "changed")
	}
	if stored.Text != "stored" {
		t.Errorf("the stored part was changed to %q", stored.Text)
	}
}

func TestWrites(t *testing.T) {
	t.Parallel()
	half := 0.5
	cases := map[string]struct {
		writes  []string
		before  sdk.ChatParams
		change  func(*sdk.ChatParams)
		want    string
		changed []string
		dropped []string
	}{
		"all":         {[]string{""}, sdk.ChatParams{}, func(v *sdk.ChatParams) { v.Temperature = &half }, `{"temperature":0.5,"options":null}`, []string{"/temperature"}, nil},
		"none":        {nil, sdk.ChatParams{}, func(v *sdk.ChatParams) { v.Temperature = &half }, `{"options":null}`, nil, []string{"/temperature"}},
		"one of two":  {[]string{"/topP"}, sdk.ChatParams{}, func(v *sdk.ChatParams) { v.Temperature, v.TopP = &half, &half }, `{"topP":0.5,"options":null}`, []string{"/topP"}, []string{"/temperature"}},
		"an object":   {[]string{"/options"}, sdk.ChatParams{}, func(v *sdk.ChatParams) { v.Options = sdk.Object{"a": 1} }, `{"options":{"a":1}}`, []string{"/options"}, nil},
		"in a new":    {[]string{"/options/a"}, sdk.ChatParams{}, func(v *sdk.ChatParams) { v.Options = sdk.Object{"a": 1, "b": 2} }, `{"options":{"a":1}}`, []string{"/options/a"}, []string{"/options/b"}},
		"in an old":   {[]string{"/options/*/x"}, sdk.ChatParams{Options: sdk.Object{"a": map[string]any{"x": 1.0}}}, func(v *sdk.ChatParams) { v.Options["a"] = map[string]any{"x": 2.0, "y": 2.0} }, `{"options":{"a":{"x":2}}}`, []string{"/options/a/x"}, []string{"/options/a/y"}},
		"a removal":   {[]string{"/options/a"}, sdk.ChatParams{Options: sdk.Object{"a": 1.0, "b": 2.0}}, func(v *sdk.ChatParams) { v.Options = nil }, `{"options":{"a":1,"b":2}}`, nil, []string{"/options"}},
		"two":         {nil, sdk.ChatParams{}, func(v *sdk.ChatParams) { v.Temperature, v.TopP = &half, &half }, `{"options":null}`, nil, []string{"/temperature", "/topP"}},
		"escaped key": {[]string{"/options/a~1b"}, sdk.ChatParams{}, func(v *sdk.ChatParams) { v.Options = sdk.Object{"a/b": 1} }, `{"options":{"a/b":1}}`, []string{"/options/a~1b"}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := sdk.OnChatParams(func(_ context.Context, _ *sdk.ChatInput, v *sdk.ChatParams) error { c.change(v); return nil })
			h.Writes = c.writes
			e, told := engine(t, plugin("a", h))
			var l hooks.Ledger
			if _, err := e.Transform(t.Context(), sdk.PointChatParams, hooks.Scope{Ledger: &l}, &sdk.ChatInput{}, &c.before); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Transform(t.Context(), sdk.PointChatParams, hooks.Scope{}, &sdk.ChatInput{}, &sdk.ChatParams{Options: c.before.Options}); err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(c.before)
			if err != nil || string(raw) != c.want {
				t.Errorf("value = %s, %v, want %s", raw, err, c.want)
			}
			entry := l.Entries()[0]
			var changed []string
			for _, change := range entry.Changes {
				changed = append(changed, change.Pointer)
			}
			if diff := cmp.Diff(c.changed, changed); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.dropped, entry.Dropped); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
			notices := told.all()
			if len(notices) != min(len(c.dropped), 1) {
				t.Errorf("%d notices of %d dropped changes, want one for all", len(notices), len(c.dropped))
			}
			for _, n := range notices {
				if !strings.HasSuffix(n.Message, " "+strings.Join(c.dropped, ", ")) {
					t.Errorf("notice %q, want the fields %q", n.Message, c.dropped)
				}
			}
		})
	}
}

// A notice about a dropped change names the value if it is the whole one, whose pointer is empty.
func TestWritesWhole(t *testing.T) {
	t.Parallel()
	h := remotely(onArgs(nil), sdk.Change{Value: json.RawMessage(`{"args":{"a":1}}`)})
	h.Writes = []string{"/args/b"}
	e, told := engine(t, plugin("p", h))
	v := &sdk.ToolBeforeValue{}
	if _, err := e.Transform(t.Context(), sdk.PointToolBefore, hooks.Scope{}, &sdk.ToolInput{}, v); err != nil || v.Args != nil {
		t.Errorf("Transform = %v, value %v", err, v)
	}
	if list := told.all(); len(list) != 1 || !strings.HasSuffix(list[0].Message, " the whole value") {
		t.Errorf("notices %+v", list)
	}
}

// TestFailures checks the failure policy of transforms for everything a handler can do wrong.
func TestFailures(t *testing.T) {
	t.Parallel()
	failures := map[string]struct {
		hook    sdk.Hook
		outcome string
		cause   error
	}{
		"error": {system(func(context.Context, *sdk.ChatSystemValue) error { return errors.New("no luck") }), "error", nil},
		"panic": {system(func(context.Context, *sdk.ChatSystemValue) error { panic("boom") }), "error", hooks.ErrPanic},
		"nil dereference": {system(func(_ context.Context, v *sdk.ChatSystemValue) error {
			var p *sdk.ChatSystemValue
			v.System = p.System
			return nil
		}), "error", hooks.ErrPanic},
		"ends its goroutine": {system(func(context.Context, *sdk.ChatSystemValue) error { runtime.Goexit(); return nil }), "error", hooks.ErrPanic},
		"a refusal here":     {system(func(context.Context, *sdk.ChatSystemValue) error { return sdk.Deny("no") }), "error", hooks.ErrAnswer},
		"a cycle": {toolHook(func(v *sdk.ToolBeforeValue) error {
			loop := map[string]any{}
			loop["self"] = loop
			v.Args = loop
			return nil
		}), "error", hooks.ErrAnswer},
		"no JSON":           {toolHook(func(v *sdk.ToolBeforeValue) error { v.Args = sdk.Object{"f": func() {}}; return nil }), "error", sdk.ErrWire},
		"changes in answer": {customHook(sdk.Answer{Changes: []sdk.Change{{Pointer: "/system/0", Value: json.RawMessage(`"x"`)}}}), "error", hooks.ErrAnswer},
		"unknown verdict":   {customHook(sdk.Answer{Verdict: "perhaps"}), "error", hooks.ErrAnswer},
	}
	for name, f := range failures {
		for _, policy := range []sdk.OnError{sdk.OnErrorDefault, sdk.OnErrorSkip, sdk.OnErrorStop} {
			t.Run(name+" "+string(policy), func(t *testing.T) {
				t.Parallel()
				hook := f.hook
				hook.OnError = policy
				e, told := engine(t, plugin("bad", hook), plugin("good", appends("x"), toolHook(func(v *sdk.ToolBeforeValue) error {
					v.Args = sdk.Object{"x": 1}
					return nil
				})))
				var l hooks.Ledger
				reached, err := fireAt(t, e, f.hook.Point, &l)
				if entry := l.Entries()[0]; string(entry.Outcome) != f.outcome || entry.Error == "" || entry.Plugin != "bad" {
					t.Errorf("entry = %+v, want outcome %s with an error", entry, f.outcome)
				}
				list := told.all()
				if len(list) != 1 || list[0].Plugin != "bad" || list[0].Hook != string(f.hook.Point) || list[0].Message == "" {
					t.Errorf("notices = %+v, want one that names plugin and hook", list)
				}
				if policy == sdk.OnErrorStop {
					var stopped *hooks.Error
					if !errors.As(err, &stopped) || stopped.Plugin != "bad" || f.cause != nil && !errors.Is(err, f.cause) {
						t.Errorf("error = %v, want one of the plugin that wraps %v", err, f.cause)
					}
					if reached {
						t.Error("a later hook was called")
					}
					return
				}
				if err != nil || !reached {
					t.Errorf("error = %v, the next hook was called: %v, want the bad one skipped", err, reached)
				}
			})
		}
	}
}

// fireAt fires a point that has a hook named good after the one under test.
func fireAt(t *testing.T, e *hooks.Engine, p sdk.Point, l *hooks.Ledger) (reached bool, err error) {
	t.Helper()
	if p == sdk.PointChatSystem {
		lines, err := fire(t, e, l)
		return len(lines) == 1 && lines[0] == "x", err
	}
	v := &sdk.ToolBeforeValue{}
	_, err = e.Transform(t.Context(), p, hooks.Scope{Ledger: l}, &sdk.ToolInput{}, v)
	return cmp.Equal(v.Args, sdk.Object{"x": 1.0}), err
}

func toolHook(f func(*sdk.ToolBeforeValue) error) sdk.Hook {
	return sdk.OnToolBefore(func(_ context.Context, _ *sdk.ToolInput, v *sdk.ToolBeforeValue) error { return f(v) })
}

type handlerFunc func(ctx context.Context, call *sdk.HookCall) (sdk.Answer, error)

func (f handlerFunc) Handle(ctx context.Context, call *sdk.HookCall) (sdk.Answer, error) {
	return f(ctx, call)
}

// customHook answers without the help of the sdk.
func customHook(a sdk.Answer) sdk.Hook {
	h := appends("")
	h.Handler = handlerFunc(func(context.Context, *sdk.HookCall) (sdk.Answer, error) { return a, nil })
	return h
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	timeouts := map[string]struct {
		manifest time.Duration
		override int64
		want     time.Duration
	}{
		"default":  {0, 0, sdk.DefaultHookTimeout},
		"manifest": {5 * time.Second, 0, 5 * time.Second},
		"override": {5 * time.Second, 700, 700 * time.Millisecond},
	}
	for name, c := range timeouts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stuck := hang(t)
				var late atomic.Bool
				h := system(func(ctx context.Context, v *sdk.ChatSystemValue) error {
					v.System = append(v.System, "before the deadline")
					<-stuck.release
					v.System = append(v.System, "after it")
					late.Store(true)
					return nil
				})
				h.Timeout = c.manifest
				e, told := start(t, hooks.Options{
					Plugins:   []hooks.Plugin{plugin("a", appends("a")), plugin("slow", h), plugin("z", appends("z"))},
					Overrides: map[string]sdk.HookOverride{"slow": {Timeout: c.override}},
				})
				var l hooks.Ledger
				begin := time.Now()
				got, err := fire(t, e, &l)
				if took := time.Since(begin); took != c.want {
					t.Errorf("the firing took %s, want %s", took, c.want)
				}
				stuck.free()
				synctest.Wait()
				if !late.Load() {
					t.Error("the handler never went on")
				}
				if diff := cmp.Diff([]string{"a", "z"}, got); diff != "" || err != nil {
					t.Errorf("value (-want +got):\n%s error %v", diff, err)
				}
				if diff := cmp.Diff([]string{"a changed", "slow timeout", "z changed"}, outcomes(&l)); diff != "" {
					t.Errorf("ledger (-want +got):\n%s", diff)
				}
				if us := l.Entries()[1].DurationUS; us != c.want.Microseconds() {
					t.Errorf("duration = %d µs, want %d", us, c.want.Microseconds())
				}
				if list := told.all(); len(list) != 1 || !strings.Contains(list[0].Message, "timed out after "+c.want.String()) {
					t.Errorf("notices = %+v", list)
				}
			})
		})
	}
}

// TestDeadlineOfEach checks that each hook has its own deadline, though they share a goroutine and a timer.
func TestDeadlineOfEach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sleeper := func(name string, d, timeout time.Duration) hooks.Plugin {
			h := system(func(ctx context.Context, v *sdk.ChatSystemValue) error {
				v.System = append(v.System, name)
				select {
				case <-time.After(d):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			h.Timeout = timeout
			return plugin(name, h)
		}
		e, _ := engine(t,
			sleeper("a", 1900*time.Millisecond, 0), sleeper("b", 1900*time.Millisecond, 0),
			sleeper("c", 300*time.Millisecond, 200*time.Millisecond), sleeper("d", 9*time.Second, 10*time.Second),
			sleeper("e", 2*time.Second, 0)) // exactly at the deadline is too late
		for range 2 {
			var l hooks.Ledger
			got, err := fire(t, e, &l)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"a", "b", "d"}, got); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			want := []string{"a changed", "b changed", "c timeout", "d changed", "e timeout"}
			if diff := cmp.Diff(want, outcomes(&l)); diff != "" {
				t.Errorf("ledger (-want +got):\n%s", diff)
			}
			time.Sleep(time.Minute) // the timer of the run fires with no call to abandon
		}
	})
}

func TestCallContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		parent := context.WithValue(t.Context(), key{}, "value")
		var kept context.Context
		h := system(func(ctx context.Context, _ *sdk.ChatSystemValue) error {
			kept = ctx
			if d, ok := ctx.Deadline(); !ok || time.Until(d) != 2*time.Second {
				t.Errorf("deadline in %s, %v, want 2s", time.Until(d), ok)
			}
			if ctx.Err() != nil || ctx.Value(key{}) != "value" {
				t.Errorf("Err = %v, Value = %v", ctx.Err(), ctx.Value(key{}))
			}
			inner, cancel := context.WithCancel(ctx)
			cancel()
			if inner.Err() == nil || ctx.Err() != nil || inner.Value(key{}) != "value" {
				t.Errorf("after cancelling an inner context: inner %v, outer %v", inner.Err(), ctx.Err())
			}
			return nil
		})
		e, _ := engine(t, plugin("a", h))
		if _, err := e.Transform(parent, sdk.PointChatSystem, hooks.Scope{}, &sdk.ChatInput{}, &sdk.ChatSystemValue{}); err != nil {
			t.Fatal(err)
		}
		if kept.Err() == nil {
			t.Error("the context outlives the call")
		}
		<-kept.Done()
	})
}

func TestCallerGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := hang(t)
		e, told := engine(t, plugin("a", appends("a")), plugin("stuck", system(func(context.Context, *sdk.ChatSystemValue) error {
			<-stuck.release
			return nil
		})), plugin("z", appends("z")))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		begin := time.Now()
		var l hooks.Ledger
		v := &sdk.ChatSystemValue{System: []string{}}
		_, err := e.Transform(ctx, sdk.PointChatSystem, hooks.Scope{Ledger: &l}, &sdk.ChatInput{}, v)
		if took := time.Since(begin); !errors.Is(err, context.Canceled) || took != time.Second {
			t.Errorf("Transform = %v after %s, want context.Canceled after 1s", err, took)
		}
		if diff := cmp.Diff([]string{"a changed", "stuck aborted"}, outcomes(&l)); diff != "" {
			t.Errorf("ledger (-want +got):\n%s", diff)
		}
		if len(told.all()) > 0 || len(e.Quarantined()) > 0 {
			t.Error("the plugin was blamed")
		}
		stuck.free()
	})
}

func TestCallerGaveUpBefore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e, _ := engine(t, plugin("a", system(func(context.Context, *sdk.ChatSystemValue) error {
		t.Error("the hook was called")
		return nil
	})))
	_, err := e.Transform(ctx, sdk.PointChatSystem, hooks.Scope{}, &sdk.ChatInput{}, &sdk.ChatSystemValue{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Transform = %v, want context.Canceled", err)
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		err  error
		want hooks.Result
	}{
		"deny": {sdk.Deny("not here"), hooks.Result{Verdict: sdk.VerdictDeny, Reason: "not here", Plugin: "guard"}},
		"halt": {sdk.Halt("enough"), hooks.Result{Verdict: sdk.VerdictHalt, Reason: "enough", Plugin: "guard"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, told := engine(t, plugin("first", toolHook(func(v *sdk.ToolBeforeValue) error { v.Args = sdk.Object{"a": 1}; return nil })),
				plugin("guard", toolHook(func(v *sdk.ToolBeforeValue) error { v.Args = sdk.Object{"a": 2}; return c.err })),
				plugin("later", toolHook(func(*sdk.ToolBeforeValue) error { t.Error("a later hook was called"); return nil })))
			var l hooks.Ledger
			v := &sdk.ToolBeforeValue{}
			got, err := e.Transform(t.Context(), sdk.PointToolBefore, hooks.Scope{Ledger: &l, Subject: "call_1"}, &sdk.ToolInput{}, v)
			if err != nil || got != c.want {
				t.Errorf("Transform = %+v, %v, want %+v", got, err, c.want)
			}
			if diff := cmp.Diff(sdk.Object{"a": 1.0}, v.Args); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			if entry := l.Entries()[1]; entry.Verdict != c.want.Verdict || entry.Reason != c.want.Reason || entry.Subject != "call_1" {
				t.Errorf("entry = %+v", entry)
			}
			if len(told.all()) > 0 {
				t.Error("a refusal counts as a failure")
			}
		})
	}
}

// TestFailedGuardMayDeny checks that a hook that may refuse can ask for its failure to be a refusal.
func TestFailedGuardMayDeny(t *testing.T) {
	t.Parallel()
	h := toolHook(func(*sdk.ToolBeforeValue) error { return errors.New("no rules") })
	h.OnError = sdk.OnErrorDeny
	e, _ := engine(t, plugin("guard", h))
	got, err := e.Transform(t.Context(), sdk.PointToolBefore, hooks.Scope{}, &sdk.ToolInput{}, &sdk.ToolBeforeValue{})
	want := hooks.Result{Verdict: sdk.VerdictDeny, Reason: "plugin guard: hook tool.execute.before: no rules", Plugin: "guard"}
	if err != nil || got != want {
		t.Errorf("Transform = %+v, %v, want %+v", got, err, want)
	}
}

func TestPanicIsLoggedWithItsStack(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	e, _ := start(t, hooks.Options{Logger: log, Plugins: []hooks.Plugin{plugin("bad", system(func(context.Context, *sdk.ChatSystemValue) error {
		panic("boom")
	}))}})
	if _, err := fire(t, e, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"plugin=bad", "boom", "transform_test.go"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("log has no %q:\n%s", want, out.String())
		}
	}
}

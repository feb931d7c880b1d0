package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk"
)

// flaky is a hook that fails while broken is set.
func flaky(broken *atomic.Bool) sdk.Hook {
	return system(func(_ context.Context, v *sdk.ChatSystemValue) error {
		if broken.Load() {
			return errors.New("no luck")
		}
		v.System = append(v.System, "fine")
		return nil
	})
}

func TestThreeFailuresQuarantine(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	var remembered []string
	e, told := start(t, hooks.Options{
		Plugins:    []hooks.Plugin{plugin("bad", flaky(&broken)), plugin("good", appends("x"))},
		Quarantine: func(plugin, reason string) { remembered = append(remembered, plugin+": "+reason) },
	})
	var l hooks.Ledger
	for range 5 {
		if got, err := fire(t, e, &l); err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
	}
	var got []string
	for _, o := range outcomes(&l) {
		if strings.HasPrefix(o, "bad") {
			got = append(got, o)
		}
	}
	if diff := cmp.Diff([]string{"bad error", "bad error", "bad error", "bad skipped", "bad skipped"}, got); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	want := map[string]string{"bad": "3 failures in a row, the last: no luck"}
	if diff := cmp.Diff(want, e.Quarantined()); diff != "" {
		t.Errorf("Quarantined (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"bad: " + want["bad"]}, remembered); diff != "" {
		t.Errorf("told to remember (-want +got):\n%s", diff)
	}
	list := told.all()
	if len(list) != 4 {
		t.Fatalf("%d notices, want 3 failures and 1 quarantine: %+v", len(list), list)
	}
	for i, n := range list {
		if n.Quarantined != (i == 3) {
			t.Errorf("notice %d: quarantined %v", i, n.Quarantined)
		}
	}
	if !strings.Contains(list[3].Message, "tenon plugin enable bad") {
		t.Errorf("the notice %q has no remedy", list[3].Message)
	}

	broken.Store(false)
	if got, err := fire(t, e, nil); err != nil || len(got) != 1 {
		t.Errorf("quarantined: %v, %v, want that the hook is not called, even if it would work", got, err)
	}
}

// warming is a remote hook that hangs until its call is over, and is not ready for as long as it says so.
type warming struct {
	cold  atomic.Bool
	calls atomic.Int32
}

func (w *warming) HandleRemote(ctx context.Context, _ *sdk.RemoteCall) (sdk.Answer, error) {
	w.calls.Add(1)
	<-ctx.Done()
	return sdk.Answer{}, ctx.Err()
}

func (w *warming) Ready() (began time.Time, err error) {
	if w.cold.Load() {
		err = fmt.Errorf("%w: it warms up", hooks.ErrNotCalled)
	}
	return began, err
}

// starting is a remote hook whose process does not start.
type starting struct {
	warming
	began time.Time // of the start
}

func (s *starting) Ready() (began time.Time, err error) { return s.began, errors.New("no handshake") }

// A hook whose process does not start says so. The timeouts during one start are one failure, with one notice.
func TestTimeoutDuringStart(t *testing.T) {
	t.Parallel()
	process := &starting{}
	hangs := sdk.Hook{Point: sdk.PointChatSystem, Name: "hangs", Reads: []string{""}, Writes: []string{""}, Timeout: time.Millisecond, Remote: process}
	e, told := engine(t, plugin("slow", hangs))
	for start := 1; start <= 3; start++ {
		process.began = time.Now()
		for range 3 {
			if _, err := fire(t, e, &hooks.Ledger{}); err != nil {
				t.Fatal(err)
			}
		}
		all := told.all()
		if !strings.Contains(all[0].Message, "timed out after 1ms: no handshake") || len(all) != start+start/3 || all[len(all)-1].Quarantined != (start == 3) {
			t.Errorf("start %d: told %+v", start, all)
		}
	}
}

// crashing is a remote hook whose process ends a second after each call.
type crashing struct{ warming }

func (*crashing) HandleRemote(context.Context, *sdk.RemoteCall) (sdk.Answer, error) {
	<-time.After(time.Second)
	return sdk.Answer{}, errors.New("exit status 1")
}

// Calls that fail together are one failure, whether they wait for a start or for an answer that tenon could not receive while it was suspended,
// or their process ends. A module that is still compiling is not to blame, which each notice says once.
func TestFailuresAtOneTime(t *testing.T) {
	t.Parallel()
	compiling := &warming{}
	compiling.cold.Store(true)
	for name, c := range map[string]struct {
		remote sdk.RemoteHandler
		counts bool
	}{"process": {&starting{began: time.Now().AddDate(1000, 0, 0)}, true}, "module": {compiling, false}, "late answer": {&warming{}, true}, "crash": {&crashing{}, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				hangs := sdk.Hook{Point: sdk.PointChatSystem, Reads: []string{""}, Timeout: 2 * time.Second, Remote: c.remote}
				e, told := engine(t, plugin("slow", hangs))
				for round := 1; round <= 3; round++ {
					var calls sync.WaitGroup
					for range 3 {
						calls.Go(func() {
							if _, err := fire(t, e, nil); err != nil {
								t.Error(err)
							}
						})
					}
					calls.Wait()
					if got, want := len(e.Quarantined()) > 0, c.counts && round == 3; got != want {
						t.Errorf("quarantined after round %d: %t; %+v", round, got, told.all())
					}
				}
				for _, n := range told.all() {
					if strings.Count(n.Message, hooks.ErrNotCalled.Error()) > 1 {
						t.Errorf("notice %q", n.Message)
					}
				}
			})
		})
	}
}

// A hook that always hangs is quarantined although another one of its plugin fails now and then during each of its calls.
func TestHangsWhileAnotherFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := system(func(ctx context.Context, _ *sdk.ChatSystemValue) error { <-ctx.Done(); return ctx.Err() })
		hangs.Timeout = 10 * time.Second
		n := 0
		flips := sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) {
			if n++; n%2 == 0 {
				return sdk.Decision{}, errors.New("no luck")
			}
			return sdk.Decision{}, nil
		})
		e, told := engine(t, plugin("bad", hangs, flips))
		for range 3 {
			var call sync.WaitGroup
			call.Go(func() {
				if _, err := fire(t, e, nil); err != nil {
					t.Error(err)
				}
			})
			for range 3 {
				<-time.After(3 * time.Second)
				if _, err := e.Gate(t.Context(), sdk.PointPermissionAsk, hooks.Scope{}, &sdk.PermissionRequest{}); err != nil {
					t.Error(err)
				}
			}
			call.Wait()
		}
		if got := e.Quarantined()["bad"]; !strings.Contains(got, "3 failures in a row, the last: timed out after 10s") {
			t.Errorf("quarantined: %q; told %+v", got, told.all())
		}
	})
}

// A hook that is not ready yet fails as its policy says, with one notice, and is called again until it is ready. Its other failures count.
func TestNotReadyIsNoFailure(t *testing.T) {
	t.Parallel()
	var cold, broken atomic.Bool
	says := system(func(context.Context, *sdk.ChatSystemValue) error {
		switch {
		case cold.Load():
			return fmt.Errorf("%w: it warms up", hooks.ErrNotCalled)
		case broken.Load():
			return errors.New("no luck")
		}
		return nil
	})
	remote := &warming{}
	hangs := sdk.Hook{Point: sdk.PointChatSystem, Name: "hangs", Reads: []string{""}, Writes: []string{""}, Timeout: time.Millisecond, Remote: remote}
	for name, c := range map[string]struct {
		hook    sdk.Hook
		cold    *atomic.Bool
		outcome string
	}{
		"it says so":         {says, &cold, "slow error"},
		"it is asked, later": {hangs, &remote.cold, "slow timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken.Store(true)
			c.cold.Store(true)
			e, told := engine(t, plugin("slow", c.hook))
			var l hooks.Ledger
			times := func(n int) {
				for range n {
					if _, err := fire(t, e, &l); err != nil {
						t.Fatal(err)
					}
				}
			}
			times(2)
			c.cold.Store(false)
			times(2)
			c.cold.Store(true)
			times(3)
			if got := e.Quarantined(); len(got) > 0 {
				t.Errorf("quarantined: %v", got)
			}
			if list := told.all(); len(list) != 3 || !strings.Contains(list[0].Message, "not called: it warms up") {
				t.Errorf("notices %+v", list)
			}
			c.cold.Store(false)
			times(1)
			if got := e.Quarantined(); len(got) != 1 {
				t.Errorf("quarantined: %v, want it: that was the third failure", got)
			}
			for i, got := range outcomes(&l) {
				if got != c.outcome {
					t.Errorf("call %d: %s, want %s", i, got, c.outcome)
				}
			}
		})
	}
}

// narrow is a remote hook that cannot receive the input of sessions whose ID begins with "large".
type narrow struct{}

func (narrow) HandleRemote(_ context.Context, call *sdk.RemoteCall) (sdk.Answer, error) {
	if strings.HasPrefix(jsontext.StringField(call.Input, "sessionID"), "large") {
		return sdk.Answer{}, fmt.Errorf("%w: 17 MiB", hooks.ErrInputSize)
	}
	return sdk.Answer{}, nil
}

// A hook whose input is too large is reported once for each session, and again after it was called.
func TestInputTooLarge(t *testing.T) {
	t.Parallel()
	e, told := engine(t, plugin("reader", sdk.Hook{Point: sdk.PointChatSystem, Reads: []string{""}, Remote: narrow{}}))
	for i, step := range []struct {
		session string
		notices int // so far
	}{{"large1", 1}, {"large1", 1}, {"large2", 2}, {"large2", 2}, {"small", 2}, {"large2", 3}, {"large2", 3}} {
		_, err := e.Transform(t.Context(), sdk.PointChatSystem, hooks.Scope{}, &sdk.ChatInput{SessionID: step.session}, &sdk.ChatSystemValue{})
		if err != nil {
			t.Fatal(i, err)
		}
		if list := told.all(); len(list) != step.notices || !strings.Contains(list[0].Message, "skipped: not called: 17 MiB") {
			t.Errorf("after step %d: notices %+v, want %d", i, list, step.notices)
		}
	}
}

// A gate that is not ready yet, or for which the machine has no resources, denies, like one that fails, but is not quarantined.
func TestNotReadyDenies(t *testing.T) {
	t.Parallel()
	_, temporary := child.MakeTemporary("/nowhere", "")
	for _, cause := range []error{
		hooks.ErrNotCalled, os.NewSyscallError("pipe2", syscall.EMFILE), &fs.PathError{Op: "fork/exec", Err: syscall.EAGAIN},
		&fs.PathError{Op: "mkdir", Err: syscall.EDQUOT}, errors.Join(temporary),
	} {
		e, _ := engine(t, plugin("slow", sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) {
			return sdk.Decision{}, cause
		})))
		for range 4 {
			r, err := e.Gate(t.Context(), sdk.PointPermissionAsk, hooks.Scope{}, &sdk.PermissionRequest{})
			if err != nil || r.Verdict != sdk.VerdictDeny || !strings.Contains(r.Reason, cause.Error()) {
				t.Fatalf("Gate = %+v, %v, want deny", r, err)
			}
		}
		if got := e.Quarantined(); len(got) > 0 {
			t.Errorf("quarantined: %v", got)
		}
	}
}

// An observer that is not ready yet receives later events, with one notice for all: a model's text has thousands.
func TestNotReadyObserver(t *testing.T) {
	t.Parallel()
	remote := &warming{}
	remote.cold.Store(true)
	e, told := engine(t, plugin("slow", sdk.Hook{Point: sdk.PointEvent, Timeout: time.Millisecond, Remote: remote}))
	for i := range 4 {
		e.Observe(sdk.PointEvent, &sdk.Event{Type: sdk.EventSessionIdle})
		for deadline := time.Now().Add(30 * time.Second); int(remote.calls.Load()) <= i; runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatalf("%d calls, want %d", remote.calls.Load(), i+1)
			}
		}
	}
	if list := told.all(); len(list) != 1 {
		t.Errorf("notices %+v, want one", list)
	}
	if got := e.Quarantined(); len(got) > 0 {
		t.Errorf("quarantined: %v", got)
	}
}

func TestSuccessResets(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	e, _ := engine(t, plugin("bad", flaky(&broken), gate(sdk.VerdictAllow, "")))
	for range 4 {
		for _, fails := range []bool{true, true, false} {
			broken.Store(fails)
			if _, err := fire(t, e, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := e.Quarantined(); len(got) > 0 {
		t.Errorf("Quarantined = %v, want none", got)
	}
}

// TestOtherHookDoesNotSave: the success of one hook does not count for another that always fails.
func TestOtherHookDoesNotSave(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	e, _ := engine(t, plugin("bad", flaky(&broken), gate(sdk.VerdictAllow, "")))
	for range 3 {
		if _, err := fire(t, e, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Gate(t.Context(), sdk.PointPermissionAsk, hooks.Scope{}, &sdk.PermissionRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := e.Quarantined()["bad"]; got == "" {
		t.Error("the plugin is not quarantined")
	}
}

// TestNoticeIsOneLine: a plugin's error cannot look like another notice or control a terminal.
func TestNoticeIsOneLine(t *testing.T) {
	t.Parallel()
	hook := sdk.OnChatSystem(func(context.Context, *sdk.ChatInput, *sdk.ChatSystemValue) error {
		return errors.New("a\nWARN all is well\x1b[2J\x00\u202e" + strings.Repeat("x", 5000))
	})
	e, n := engine(t, plugin("bad", hook))
	if _, err := e.Transform(t.Context(), sdk.PointChatSystem, hooks.Scope{}, &sdk.ChatInput{}, &sdk.ChatSystemValue{}); err != nil {
		t.Fatal(err)
	}
	got := n.all()[0].Message
	if !strings.HasPrefix(got, `skipped: a WARN all is well\u{1b}[2J\u{0}\u{202e}x`) || len(got) > 600 {
		t.Errorf("notice %q", got)
	}
}

// TestQuarantineIsSafe checks that a quarantined guard does not open the gate.
func TestQuarantineIsSafe(t *testing.T) {
	t.Parallel()
	redactor := appends("redacted")
	redactor.OnError = sdk.OnErrorStop
	lenient := gate(sdk.VerdictDeny, "")
	lenient.OnError = sdk.OnErrorSkip
	e, told := start(t, hooks.Options{
		Plugins: []hooks.Plugin{
			plugin("redact", redactor), plugin("guard", gate(sdk.VerdictAllow, "")), plugin("lenient", lenient),
		},
		Quarantined: map[string]string{"redact": "it crashed", "guard": "it hung", "lenient": "it failed", "gone": "uninstalled"},
	})
	var l hooks.Ledger
	_, err := fire(t, e, &l)
	var stopped *hooks.Error
	if !errors.As(err, &stopped) || stopped.Plugin != "redact" || !errors.Is(err, hooks.ErrQuarantined) {
		t.Errorf("Transform = %v, want the quarantined redactor to stop the turn", err)
	}
	got, err := e.Gate(t.Context(), sdk.PointPermissionAsk, hooks.Scope{Ledger: &l}, &sdk.PermissionRequest{})
	want := hooks.Result{
		Verdict: sdk.VerdictDeny, Plugin: "guard",
		Reason: "plugin guard: hook permission.ask: quarantined (it hung); run tenon plugin enable guard",
	}
	if err != nil || got != want {
		t.Errorf("Gate = %+v, %v\nwant   %+v", got, err, want)
	}
	if diff := cmp.Diff([]string{"redact skipped", "guard skipped", "lenient skipped"}, outcomes(&l)); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	if len(told.all()) > 0 {
		t.Errorf("notices = %+v, want none: the quarantine is old", told.all())
	}
}

// TestFailuresOverRuns checks that a hook which is called once in a run and always fails is quarantined in the third, and that a success
// in between ends the row.
func TestFailuresOverRuns(t *testing.T) {
	t.Parallel()
	run := func(before map[string]map[string]int, fails bool) (*hooks.Engine, map[string]map[string]int) {
		h := system(func(context.Context, *sdk.ChatSystemValue) error {
			if fails {
				return errors.New("no luck")
			}
			return nil
		})
		e, _ := start(t, hooks.Options{Plugins: []hooks.Plugin{plugin("p", h)}, Failures: before})
		if _, err := fire(t, e, nil); err != nil {
			t.Fatal(err)
		}
		return e, e.Failures()
	}
	var failures map[string]map[string]int
	for n, c := range []struct{ fails, quarantined bool }{{true, false}, {true, false}, {false, false}, {true, false}, {true, false}, {true, true}} {
		var e *hooks.Engine
		e, failures = run(failures, c.fails)
		if got := e.Quarantined()["p"] != ""; got != c.quarantined {
			t.Errorf("run %d: quarantined %t, want %t; failures %v", n+1, got, c.quarantined, failures)
		}
	}
	if len(failures) != 0 {
		t.Errorf("failures of a plugin in quarantine: %v", failures)
	}
}

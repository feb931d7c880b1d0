package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// ask asks gates that give the verdicts, one plugin each, named a, b, …
func ask(t *testing.T, verdicts ...sdk.Verdict) hooks.Result {
	t.Helper()
	var list []hooks.Plugin
	for i, v := range verdicts {
		name := string(rune('a' + i))
		list = append(list, plugin(name, gate(v, "r"+name)))
	}
	e, _ := engine(t, list...)
	got, err := e.Gate(t.Context(), sdk.PointPermissionAsk, hooks.Scope{}, &sdk.PermissionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

var permissionVerdicts = []sdk.Verdict{sdk.VerdictAbstain, sdk.VerdictAllow, sdk.VerdictAsk, sdk.VerdictDeny, sdk.VerdictHalt}

func TestGateLaws(t *testing.T) {
	t.Parallel()
	t.Run("strictest holds", func(t *testing.T) {
		t.Parallel()
		for i, v := range permissionVerdicts {
			for j, w := range permissionVerdicts {
				want := permissionVerdicts[max(i, j)]
				if got := ask(t, v, w); got.Verdict != want {
					t.Errorf("%q and %q = %q, want %q", v, w, got.Verdict, want)
				}
			}
		}
	})
	t.Run("abstention is neutral", func(t *testing.T) {
		t.Parallel()
		for _, v := range permissionVerdicts {
			alone := ask(t, v)
			if got := ask(t, v, sdk.VerdictAbstain); got != alone {
				t.Errorf("%q and an abstention = %+v, want %+v", v, got, alone)
			}
		}
	})
	t.Run("order does not matter to the verdict", func(t *testing.T) {
		t.Parallel()
		if a, b := ask(t, sdk.VerdictAllow, sdk.VerdictAsk, sdk.VerdictDeny), ask(t, sdk.VerdictDeny, sdk.VerdictAsk, sdk.VerdictAllow); a.Verdict != b.Verdict {
			t.Errorf("%q in one order, %q in the other", a.Verdict, b.Verdict)
		}
	})
	t.Run("reasons of those who decided, in order", func(t *testing.T) {
		t.Parallel()
		want := hooks.Result{Verdict: sdk.VerdictDeny, Reason: "ra; rc", Plugin: "a, c"}
		if got := ask(t, sdk.VerdictDeny, sdk.VerdictAllow, sdk.VerdictDeny, sdk.VerdictAsk); got != want {
			t.Errorf("result = %+v, want %+v", got, want)
		}
	})
	t.Run("no hooks, no answer", func(t *testing.T) {
		t.Parallel()
		if got := ask(t); got != (hooks.Result{}) {
			t.Errorf("result = %+v, want zero", got)
		}
	})
}

func stop(d sdk.StopDecision) sdk.Hook {
	return sdk.OnTurnStop(func(context.Context, *sdk.TurnStopInput) (sdk.StopDecision, error) { return d, nil })
}

func TestTurnStop(t *testing.T) {
	t.Parallel()
	custom := func(v sdk.Verdict) sdk.Hook {
		h := stop(sdk.StopDecision{})
		h.Handler = handlerFunc(func(context.Context, *sdk.HookCall) (sdk.Answer, error) {
			return sdk.Answer{Verdict: v, Reason: "custom"}, nil
		})
		return h
	}
	run := sdk.StopDecision{Continue: true, Message: "run the tests", Reason: "untested"}
	lint := sdk.StopDecision{Continue: true, Message: "run the linter"}
	cases := map[string]struct {
		gates []sdk.Hook
		want  hooks.Result
	}{
		"stop":                 {[]sdk.Hook{stop(sdk.StopDecision{})}, hooks.Result{Verdict: sdk.VerdictAllow, Plugin: "a"}},
		"continue wins":        {[]sdk.Hook{stop(sdk.StopDecision{}), stop(run)}, hooks.Result{Verdict: sdk.VerdictContinue, Reason: "untested", Message: "run the tests", Plugin: "b"}},
		"both go on":           {[]sdk.Hook{stop(run), stop(lint)}, hooks.Result{Verdict: sdk.VerdictContinue, Reason: "untested", Message: "run the tests\n\nrun the linter", Plugin: "a, b"}},
		"deny beats continue":  {[]sdk.Hook{stop(run), custom(sdk.VerdictDeny)}, hooks.Result{Verdict: sdk.VerdictDeny, Reason: "custom", Plugin: "b"}},
		"halt beats continue":  {[]sdk.Hook{custom(sdk.VerdictHalt), stop(run)}, hooks.Result{Verdict: sdk.VerdictHalt, Reason: "custom", Plugin: "a"}},
		"ask has no meaning":   {[]sdk.Hook{custom(sdk.VerdictAsk)}, failedGate("turn.stop", `bad answer: verdict "ask" has no meaning at this point`)},
		"continue needs words": {[]sdk.Hook{stop(sdk.StopDecision{Continue: true})}, failedGate("turn.stop", `bad answer: verdict "continue" without a message to continue with`)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var list []hooks.Plugin
			for i, h := range c.gates {
				list = append(list, plugin(string(rune('a'+i)), h))
			}
			e, _ := engine(t, list...)
			got, err := e.Gate(t.Context(), sdk.PointTurnStop, hooks.Scope{}, &sdk.TurnStopInput{})
			if err != nil || got != c.want {
				t.Errorf("Gate = %+v, %v\nwant   %+v", got, err, c.want)
			}
		})
	}
}

func failedGate(point, cause string) hooks.Result {
	return hooks.Result{Verdict: sdk.VerdictDeny, Reason: "plugin a: hook " + point + ": " + cause, Plugin: "a"}
}

func TestFailedGate(t *testing.T) {
	t.Parallel()
	broken := func(policy sdk.OnError) sdk.Hook {
		h := sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) {
			return sdk.Decision{Verdict: sdk.VerdictAllow}, errors.New("no rules")
		})
		h.OnError = policy
		return h
	}
	cases := map[string]struct {
		policy   sdk.OnError
		override sdk.OnError
		want     sdk.Verdict
		stops    bool
	}{
		"denies by default":   {sdk.OnErrorDefault, sdk.OnErrorDefault, sdk.VerdictDeny, false},
		"skipped":             {sdk.OnErrorSkip, sdk.OnErrorDefault, sdk.VerdictAllow, false},
		"stops":               {sdk.OnErrorStop, sdk.OnErrorDefault, "", true},
		"the user says skip":  {sdk.OnErrorStop, sdk.OnErrorSkip, sdk.VerdictAllow, false},
		"the user says stop":  {sdk.OnErrorSkip, sdk.OnErrorStop, "", true},
		"the user says deny":  {sdk.OnErrorSkip, sdk.OnErrorDeny, sdk.VerdictDeny, false},
		"default of the user": {sdk.OnErrorSkip, sdk.OnErrorDefault, sdk.VerdictAllow, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, told := start(t, hooks.Options{
				Plugins:   []hooks.Plugin{plugin("bad", broken(c.policy)), plugin("good", gate(sdk.VerdictAllow, ""))},
				Overrides: map[string]sdk.HookOverride{"bad": {OnError: c.override}},
			})
			var l hooks.Ledger
			got, err := e.Gate(t.Context(), sdk.PointPermissionAsk, hooks.Scope{Ledger: &l}, &sdk.PermissionRequest{})
			var stopped *hooks.Error
			if errors.As(err, &stopped) != c.stops || got.Verdict != c.want {
				t.Errorf("Gate = %+v, %v, want %q", got, err, c.want)
			}
			if c.want == sdk.VerdictDeny && got.Reason != "plugin bad: hook permission.ask: no rules" {
				t.Errorf("reason = %q", got.Reason)
			}
			if n := len(told.all()); n != 1 {
				t.Errorf("%d notices, want 1", n)
			}
			entry := l.Entries()[0]
			if entry.Outcome != hooks.OutcomeError || c.want == sdk.VerdictDeny != (entry.Verdict == sdk.VerdictDeny) {
				t.Errorf("entry = %+v", entry)
			}
		})
	}
}

// TestGateSeesWhatWillRun checks that a gate cannot change the request of other gates.
func TestGateSeesWhatWillRun(t *testing.T) {
	t.Parallel()
	var seen []string
	meddle := sdk.OnPermissionAsk(func(_ context.Context, in *sdk.PermissionRequest) (sdk.Decision, error) {
		seen = append(seen, string(in.Args)+in.Patterns[0])
		in.Args[2], in.Patterns[0] = 'X', "changed"
		return sdk.Decision{Verdict: sdk.VerdictAllow}, nil
	})
	e, _ := engine(t, plugin("a", meddle), plugin("b", meddle))
	in := &sdk.PermissionRequest{Args: json.RawMessage(`{"c":1}`), Patterns: []string{"ls"}}
	if _, err := e.Gate(t.Context(), sdk.PointPermissionAsk, hooks.Scope{}, in); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`{"c":1}ls`, `{"c":1}ls`}, seen); diff != "" || string(in.Args) != `{"c":1}` {
		t.Errorf("gates saw (-want +got):\n%s, the request is now %s", diff, in.Args)
	}
}

func TestGateLedger(t *testing.T) {
	t.Parallel()
	var list []hooks.Plugin
	for i, v := range permissionVerdicts {
		list = append(list, plugin(string(rune('a'+i)), gate(v, "")))
	}
	e, _ := engine(t, list...)
	var l hooks.Ledger
	if _, err := e.Gate(t.Context(), sdk.PointPermissionAsk, hooks.Scope{Ledger: &l}, &sdk.PermissionRequest{}); err != nil {
		t.Fatal(err)
	}
	want := "a abstained,b allowed,c asked,d denied,e halted"
	if got := strings.Join(outcomes(&l), ","); got != want {
		t.Errorf("ledger = %s, want %s", got, want)
	}
}

package conformance_test

import (
	"testing"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

// gates: every verdict of a gate, and the refusals of a transform that may deny.
func (s *suite) gates() map[string]probe {
	list := map[string]probe{}
	gate := func(p sdk.Point, name string, want sdk.Verdict, script conformance.Script) {
		list[name] = probe{point: p, script: script, check: func(t *testing.T, o *outcome) {
			if o.Gate.Verdict != want || want != sdk.VerdictAbstain && o.Gate.Reason != script.Reason || o.Gate.Message != script.Message {
				t.Errorf("Gate = %+v, want %q with %q and %q", o.Gate, want, script.Reason, script.Message)
			}
		}}
	}
	for _, v := range []sdk.Verdict{sdk.VerdictAbstain, sdk.VerdictAllow, sdk.VerdictAsk, sdk.VerdictDeny, sdk.VerdictHalt} {
		gate(sdk.PointPermissionAsk, "permission "+string(v), v, conformance.Script{Verdict: v, Reason: "because " + exotic})
	}
	gate(sdk.PointTurnStop, "stop", sdk.VerdictAllow, conformance.Script{Reason: "enough"})
	gate(sdk.PointTurnStop, "go on", sdk.VerdictContinue, conformance.Script{Verdict: sdk.VerdictContinue, Reason: "not yet", Message: "more, " + exotic})

	refuses := func(name string, v sdk.Verdict, outcome_ hooks.Outcome) {
		script := conformance.Script{Set: []sdk.Change{set("/args/small", "7")}, Verdict: v, Reason: "no " + exotic}
		list[name] = probe{point: sdk.PointToolBefore, script: script, check: func(t *testing.T, o *outcome) {
			if o.Result.Verdict != v || o.Result.Reason != script.Reason || o.Entries[0].Outcome != outcome_ {
				t.Errorf("Transform = %+v, entry %+v, want %s for %q", o.Result, o.Entries[0], v, script.Reason)
			}
		}}
	}
	refuses("call denied", sdk.VerdictDeny, hooks.OutcomeDenied)
	refuses("call halted", sdk.VerdictHalt, hooks.OutcomeHalted)
	list["denial where none is possible"] = probe{
		point: sdk.PointChatSystem, script: conformance.Script{Verdict: sdk.VerdictDeny, Reason: "no"},
		check: func(t *testing.T, o *outcome) { fails(t, o, hooks.OutcomeError) },
	}
	list["message missing"] = probe{
		point: sdk.PointTurnStop, script: conformance.Script{Verdict: sdk.VerdictContinue},
		check: func(t *testing.T, o *outcome) { fails(t, o, hooks.OutcomeError) },
	}
	return list
}

// fails checks that the first call failed as described and that the user got one notice.
func fails(t *testing.T, o *outcome, want hooks.Outcome) {
	t.Helper()
	if len(o.Entries) == 0 || o.Entries[0].Outcome != want {
		t.Errorf("entries = %+v, want one with the outcome %s", o.Entries, want)
	}
	if len(o.Notices) != 1 || o.Notices[0].Plugin != conformance.Name || o.Notices[0].Hook == "" {
		t.Errorf("notices = %+v, want one that names plugin and hook", o.Notices)
	}
}

// failures: what an error of each kind of hook leads to under each policy.
func (s *suite) failures() map[string]probe {
	list := map[string]probe{}
	kinds := []struct {
		name     string
		point    sdk.Point
		policies []sdk.OnError
	}{
		{"transform", sdk.PointChatSystem, []sdk.OnError{sdk.OnErrorDefault, sdk.OnErrorSkip, sdk.OnErrorStop}},
		{"transform that may deny", sdk.PointToolBefore, []sdk.OnError{sdk.OnErrorDefault, sdk.OnErrorDeny, sdk.OnErrorStop}},
		{"result", sdk.PointToolAfter, []sdk.OnError{sdk.OnErrorDefault, sdk.OnErrorStop}},
		{"gate", sdk.PointPermissionAsk, []sdk.OnError{sdk.OnErrorDefault, sdk.OnErrorSkip, sdk.OnErrorDeny, sdk.OnErrorStop}},
		{"stop gate", sdk.PointTurnStop, []sdk.OnError{sdk.OnErrorDefault, sdk.OnErrorSkip, sdk.OnErrorStop}},
		{"observer", sdk.PointEvent, []sdk.OnError{sdk.OnErrorDefault, sdk.OnErrorSkip}},
	}
	for _, k := range kinds {
		for _, policy := range k.policies {
			suffix := " " + string(policy)
			if policy == sdk.OnErrorDefault {
				suffix = " default"
			}
			list[k.name+suffix] = probe{
				point: k.point, hook: sdk.HookDescription{OnError: policy, Reads: []string{""}, Writes: []string{""}},
				script: conformance.Script{Error: "no luck: " + exotic},
				check:  func(t *testing.T, o *outcome) { s.failed(t, o, k.point, policy) },
			}
			if policy != sdk.OnErrorDefault && !s.yardstick() { // to the engine, a panic over a carrier is an error
				continue
			}
			list[k.name+" panics"+suffix] = probe{
				point: k.point, hook: sdk.HookDescription{OnError: policy, Reads: []string{""}, Writes: []string{""}},
				script: conformance.Script{Fault: conformance.FaultPanic}, abnormal: true,
				check: func(t *testing.T, o *outcome) { s.failed(t, o, k.point, policy) },
			}
		}
	}
	list["change of what is fixed"] = probe{
		point: sdk.PointChatMessages, script: conformance.Script{Set: []sdk.Change{set("/messages/0/parts/0/type", `"file"`)}},
		check: func(t *testing.T, o *outcome) { fails(t, o, hooks.OutcomeError) },
	}
	return list
}

func (s *suite) failed(t *testing.T, o *outcome, p sdk.Point, policy sdk.OnError) {
	t.Helper()
	info, _ := hookpoint.Of(string(p))
	if info.Kind == hookpoint.KindObserve {
		if len(o.Notices) != 1 || o.Notices[0].Plugin != conformance.Name {
			t.Errorf("notices = %+v, want one that names the plugin", o.Notices)
		}
		return
	}
	fails(t, o, hooks.OutcomeError)
	denies := policy == sdk.OnErrorDeny || policy == sdk.OnErrorDefault && info.Kind == hookpoint.KindGate
	if got := o.Gate.Verdict == sdk.VerdictDeny || o.Result.Verdict == sdk.VerdictDeny; got != denies {
		t.Errorf("denied: %t, want %t (%+v %+v)", got, denies, o.Gate, o.Result)
	}
	if stops := policy == sdk.OnErrorStop; (o.Err != "") != stops {
		t.Errorf("error = %q, want one: %t", o.Err, stops)
	}
	if info.Kind == hookpoint.KindTransform {
		if want := toJSON(t, sampleOf(p).value()); toJSON(t, o.Value) != want {
			t.Errorf("a hook that failed changed the value to\n%s", toJSON(t, o.Value))
		}
	}
}

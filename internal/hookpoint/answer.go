package hookpoint

import (
	"cmp"
	"slices"

	"github.com/tenonhq/tenon/sdk"
)

// mayRefuse reports whether a hook at the point can deny.
func (i *Info) mayRefuse() bool { return i.Kind == KindGate || i.MayDeny }

// Allows reports whether an answer with the verdict has a meaning at the point.
func (i *Info) Allows(v sdk.Verdict) bool {
	switch v {
	case sdk.VerdictAbstain:
		return true
	case sdk.VerdictDeny, sdk.VerdictHalt:
		return i.mayRefuse()
	case sdk.VerdictAllow:
		return i.Kind == KindGate
	case sdk.VerdictAsk:
		return i.Kind == KindGate && i.Point != sdk.PointTurnStop
	case sdk.VerdictContinue:
		return i.Point == sdk.PointTurnStop
	}
	return false
}

// Policies are the values of sdk.Hook.OnError.
var Policies = [...]sdk.OnError{sdk.OnErrorDefault, sdk.OnErrorSkip, sdk.OnErrorDeny, sdk.OnErrorStop}

// Fits reports whether the policy is possible at the point: only hooks that may deny can deny by failing, and observers cannot stop the turn,
// because it does not wait for them. Unknown policies fit.
func (i *Info) Fits(policy sdk.OnError) bool {
	switch policy {
	case sdk.OnErrorDeny:
		return i.mayRefuse()
	case sdk.OnErrorStop:
		return i.Kind != KindObserve
	}
	return true
}

// OnError returns the policy of a hook; the default depends on the kind.
func (i *Info) OnError(policy sdk.OnError) sdk.OnError {
	if i.Kind == KindGate {
		return cmp.Or(policy, sdk.OnErrorDeny)
	}
	return cmp.Or(policy, sdk.OnErrorSkip)
}

// verdicts are in the order of their strictness.
var verdicts = [...]sdk.Verdict{sdk.VerdictAbstain, sdk.VerdictAllow, sdk.VerdictAsk, sdk.VerdictContinue, sdk.VerdictDeny, sdk.VerdictHalt}

// Strictness orders verdicts: if there are several, the one with the highest number decides.
func Strictness(v sdk.Verdict) int { return slices.Index(verdicts[:], v) }

// Label names a hook in messages: its point, and its name if that is different.
func Label(point sdk.Point, name string) string {
	if name == "" || name == string(point) {
		return string(point)
	}
	return string(point) + " (" + name + ")"
}

package hookpoint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk"
)

// CheckMembers returns an error if an answer changes and decides nothing, but its JSON has an unknown member, which is none of an answer's and
// not in also. With a misspelled verdict, a gate would let every call pass. Observers may answer anything.
func CheckMembers(point sdk.Point, answer *sdk.Answer, data []byte, also ...string) (err error) {
	if answer.Verdict != sdk.VerdictAbstain || len(answer.Changes) > 0 {
		return nil
	}
	if info, _ := Of(string(point)); info.Kind == KindObserve {
		return nil
	}
	known := append(slices.Clone(also), "changes", "verdict", "reason", "message")
	jsontext.EachField(data, func(key, _ []byte) bool {
		if name := jsontext.Name(key); !slices.Contains(known, name) {
			err = fmt.Errorf("%w: the answer has %.80q, and neither changes nor a verdict", sdk.ErrWire, name)
		}
		return err == nil
	})
	return err
}

// mayRefuse reports whether a hook at the point can deny.
func (i *Info) mayRefuse() bool { return i.Kind == KindGate || i.MayDeny }

// Check returns an error for an answer that has no meaning at the point.
func (i *Info) Check(a *sdk.Answer) error {
	switch {
	case !i.allows(a.Verdict):
		return fmt.Errorf("verdict %q has no meaning at this point", a.Verdict)
	case a.Verdict == sdk.VerdictContinue && a.Message == "":
		return fmt.Errorf("verdict %q without a message to continue with", a.Verdict)
	case i.Kind != KindTransform && len(a.Changes) > 0:
		return errors.New("changes where none are expected")
	}
	return nil
}

func (i *Info) allows(v sdk.Verdict) bool {
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

// Combine adds the verdict of a hook to that of earlier ones: the strictest one stays, with the reasons and messages of the hooks that gave it. It
// reports whether the hook is one of them.
func Combine(all, a *sdk.Answer) bool {
	is, was := slices.Index(verdicts[:], a.Verdict), slices.Index(verdicts[:], all.Verdict)
	switch {
	case is < was || a.Verdict == sdk.VerdictAbstain:
		return false
	case is > was:
		all.Verdict, all.Reason, all.Message = a.Verdict, "", ""
	}
	all.Reason, all.Message = Join(all.Reason, "; ", a.Reason), Join(all.Message, "\n\n", a.Message)
	return true
}

// Join returns two texts with a separator between them, unless one is empty.
func Join(a, separator, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + separator + b
}

// Label names a hook in messages: its point, and its name if that is different.
func Label(point sdk.Point, name string) string {
	if name == "" || name == string(point) {
		return string(point)
	}
	return string(point) + " (" + name + ")"
}

package hooks

import (
	"context"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

// Gate calls all gates at p, in order. Their verdicts are combined by one rule: the strictest holds,
//
//	halt > deny > continue > ask > allow > abstain
//
// so the outcome does not depend on the order, an abstention changes nothing, and a gate that allows cannot
// override one that asks or denies. Only the reasons of gates with the final verdict count. At
// turn.stop, continue continues the turn, and deny ends it.
//
// in must have the type of the point; each gate gets a copy. Without gates the result is zero.
//
// Errors: an *Error from a gate whose failure stops the turn; the error of ctx, immediately when it ends.
func (e *Engine) Gate(ctx context.Context, p sdk.Point, s Scope, in any) (Result, error) {
	return e.walk(ctx, p, s, in, nil)
}

// outcomes are the outcomes of calls that answer with a verdict.
var outcomes = map[sdk.Verdict]Outcome{
	sdk.VerdictAbstain: OutcomeAbstained, sdk.VerdictAllow: OutcomeAllowed, sdk.VerdictAsk: OutcomeAsked,
	sdk.VerdictDeny: OutcomeDenied, sdk.VerdictHalt: OutcomeHalted, sdk.VerdictContinue: OutcomeContinued,
}

// verdicts holds the strictest verdict so far, with the reasons, messages and plugins of the gates that gave it.
type verdicts struct {
	verdict  sdk.Verdict
	reasons  []string
	messages []string
	plugins  []string
}

func (v *verdicts) add(verdict sdk.Verdict, reason, message, plugin string) {
	if hookpoint.Strictness(verdict) < hookpoint.Strictness(v.verdict) || verdict == sdk.VerdictAbstain {
		return
	}
	if verdict != v.verdict {
		*v = verdicts{verdict: verdict}
	}
	if reason != "" {
		v.reasons = append(v.reasons, reason)
	}
	if message != "" {
		v.messages = append(v.messages, message)
	}
	if !slices.Contains(v.plugins, plugin) {
		v.plugins = append(v.plugins, plugin)
	}
}

func (v *verdicts) result() Result {
	return Result{
		Verdict: v.verdict,
		Reason:  strings.Join(v.reasons, "; "),
		Message: strings.Join(v.messages, "\n\n"),
		Plugin:  strings.Join(v.plugins, ", "),
	}
}

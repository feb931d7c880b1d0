package hooks

import (
	"context"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

// Gate calls all gates at p, in order. The strictest verdict counts,
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

// add adds the verdict of a hook: the strictest one so far stays, with the reasons, messages and plugins of the hooks that gave it.
func (r *Result) add(a *sdk.Answer, plugin string) {
	all := sdk.Answer{Verdict: r.Verdict, Reason: r.Reason, Message: r.Message}
	if !hookpoint.Combine(&all, a) {
		return
	}
	if a.Verdict != r.Verdict {
		r.Plugin = ""
	}
	if !slices.Contains(strings.Split(r.Plugin, ", "), plugin) {
		r.Plugin = hookpoint.Join(r.Plugin, ", ", plugin)
	}
	r.Verdict, r.Reason, r.Message = all.Verdict, all.Reason, all.Message
}

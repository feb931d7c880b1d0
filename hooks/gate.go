package hooks

import (
	"context"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

// GateResult is what the gates at a point decided together.
type GateResult struct {
	Verdict sdk.Verdict
	Reason  string // the reasons of those who gave the verdict, in order, joined by "; "
	Message string // for continue: their messages, joined by an empty line
	Plugin  string // who gave the verdict, in order, joined by ", "
}

// Gate asks all gates at p, in order. Their verdicts are combined by one rule: the strictest holds,
//
//	halt > deny > continue > ask > allow > abstain
//
// so the outcome does not depend on the order, an abstention changes nothing, and whoever allows cannot
// outvote who asks or denies. Reasons are those of the gates that gave the verdict that holds. At
// turn.stop, where continue makes the turn go on, deny means that it must not.
//
// in must have the type of the point; each gate gets a copy. Without gates the result is zero.
//
// Errors: an *Error from a gate whose failure stops the turn; the error of ctx, at once when it ends.
func (e *Engine) Gate(ctx context.Context, p sdk.Point, s Scope, in any) (GateResult, error) {
	at := e.points[p]
	if at == nil {
		return GateResult{}, nil
	}
	if err := at.check(hookpoint.KindGate, in, nil); err != nil {
		return GateResult{}, err
	}
	r := run{engine: e, loan: loan{pool: &e.pool}, kind: hookpoint.KindGate, scope: s, in: in}
	r.walk(ctx, at.hooks)
	if r.err != nil {
		return GateResult{}, r.err
	}
	return r.votes.result(), nil
}

func outcomeOf(v sdk.Verdict) Outcome {
	switch v {
	case sdk.VerdictAllow:
		return OutcomeAllowed
	case sdk.VerdictAsk:
		return OutcomeAsked
	case sdk.VerdictDeny:
		return OutcomeDenied
	case sdk.VerdictHalt:
		return OutcomeHalted
	case sdk.VerdictContinue:
		return OutcomeContinued
	}
	return OutcomeAbstained
}

// votes holds the strictest verdict so far and what those who gave it said.
type votes struct {
	verdict  sdk.Verdict
	reasons  []string
	messages []string
	plugins  []string
}

func (v *votes) add(verdict sdk.Verdict, reason, message, plugin string) {
	if hookpoint.Strictness(verdict) < hookpoint.Strictness(v.verdict) || verdict == sdk.VerdictAbstain {
		return
	}
	if verdict != v.verdict {
		*v = votes{verdict: verdict}
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

func (v *votes) result() GateResult {
	return GateResult{
		Verdict: v.verdict,
		Reason:  strings.Join(v.reasons, "; "),
		Message: strings.Join(v.messages, "\n\n"),
		Plugin:  strings.Join(v.plugins, ", "),
	}
}

package hooks

import (
	"context"
	"errors"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

// Scope is the context of a call of Transform or Gate in the ledger.
type Scope struct {
	Ledger  *Ledger // where the calls are recorded; nil: nowhere
	Subject string  // such as the callID of a tool call; empty for the request itself
}

// run is one walk along the hooks of a point.
type run struct {
	engine *Engine
	loan   loan // the goroutine for the hooks
	kind   hookpoint.Kind
	scope  Scope
	firing int // in the ledger
	in     any
	value  any // nil at gates

	inputJSON []byte // of in, once a remote hook received it
	result    Result // of a transform
	votes     votes  // of a gate
	err       error  // ends the walk
}

// walk calls the hooks of a point in order, until one ends the walk or ctx ends. r is the caller's, so that it need not be allocated.
func (r *run) walk(ctx context.Context, hooks []*bound) {
	defer r.loan.end()
	r.firing = r.scope.Ledger.firing()
	for _, h := range hooks {
		if !r.step(ctx, h) {
			return
		}
	}
}

// step calls one hook. It reports whether the walk continues.
func (r *run) step(ctx context.Context, h *bound) bool {
	if reason := h.member.quarantined(); reason != "" {
		return r.consequence(h, OutcomeSkipped, quarantineError(h.member, reason), 0)
	}
	if err := ctx.Err(); err != nil {
		return r.abort(h, err)
	}
	t, err := h.newTask(r.in, r.value, &r.inputJSON)
	if err != nil {
		r.err = err
		return false
	}
	answer, took, err := h.call(ctx, t, r.engine, &r.loan)
	if err == nil && r.kind == hookpoint.KindTransform && answer.Verdict == sdk.VerdictAbstain {
		return r.transform(ctx, h, t, &answer, took)
	}
	if err != nil {
		return r.failed(ctx, h, err, took)
	}
	h.succeeded()
	if r.kind == hookpoint.KindGate {
		r.votes.add(answer.Verdict, answer.Reason, answer.Message, h.member.name)
	} else {
		r.result = Result{Verdict: answer.Verdict, Reason: answer.Reason, Plugin: h.member.name}
	}
	r.record(h, &Entry{Outcome: outcomeOf(answer.Verdict), Verdict: answer.Verdict, Reason: answer.Reason}, took)
	return r.kind == hookpoint.KindGate
}

// abort ends the walk because its caller canceled it; the hook is not to blame.
func (r *run) abort(h *bound, err error) bool {
	r.err = err
	r.record(h, &Entry{Outcome: OutcomeAborted, Error: err.Error()}, 0)
	return false
}

// failed blames the plugin and applies the failure policy. It reports whether the walk continues.
func (r *run) failed(ctx context.Context, h *bound, err error, took time.Duration) bool {
	if canceled := ctx.Err(); canceled != nil {
		return r.abort(h, canceled)
	}
	r.engine.blame(h, err, false)
	outcome := OutcomeError
	if errors.Is(err, ErrTimeout) {
		outcome = OutcomeTimeout
	}
	return r.consequence(h, outcome, err, took)
}

// consequence applies the failure policy of the hook. It reports whether the walk continues.
func (r *run) consequence(h *bound, outcome Outcome, err error, took time.Duration) bool {
	entry := Entry{Outcome: outcome, Error: err.Error()}
	blamed := h.error(err)
	switch h.OnError {
	case sdk.OnErrorStop:
		r.err = blamed
	case sdk.OnErrorDeny:
		entry.Verdict, entry.Reason = sdk.VerdictDeny, blamed.Error()
		if r.kind == hookpoint.KindGate {
			r.votes.add(sdk.VerdictDeny, entry.Reason, "", h.member.name)
		} else {
			r.result = Result{Verdict: sdk.VerdictDeny, Reason: entry.Reason, Plugin: h.member.name}
		}
	}
	r.record(h, &entry, took)
	return r.err == nil && r.result.Verdict == ""
}

// record writes an entry to the ledger.
func (r *run) record(h *bound, e *Entry, took time.Duration) {
	if r.scope.Ledger == nil {
		return
	}
	e.Firing, e.Subject = r.firing, r.scope.Subject
	e.Point, e.Plugin, e.Version, e.Hook = h.Point, h.member.name, h.member.version, h.Name
	e.DurationUS = took.Microseconds()
	r.scope.Ledger.add(e)
}

package hooks

import (
	"context"
	"errors"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

// Scope identifies a call of Transform or Gate in the ledger.
type Scope struct {
	Ledger  *Ledger // where the calls are recorded; nil: nowhere
	Subject string  // such as the callID of a tool call; empty for the request itself
}

// walk is one call of Transform or Gate: it calls the hooks of a point in order.
type walk struct {
	engine *Engine
	loan   loan // the goroutine for the hooks
	kind   hookpoint.Kind
	scope  Scope
	firing int // in the ledger
	in     any
	value  any // nil at gates

	inputJSON []byte   // of in, once a remote hook received it
	result    Result   // of a transform
	verdicts  verdicts // of a gate
	err       error    // ends the walk
}

// run calls the hooks in order, until one ends the walk or ctx ends. w is the caller's, so that it need not be allocated.
func (w *walk) run(ctx context.Context, hooks []*pluginHook) {
	defer w.loan.end()
	w.firing = w.scope.Ledger.firing()
	for _, h := range hooks {
		if !w.callHook(ctx, h) {
			return
		}
	}
}

// callHook calls one hook. It reports whether the walk continues.
func (w *walk) callHook(ctx context.Context, h *pluginHook) bool {
	if reason := h.plugin.quarantined(); reason != "" {
		return w.applyPolicy(h, OutcomeSkipped, quarantineError(h.plugin, reason), 0)
	}
	if err := ctx.Err(); err != nil {
		return w.abort(h, err)
	}
	t, err := h.newTask(w.in, w.value, &w.inputJSON)
	if err != nil {
		w.err = err
		return false
	}
	answer, took, err := h.call(ctx, t, w.engine, &w.loan)
	if err == nil && w.kind == hookpoint.KindTransform && answer.Verdict == sdk.VerdictAbstain {
		return w.transform(ctx, h, t, &answer, took)
	}
	if err != nil {
		return w.fail(ctx, h, err, took)
	}
	h.clearFailures()
	if w.kind == hookpoint.KindGate {
		w.verdicts.add(answer.Verdict, answer.Reason, answer.Message, h.plugin.Name)
	} else {
		w.result = Result{Verdict: answer.Verdict, Reason: answer.Reason, Plugin: h.plugin.Name}
	}
	w.record(h, &Entry{Outcome: outcomes[answer.Verdict], Verdict: answer.Verdict, Reason: answer.Reason}, took)
	return w.kind == hookpoint.KindGate
}

// abort ends the walk because its caller canceled it; the hook is not to blame.
func (w *walk) abort(h *pluginHook, err error) bool {
	w.err = err
	w.record(h, &Entry{Outcome: OutcomeAborted, Error: err.Error()}, 0)
	return false
}

// fail blames the plugin and applies the failure policy. It reports whether the walk continues.
func (w *walk) fail(ctx context.Context, h *pluginHook, err error, took time.Duration) bool {
	if canceled := ctx.Err(); canceled != nil {
		return w.abort(h, canceled)
	}
	w.engine.blame(h, err, false)
	outcome := OutcomeError
	if errors.Is(err, ErrTimeout) {
		outcome = OutcomeTimeout
	}
	return w.applyPolicy(h, outcome, err, took)
}

// applyPolicy applies the failure policy of the hook. It reports whether the walk continues.
func (w *walk) applyPolicy(h *pluginHook, outcome Outcome, err error, took time.Duration) bool {
	entry := Entry{Outcome: outcome, Error: err.Error()}
	blamed := h.error(err)
	switch h.OnError {
	case sdk.OnErrorStop:
		w.err = blamed
	case sdk.OnErrorDeny:
		entry.Verdict, entry.Reason = sdk.VerdictDeny, blamed.Error()
		if w.kind == hookpoint.KindGate {
			w.verdicts.add(sdk.VerdictDeny, entry.Reason, "", h.plugin.Name)
		} else {
			w.result = Result{Verdict: sdk.VerdictDeny, Reason: entry.Reason, Plugin: h.plugin.Name}
		}
	}
	w.record(h, &entry, took)
	return w.err == nil && w.result.Verdict == ""
}

// record writes an entry to the ledger.
func (w *walk) record(h *pluginHook, e *Entry, took time.Duration) {
	if w.scope.Ledger == nil {
		return
	}
	e.Firing, e.Subject = w.firing, w.scope.Subject
	e.Point, e.Plugin, e.Version, e.Hook = h.Point, h.plugin.Name, h.plugin.Version, h.Name
	e.DurationUS = took.Microseconds()
	w.scope.Ledger.add(e)
}

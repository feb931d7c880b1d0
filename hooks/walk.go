package hooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// Scope identifies a call of Transform or Gate in the ledger.
type Scope struct {
	Ledger  *Ledger // where the calls are recorded; nil: nowhere
	Subject string  // such as the callID of a tool call; empty for the request itself
}

// Result is the decision of the hooks at a point. The zero value refuses nothing. At a transform point that may deny, it holds the verdict of
// the hook that refused; later hooks were not called.
type Result struct {
	Verdict sdk.Verdict
	Reason  string // the reasons of the gates with this verdict, in order, joined by "; "
	Message string // for continue: their messages, joined by an empty line
	Plugin  string // their plugins, in order, joined by ", "
}

// walk is one call of Transform or Gate: it calls the hooks of a point in order.
type walk struct {
	engine *Engine
	scope  Scope
	firing int // in the ledger
	in     any
	value  any // nil at gates

	inputJSON []byte // of in, once a remote hook received it
	result    Result
	err       error // ends the walk
}

// walk calls the hooks at a point in order, until one ends the walk or ctx ends. value is nil at gates.
func (e *Engine) walk(ctx context.Context, p sdk.Point, s Scope, in, value any) (Result, error) {
	hooks := e.points[p]
	if hooks == nil {
		return Result{}, nil
	}
	w := walk{engine: e, scope: s, firing: s.Ledger.firing(), in: in, value: value}
	for _, h := range hooks {
		if !w.callHook(ctx, h) {
			break
		}
	}
	if w.err != nil {
		return Result{}, w.err
	}
	return w.result, nil
}

// callHook calls one hook. It reports whether the walk continues.
func (w *walk) callHook(ctx context.Context, h *pluginHook) bool {
	if reason := h.plugin.quarantined(); reason != "" {
		return w.applyPolicy(h, OutcomeSkipped, fmt.Errorf("%w (%s); run tenon plugin enable %s", ErrQuarantined, reason, h.plugin.Name), 0)
	}
	if err := ctx.Err(); err != nil {
		return w.abort(h, err)
	}
	c, err := h.newCall(w.in, w.value, &w.inputJSON)
	if err != nil {
		w.err = err
		return false
	}
	answer, took, err := c.run(ctx, w.engine)
	if err == nil && w.value != nil && answer.Verdict == sdk.VerdictAbstain {
		return w.transform(ctx, h, c, &answer, took)
	}
	if err != nil {
		return w.fail(ctx, c, err, took)
	}
	h.clearFailures()
	w.result.add(&answer, h.plugin.Name)
	w.record(h, &Entry{Outcome: outcomes[answer.Verdict], Verdict: answer.Verdict, Reason: answer.Reason}, took)
	return w.value == nil
}

// abort ends the walk because its caller canceled it; the hook is not to blame.
func (w *walk) abort(h *pluginHook, err error) bool {
	w.err = err
	w.record(h, &Entry{Outcome: OutcomeAborted, Error: err.Error()}, 0)
	return false
}

// fail blames the plugin and applies the failure policy. It reports whether the walk continues.
func (w *walk) fail(ctx context.Context, c *call, err error, took time.Duration) bool {
	if canceled := ctx.Err(); canceled != nil {
		return w.abort(c.hook, canceled)
	}
	w.engine.blame(c, w.inputJSON, err, false)
	outcome := OutcomeError
	if errors.Is(err, ErrTimeout) {
		outcome = OutcomeTimeout
	}
	return w.applyPolicy(c.hook, outcome, err, took)
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
		w.result.add(&sdk.Answer{Verdict: sdk.VerdictDeny, Reason: entry.Reason}, h.plugin.Name)
	}
	w.record(h, &entry, took)
	return w.err == nil && (w.value == nil || w.result.Verdict == "")
}

// record writes an entry to the ledger.
func (w *walk) record(h *pluginHook, e *Entry, took time.Duration) {
	if w.scope.Ledger == nil {
		return
	}
	e.Firing, e.Subject = w.firing, w.scope.Subject
	e.Point, e.Plugin, e.Version, e.Hook = h.Point, h.plugin.Name, h.plugin.Version, h.Name
	e.DurationUS = took.Microseconds()
	w.scope.Ledger.Add(e)
}

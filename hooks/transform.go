package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// Result is what the hooks at a transform point decided beside changing the value. The zero value lets
// things go on.
type Result struct {
	// Verdict is deny or halt, from points that may deny; then no later hook was called. Else empty.
	Verdict sdk.Verdict
	Reason  string
	Plugin  string // who refused
}

// Transform calls the hooks at p in order. Each gets a copy of in and of the value as its predecessors
// left it, and what it changed in its copy is applied to the value, a pointer, before the next one is
// called. What the value refers to is replaced, not changed, so that it may be shared with others.
//
// in and value must have the types of the point, and the caller leaves the value alone until Transform
// returns. in is shared by all hooks of this process and must not be changed any more, neither by them
// nor by the caller: a hook that was left behind may still read it. Without hooks nothing is done.
//
// Errors: an *Error from a hook whose failure stops the turn; the error of ctx, at once when it ends.
// The value then holds the changes of the hooks that succeeded before.
func (e *Engine) Transform(ctx context.Context, p sdk.Point, s Scope, in, value any) (Result, error) {
	at := e.points[p]
	if at == nil {
		return Result{}, nil
	}
	if err := at.check(sdk.KindTransform, in, value); err != nil {
		return Result{}, err
	}
	r := e.newRun(ctx, at, s, in, value).walk()
	result, err := r.result, r.err
	r.release()
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// commit takes over what a hook answered. It reports whether the walk goes on.
func (r *run) commit(h *bound, t *task, answer *sdk.Answer, took time.Duration) bool {
	if answer.Verdict != sdk.VerdictAbstain {
		h.succeeded()
		r.result = Result{Verdict: answer.Verdict, Reason: answer.Reason, Plugin: h.member.name}
		r.record(h, &Entry{Outcome: outcomeOf(answer.Verdict), Verdict: answer.Verdict, Reason: answer.Reason}, took)
		return false
	}
	changes := answer.Changes
	if h.Handler != nil {
		var err error
		if changes, err = sdk.Diff(r.value, t.local.Value); err != nil {
			return r.failed(h, fmt.Errorf("%w: %w", ErrAnswer, err), took)
		}
	}
	entry := Entry{Outcome: OutcomeUnchanged, Reason: answer.Reason}
	if len(changes) > 0 {
		if err := r.apply(h, changes, &entry); err != nil {
			return r.failed(h, fmt.Errorf("%w: %w", ErrAnswer, err), took)
		}
	}
	h.succeeded()
	r.record(h, &entry, took)
	return true
}

// apply makes the changes the hook declared, all or none, and notes them in the entry.
func (r *run) apply(h *bound, changes []sdk.Change, entry *Entry) error {
	kept, dropped := sdk.Restrict(changes, h.Writes)
	entry.Dropped = dropped
	if len(kept) == 0 {
		return nil
	}
	if r.scope.Ledger == nil {
		return sdk.Apply(r.value, kept)
	}
	old, err := lookupAll(r.value, kept)
	if err != nil {
		return err
	}
	if err := sdk.Apply(r.value, kept); err != nil {
		return err
	}
	is, err := lookupAll(r.value, kept)
	if err != nil {
		return err
	}
	for i, c := range kept {
		if !bytes.Equal(old[i], is[i]) {
			entry.Changes = append(entry.Changes, EntryChange{c.Pointer, shortHash(old[i]), shortHash(is[i])})
		}
	}
	if len(entry.Changes) > 0 {
		entry.Outcome = OutcomeChanged
	}
	return nil
}

func lookupAll(value any, changes []sdk.Change) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(changes))
	for i, c := range changes {
		var err error
		if out[i], err = sdk.Lookup(value, c.Pointer); err != nil {
			return nil, err
		}
	}
	return out, nil
}

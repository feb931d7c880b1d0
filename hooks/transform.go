package hooks

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/value"
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
	if err := at.check(hookpoint.KindTransform, in, value); err != nil {
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

// applyRemote makes the changes of a remote hook in a copy of the value, in what is left of the hook's time: how long that takes is up
// to the plugin. After abandoned the run must not be touched; the copy is of no more use then.
func (r *run) applyRemote(h *bound, t *task, changes []sdk.Change, entry *Entry) (err error, abandoned bool) {
	if len(changes) > value.MaxAnswerChanges {
		return fmt.Errorf("%w: %w: more than %d changes of declared fields", ErrAnswer, value.ErrBounds, value.MaxAnswerChanges), false
	}
	t.local.Value = value.Clone(r.value)
	ledger := r.scope.Ledger != nil
	if !r.resume() {
		return h.timeoutError(nil), false
	}
	err = applyTo(t.local.Value, changes, ledger, entry)
	if !r.back() {
		return nil, true
	}
	if err == nil && r.engine.guard != nil {
		err = r.engine.guard(&h.Hook, r.value, t.local.Value)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err), false
	}
	reflect.ValueOf(r.value).Elem().Set(reflect.ValueOf(t.local.Value).Elem())
	return nil, false
}

// applyTo is apply for changes of a plugin: a mistake in it that they find must not end the host.
func applyTo(value any, changes []sdk.Change, ledger bool, entry *Entry) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w while its changes were made: %v", ErrPanic, p)
		}
	}()
	return apply(value, changes, ledger, entry)
}

// commit takes over what a hook answered. It reports whether the walk goes on.
func (r *run) commit(h *bound, t *task, answer *sdk.Answer, entry *Entry, took time.Duration) bool {
	if answer.Verdict != sdk.VerdictAbstain {
		h.succeeded()
		r.result = Result{Verdict: answer.Verdict, Reason: answer.Reason, Plugin: h.member.name}
		r.record(h, &Entry{Outcome: outcomeOf(answer.Verdict), Verdict: answer.Verdict, Reason: answer.Reason}, took)
		return false
	}
	if h.Handler != nil {
		changes, err := value.Diff[sdk.Change](r.value, t.local.Value)
		if len(changes) > 0 {
			changes = value.Appended(changes, h.Writes, func(list string) int { return value.Length(r.value, list) })
			changes, entry.Dropped = value.Restrict(changes, h.Writes)
			err = apply(r.value, changes, r.scope.Ledger != nil, entry)
		}
		if err != nil {
			return r.failed(h, fmt.Errorf("%w: %w", ErrAnswer, err), took)
		}
	}
	h.succeeded()
	r.record(h, entry, took)
	return true
}

// apply makes changes, all or none, and notes them in the entry if there is a ledger.
func apply(v any, changes []sdk.Change, ledger bool, entry *Entry) error {
	if len(changes) == 0 {
		return nil
	}
	if !ledger {
		return value.Apply(v, changes)
	}
	changes = value.Placed(v, changes)
	places := placesOf(changes)
	old, err := value.LookupAll(v, places)
	if err != nil {
		return err
	}
	if err := value.Apply(v, changes); err != nil {
		return err
	}
	is, err := value.LookupAll(v, places)
	if err != nil {
		return err
	}
	for i, place := range places {
		if !bytes.Equal(old[i], is[i]) {
			entry.Changes = append(entry.Changes, EntryChange{place, shortHash(old[i]), shortHash(is[i])})
		}
	}
	if len(entry.Changes) > 0 {
		entry.Outcome = OutcomeChanged
	}
	return nil
}

// placesOf returns the pointers of changes, each once, without those under another of them.
func placesOf(changes []sdk.Change) []string {
	if len(changes) == 1 {
		return []string{changes[0].Pointer}
	}
	changed := make(map[string]bool, len(changes))
	for _, c := range changes {
		changed[c.Pointer] = true
	}
	places := make([]string, 0, len(changes))
	for _, c := range changes {
		place := outermost(changed, c.Pointer)
		if changed[place] { // and not listed yet
			changed[place] = false
			places = append(places, place)
		}
	}
	return places
}

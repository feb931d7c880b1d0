package hooks

import (
	"bytes"
	"context"
	"errors"
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
// called. Values that it refers to are replaced, not changed, so that they may be shared.
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
	r := run{engine: e, loan: loan{pool: &e.pool}, kind: hookpoint.KindTransform, scope: s, in: in, value: value}
	r.walk(ctx, at.hooks)
	if r.err != nil {
		return Result{}, r.err
	}
	return r.result, nil
}

// transform takes over the changes of a hook. It reports whether the walk continues.
func (r *run) transform(ctx context.Context, h *bound, t *task, answer *sdk.Answer, took time.Duration) bool {
	entry := Entry{Outcome: OutcomeUnchanged, Reason: answer.Reason}
	var err error
	if h.Handler != nil {
		err = r.applyLocal(h, t, &entry)
	} else {
		entry.Dropped = t.remote.dropped
		start := time.Now()
		err = r.applyRemote(ctx, h, answer.Changes, &entry, start.Add(h.Timeout-took))
		took += time.Since(start)
	}
	if err != nil {
		return r.failed(ctx, h, err, took)
	}
	if len(entry.Changes) > 0 {
		entry.Outcome = OutcomeChanged
	}
	h.succeeded()
	r.record(h, &entry, took)
	return true
}

// applyLocal finds what a hook of this process changed in its copy and makes the declared changes in the value.
func (r *run) applyLocal(h *bound, t *task, entry *Entry) error {
	changes, err := value.Diff[sdk.Change](r.value, t.local.Value)
	if len(changes) > 0 {
		changes = value.Appended(changes, h.Writes, func(list string) int { return value.Length(r.value, list) })
		changes, entry.Dropped = value.Restrict(changes, h.Writes)
		entry.Changes, err = apply(r.value, changes, r.scope.Ledger != nil)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return nil
}

// applyRemote makes the changes of a remote hook in a copy of the value, in the rest of the hook's time: how long that takes depends on
// the plugin.
func (r *run) applyRemote(ctx context.Context, h *bound, changes []sdk.Change, entry *Entry, deadline time.Time) error {
	if len(changes) == 0 {
		return nil
	}
	if len(changes) > value.MaxAnswerChanges {
		return fmt.Errorf("%w: %w: more than %d changes of declared fields", ErrAnswer, value.ErrBounds, value.MaxAnswerChanges)
	}
	changed, ledger := value.Clone(r.value), r.scope.Ledger != nil
	var err error
	entry.Changes, err = guard(ctx, r.engine.log, deadline, &r.loan, func(context.Context) ([]EntryChange, error) {
		return apply(changed, changes, ledger)
	})
	if errors.Is(err, ErrAbandoned) {
		return h.timeoutError(nil)
	}
	if err == nil && r.engine.guard != nil {
		err = r.engine.guard(&h.Hook, r.value, changed)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	reflect.ValueOf(r.value).Elem().Set(reflect.ValueOf(changed).Elem())
	return nil
}

// apply makes changes, all or none. For a ledger it returns them.
func apply(v any, changes []sdk.Change, ledger bool) (made []EntryChange, err error) {
	if !ledger || len(changes) == 0 {
		return nil, value.Apply(v, changes)
	}
	changes = value.Placed(v, changes)
	places := placesOf(changes)
	old, err := value.LookupAll(v, places)
	if err != nil {
		return nil, err
	}
	if err := value.Apply(v, changes); err != nil {
		return nil, err
	}
	is, err := value.LookupAll(v, places)
	if err != nil {
		return nil, err
	}
	for i, place := range places {
		if !bytes.Equal(old[i], is[i]) {
			made = append(made, EntryChange{place, Hash(old[i]), Hash(is[i])})
		}
	}
	return made, nil
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

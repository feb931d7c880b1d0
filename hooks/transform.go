package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Transform calls the hooks at p in order. Each gets in and a copy of the value as its predecessors left it, and its changes are applied to
// the value, a pointer, before the next hook is called. Values that it refers to are replaced, not changed, so that they may be shared.
//
// in and value must have the types of the point, and the caller must not use the value until Transform
// returns. in is shared by all hooks of this process. Neither they nor the caller may change it, even later: an abandoned hook may still
// read it. Without hooks, Transform does nothing.
//
// Errors: an *Error from a hook whose failure stops the turn; the error of ctx, immediately when it ends.
// The value then holds the changes of the hooks that succeeded before.
func (e *Engine) Transform(ctx context.Context, p sdk.Point, s Scope, in, value any) (Result, error) {
	return e.walk(ctx, p, s, in, value)
}

// transform applies the changes of a hook to the value. It reports whether the walk continues.
func (w *walk) transform(ctx context.Context, h *pluginHook, c *call, answer *sdk.Answer, took time.Duration) bool {
	entry := Entry{Outcome: OutcomeUnchanged, Reason: answer.Reason}
	var err error
	if h.Handler != nil {
		err = w.applyLocal(h, c, &entry)
	} else {
		entry.Dropped = c.dropped
		start := time.Now()
		err = w.applyRemote(ctx, c, answer.Changes, &entry, start.Add(h.Timeout-took))
		took += time.Since(start)
	}
	if err != nil {
		return w.fail(ctx, c, err, took)
	}
	if len(entry.Changes) > 0 {
		entry.Outcome = OutcomeChanged
	}
	if len(entry.Dropped) > 0 && !h.dropped.Swap(true) {
		fields := slices.Clone(entry.Dropped)
		if i := slices.Index(fields, ""); i >= 0 {
			fields[i] = "the whole value"
		}
		message := visible.Clean("changes are dropped: the hook does not declare that it writes "+strings.Join(fields, ", "), maxNotice)
		w.engine.o.Notice(sdk.PluginNotice{Plugin: h.plugin.Name, Hook: h.label(), Message: message})
	}
	h.clearFailures()
	w.record(h, &entry, took)
	return true
}

// applyLocal finds the changes of a hook of this process in its copy, and applies the declared ones to the value.
func (w *walk) applyLocal(h *pluginHook, c *call, entry *Entry) error {
	changes, err := value.Diff[sdk.Change](w.value, c.local.Value)
	if len(changes) > 0 {
		changes = value.Appended(changes, h.Writes, func(lists []string) map[string]int { return value.Lengths(w.value, lists) })
		changes, entry.Dropped = value.Restrict(changes, h.Writes)
		entry.Changes, err = apply(w.value, changes, w.scope.Ledger != nil)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return nil
}

// applyRemote applies the changes of a remote hook to a copy of the value, before the hook's deadline: how long that takes depends on the
// plugin.
func (w *walk) applyRemote(ctx context.Context, c *call, changes []sdk.Change, entry *Entry, deadline time.Time) error {
	if len(changes) == 0 {
		return nil
	}
	if len(changes) > value.MaxAnswerChanges {
		return fmt.Errorf("%w: %w: more than %d changes of declared fields", ErrAnswer, value.ErrBounds, value.MaxAnswerChanges)
	}
	changed, ledger := value.Clone(w.value), w.scope.Ledger != nil
	var err error
	entry.Changes, err = WithDeadline(ctx, w.engine.o.Logger, time.Until(deadline), func(context.Context) ([]EntryChange, error) {
		return apply(changed, changes, ledger)
	})
	if errors.Is(err, ErrNoAnswer) {
		return c.timeoutError(nil)
	}
	if err == nil && w.engine.o.CheckChanges != nil {
		err = w.engine.o.CheckChanges(&c.hook.Hook, w.value, changed)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	reflect.ValueOf(w.value).Elem().Set(reflect.ValueOf(changed).Elem())
	return nil
}

// apply applies all changes or none. For a ledger it returns them.
func apply(v any, changes []sdk.Change, ledger bool) (made []EntryChange, err error) {
	if !ledger || len(changes) == 0 {
		return nil, value.Apply(v, changes)
	}
	changed := reflect.New(reflect.TypeOf(v).Elem()) // shares the members that Apply does not change
	changed.Elem().Set(reflect.ValueOf(v).Elem())
	pointers, err := value.ApplyPlaced(changed.Interface(), changes)
	if err != nil {
		return nil, err
	}
	places := placesOf(pointers)
	before, err := value.LookupAll(v, places)
	if err != nil {
		return nil, err
	}
	after, err := value.LookupAll(changed.Interface(), places)
	if err != nil {
		return nil, err
	}
	reflect.ValueOf(v).Elem().Set(changed.Elem())
	for i, place := range places {
		if !bytes.Equal(before[i], after[i]) {
			made = append(made, EntryChange{place, Hash(before[i]), Hash(after[i])})
		}
	}
	return made, nil
}

// placesOf returns the pointers, each once, without those under another of them.
func placesOf(pointers []string) []string {
	if len(pointers) == 1 {
		return pointers
	}
	changed := make(map[string]bool, len(pointers))
	for _, pointer := range pointers {
		changed[pointer] = true
	}
	places := make([]string, 0, len(pointers))
	for _, pointer := range pointers {
		place := outermost(changed, pointer)
		if changed[place] { // changed, and not listed yet
			changed[place] = false
			places = append(places, place)
		}
	}
	return places
}

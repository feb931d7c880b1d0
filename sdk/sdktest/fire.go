package sdktest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// ErrPanic is wrapped by the error of a handler that panicked.
var ErrPanic = errors.New("panicked")

// Fire calls the plugin's hooks at a point, in order, and returns their combined answer: the changes that took effect, the strictest verdict and
// its reason. input and v are pointers to the input and value types of the point. The hooks change v in place; it is nil if the point has no
// value.
//
// Fire stops at the first hook that fails or returns an answer that its point does not allow, and returns an error that names the hook. It also fails
// if the plugin has no hook at the point.
func (h *Host) Fire(ctx context.Context, p sdk.Point, input, v any) (sdk.Answer, error) {
	info, ok := hookpoint.Of(string(p))
	if !ok {
		return sdk.Answer{}, fmt.Errorf("unknown hook point %q", p)
	}
	if err := checkTypes(&info, input, v); err != nil {
		return sdk.Answer{}, err
	}
	hooks := hooksAt(h.plugin, info.Point)
	if len(hooks) == 0 {
		return sdk.Answer{}, fmt.Errorf("plugin %s has no hook at %s", h.plugin.Manifest().Name, info.Point)
	}
	raw, err := value.Select(input, []string{""})
	if err != nil {
		return sdk.Answer{}, fmt.Errorf("input of %s: %w", info.Point, err)
	}
	var all sdk.Answer
	for i := range hooks {
		answer, err := h.fire(ctx, &info, &hooks[i], raw, v)
		if err != nil {
			return all, err
		}
		all.Changes = append(all.Changes, answer.Changes...)
		hookpoint.Combine(&all, &answer)
		if info.Kind == hookpoint.KindTransform && answer.Verdict != sdk.VerdictAbstain {
			break
		}
	}
	return all, nil
}

// fire calls one hook and applies its declared changes.
func (h *Host) fire(ctx context.Context, info *hookpoint.Info, hook *sdk.Hook, input json.RawMessage, v any) (sdk.Answer, error) {
	call := &sdk.RemoteCall{Point: info.Point, Hook: hook.Name, Input: input}
	if info.NewValue != nil {
		raw, err := value.Select(v, hook.Reads)
		if err != nil {
			return sdk.Answer{}, fmt.Errorf("value of %s: %w", info.Point, err)
		}
		call.Value = raw
	}
	answer, err := run(ctx, info, hook, call)
	note(h, &h.records, newRecord(call, &answer, err))
	if err == nil {
		err = judge(info, &answer)
	}
	if err == nil && len(answer.Changes) > 0 {
		var dropped []string
		answer.Changes = value.Appended(answer.Changes, hook.Writes, func(lists []string) map[string]int { return value.LengthsJSON(call.Value, lists) })
		answer.Changes, dropped = value.Restrict(answer.Changes, hook.Writes)
		for _, pointer := range dropped {
			note(h, &h.dropped, pointer)
		}
		if answer.Verdict != sdk.VerdictAbstain {
			answer.Changes = nil
		}
		err = value.Apply(v, answer.Changes)
	}
	if err != nil {
		return sdk.Answer{}, fmt.Errorf("plugin %s: hook %s: %w", h.plugin.Manifest().Name, hookpoint.Label(hook.Point, hook.Name), err)
	}
	return answer, nil
}

// run calls a hook with its deadline, over its carrier or in this process, as a guest does.
func run(ctx context.Context, info *hookpoint.Info, hook *sdk.Hook, call *sdk.RemoteCall) (answer sdk.Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(hook.Timeout, sdk.DefaultHookTimeout))
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			answer, err = sdk.Answer{}, fmt.Errorf("%w: %v", ErrPanic, p)
		}
	}()
	if hook.Remote != nil {
		return hook.Remote.HandleRemote(ctx, call)
	}
	local := &sdk.HookCall{Point: info.Point, Input: info.NewInput()}
	if err := value.Decode(call.Input, local.Input); err != nil {
		return sdk.Answer{}, fmt.Errorf("input: %w", err)
	}
	if info.NewValue != nil {
		local.Value = info.NewValue()
		if err := value.Decode(call.Value, local.Value); err != nil {
			return sdk.Answer{}, fmt.Errorf("value: %w", err)
		}
	}
	answer, err = guest.Handle(ctx, hook.Handler, local)
	if err = cmp.Or(err, ctx.Err()); err != nil { // the handler may have returned after its deadline
		return sdk.Answer{}, err
	}
	return answer, nil
}

// judge returns an error for an invalid answer.
func judge(info *hookpoint.Info, answer *sdk.Answer) error {
	return cmp.Or(value.CheckAnswer(answer.Changes, answer.Reason, answer.Message), info.Check(answer))
}

// hooksAt returns the plugin's hooks at a point in the order of their calls.
func hooksAt(p sdk.Plugin, at sdk.Point) []sdk.Hook {
	hooker, ok := p.(sdk.Hooker)
	if !ok {
		return nil
	}
	var out []sdk.Hook
	for _, hook := range hooker.Hooks() {
		info, ok := hookpoint.Of(string(hook.Point))
		if !ok || info.Point != at {
			continue
		}
		hook.Point = at
		hook.Name = cmp.Or(hook.Name, string(at))
		out = append(out, hook)
	}
	slices.SortStableFunc(out, func(a, b sdk.Hook) int { return cmp.Compare(a.Priority, b.Priority) })
	return out
}

func checkTypes(info *hookpoint.Info, input, value any) error {
	if want := reflect.TypeOf(info.NewInput()); reflect.TypeOf(input) != want || reflect.ValueOf(input).IsNil() {
		return fmt.Errorf("hook point %s: the input is %T, want %s, and not nil", info.Point, input, want)
	}
	if info.NewValue == nil {
		if value != nil {
			return fmt.Errorf("hook point %s has no value, got %T", info.Point, value)
		}
		return nil
	}
	if want := reflect.TypeOf(info.NewValue()); reflect.TypeOf(value) != want || reflect.ValueOf(value).IsNil() {
		return fmt.Errorf("hook point %s: the value is %T, want %s, and not nil", info.Point, value, want)
	}
	return nil
}

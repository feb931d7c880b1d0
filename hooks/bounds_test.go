package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// remotely makes a hook answer with changes from outside of the process.
func remotely(h sdk.Hook, changes ...sdk.Change) sdk.Hook {
	h.Handler, h.Reads = nil, nil
	h.Remote = remoteFunc(func(context.Context, *sdk.RemoteCall) (sdk.Answer, error) { return sdk.Answer{Changes: changes}, nil })
	return h
}

// TestAnswersAreBounded checks that an answer beyond a bound is a failure of its hook, whatever it declared.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	one := func(pointer, value string) []sdk.Change {
		return []sdk.Change{{Pointer: pointer, Value: json.RawMessage(value)}}
	}
	members := make([]string, value.MaxAnswerChanges+1)
	for i := range members {
		members[i] = fmt.Sprintf(`"k%d":1`, i)
	}
	for name, changes := range map[string][]sdk.Change{
		"segments":              one("/args"+strings.Repeat("/a", 4_000_000), "1"),
		"pointer":               one("/args/"+strings.Repeat("a", 8<<10), "1"),
		"depth":                 one("/args/a", strings.Repeat(`{"a":`, 9000)+"1"+strings.Repeat("}", 9000)),
		"changes":               slices.Repeat(one("/args/a", "1"), value.MaxAnswerChanges+1),
		"bytes":                 one("/args/a", `"`+strings.Repeat("x", value.MaxAnswerBytes)+`"`),
		"members of one object": one("/args", "{"+strings.Join(members, ",")+"}"),
	} {
		for _, writes := range []string{"/args/*", "/args/b"} {
			if name == "members of one object" && writes == "/args/b" {
				continue // they are dropped
			}
			t.Run(name+" "+writes, func(t *testing.T) {
				t.Parallel()
				h := remotely(onArgs(nil), changes...)
				h.Writes, h.Timeout = []string{writes}, sdk.MaxHookTimeout // 16 MiB are read slowly on a busy machine
				e, _ := engine(t, plugin("bad", h))
				var l hooks.Ledger
				v := &sdk.ToolBeforeValue{Args: sdk.Object{"a": "b"}}
				_, err := e.Transform(t.Context(), sdk.PointToolBefore, hooks.Scope{Ledger: &l}, &sdk.ToolInput{}, v)
				if diff := cmp.Diff([]string{"bad error"}, outcomes(&l)); err != nil || diff != "" {
					t.Fatalf("Transform: %v; ledger (-want +got):\n%s", err, diff)
				}
				if text := l.Entries()[0].Error; !strings.Contains(text, value.ErrBounds.Error()) || len(v.Args) != 1 {
					t.Errorf("error %q, value %v; want the bound named and the value untouched", text, v.Args)
				}
			})
		}
	}
}

// slow is a value whose JSON is not ready before it is released.
type slow struct{ *never }

// MarshalJSON waits.
func (s slow) MarshalJSON() ([]byte, error) {
	<-s.release
	return []byte(`{"a":1}`), nil
}

// TestApplyingIsUnderTheDeadline checks that the engine's work on an answer counts toward the hook's deadline, and that a caller
// whose time is up does not wait for it.
func TestApplyingIsUnderTheDeadline(t *testing.T) {
	t.Parallel()
	answer := sdk.Change{Pointer: "/args/slow/a", Value: json.RawMessage("2")}
	for name, c := range map[string]struct {
		limit   time.Duration // of the caller; 0: none
		want    time.Duration
		outcome string
	}{
		"deadline of the hook": {0, 2 * time.Second, "bad timeout"},
		"caller gives up":      {time.Second, time.Second, "bad aborted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stuck := hang(t)
				e, _ := engine(t, plugin("bad", remotely(onArgs(nil), answer)))
				var l hooks.Ledger
				ctx := t.Context()
				if c.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.limit)
					defer cancel()
				}
				begin := time.Now()
				v := &sdk.ToolBeforeValue{Args: sdk.Object{"slow": &slow{stuck}}}
				_, err := e.Transform(ctx, sdk.PointToolBefore, hooks.Scope{Ledger: &l}, &sdk.ToolInput{}, v)
				if took := time.Since(begin); took != c.want || (err != nil) != (c.limit > 0) {
					t.Errorf("Transform took %s, %v, want %s", took, err, c.want)
				}
				stuck.free()
				synctest.Wait()
				if _, ok := v.Args["slow"].(*slow); outcomes(&l)[0] != c.outcome || !ok {
					t.Errorf("ledger %q, value %v; want %q and the value untouched", outcomes(&l), v.Args, c.outcome)
				}
			})
		})
	}
}

// TestLedgerNamesEachPlaceOnce checks that an answer that changes a place and places below it leaves one entry, so that the
// work is proportional to the value.
func TestLedgerNamesEachPlaceOnce(t *testing.T) {
	t.Parallel()
	set := func(pointer, value string) sdk.Change {
		return sdk.Change{Pointer: pointer, Value: json.RawMessage(value)}
	}
	changes := []sdk.Change{set("/args/a/b", "1"), set("/args/c", "3"), set("/args/a", `{"b":1}`), set("/args/a/b", "2"), set("/args/c", "4")}
	e, _ := engine(t, plugin("p", remotely(onArgs(nil), changes...)))
	var l hooks.Ledger
	v := &sdk.ToolBeforeValue{Args: sdk.Object{}}
	if _, err := e.Transform(t.Context(), sdk.PointToolBefore, hooks.Scope{Ledger: &l}, &sdk.ToolInput{}, v); err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, c := range l.Entries()[0].Changes {
		places = append(places, c.Pointer)
	}
	if diff := cmp.Diff([]string{"/args/a", "/args/c"}, places); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

// TestGuard checks that the host is asked about changes from outside the process, and that changes it refuses have no effect.
func TestGuard(t *testing.T) {
	t.Parallel()
	refuse := errors.New("not that")
	asked := 0
	e, told := start(t, hooks.Options{
		Plugins: []hooks.Plugin{
			plugin("own", onArgs(func(_ *sdk.ToolInput, v *sdk.ToolBeforeValue) error { v.Args["own"] = true; return nil })),
			plugin("other", remotely(onArgs(nil), sdk.Change{Pointer: "/args/other", Value: json.RawMessage("true")})),
		},
		CheckChanges: func(h *sdk.Hook, before, after any) error {
			asked++
			if h.Point != sdk.PointToolBefore || before.(*sdk.ToolBeforeValue).Args["other"] != nil || after.(*sdk.ToolBeforeValue).Args["other"] != true {
				t.Errorf("the guard got %v and %v at %s", before, after, h.Point)
			}
			return refuse
		},
	})
	v := &sdk.ToolBeforeValue{Args: sdk.Object{}}
	if _, err := e.Transform(t.Context(), sdk.PointToolBefore, hooks.Scope{}, &sdk.ToolInput{}, v); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sdk.Object{"own": true}, v.Args); diff != "" || asked != 1 {
		t.Errorf("asked %d times, want once; arguments (-want +got):\n%s", asked, diff)
	}
	if list := told.all(); len(list) != 1 || !strings.Contains(list[0].Message, refuse.Error()) {
		t.Errorf("notices = %+v, want one with the reason", list)
	}
}

// onArgs is a hook at tool.execute.before.
func onArgs(f func(in *sdk.ToolInput, v *sdk.ToolBeforeValue) error) sdk.Hook {
	return sdk.OnToolBefore(func(_ context.Context, in *sdk.ToolInput, v *sdk.ToolBeforeValue) error { return f(in, v) })
}

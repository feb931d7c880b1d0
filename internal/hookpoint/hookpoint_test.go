package hookpoint_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

func TestHookTimeout(t *testing.T) {
	t.Parallel()
	most := sdk.MaxHookTimeout.Milliseconds()
	for ms, ok := range map[int64]bool{
		-1: false, 0: true, most: true, most + 1: false,
		18_446_744_073_710: false, math.MaxInt64: false, // more than a time.Duration can hold
	} {
		h, err := hookpoint.Hook(&sdk.HookDescription{Point: string(sdk.PointEvent), TimeoutMS: ms}, "hooks[0]", nil)
		if (err == nil) != ok || !ok && !errors.Is(err, sdk.ErrManifest) || ok && h.Timeout.Milliseconds() != ms {
			t.Errorf("%d ms: %v, %v", ms, h.Timeout, err)
		}
	}
}

// An unknown policy is an error, and so are changes at a point without a value: a gate would let every call pass.
func TestNoEffect(t *testing.T) {
	t.Parallel()
	d := &sdk.HookDescription{Point: string(sdk.PointPermissionAsk), OnError: "Deny"}
	if _, err := hookpoint.Hook(d, "hooks[0]", nil); !errors.Is(err, sdk.ErrManifest) {
		t.Errorf("policy %q: %v", d.OnError, err)
	}
	changes := &sdk.Answer{Changes: []sdk.Change{{Pointer: "/args", Value: []byte("{}")}}}
	for _, p := range hookpoint.All() {
		if err := p.Check(changes); (err == nil) != (p.Kind == hookpoint.KindTransform) {
			t.Errorf("changes at %s, of kind %s: %v", p.Point, p.Kind, err)
		}
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	for _, p := range hookpoint.All() {
		for _, name := range []string{string(p.Point), "experimental." + string(p.Point)} {
			if got, ok := hookpoint.Of(name); !ok || got.Point != p.Point {
				t.Errorf("Of(%q) = %s, %v", name, got.Point, ok)
			}
		}
		if (p.NewValue != nil) != (p.Kind == hookpoint.KindTransform) {
			t.Errorf("%s of kind %s: has a value: %v", p.Point, p.Kind, p.NewValue != nil)
		}
	}
	if _, ok := hookpoint.Of("chat.nonsense"); ok {
		t.Error("Of finds a point that is not there")
	}
}

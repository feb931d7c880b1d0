package hookpoint_test

import (
	"testing"

	"github.com/tenonhq/tenon/internal/hookpoint"
)

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

package child_test

import (
	"testing"

	"github.com/tenonhq/tenon/internal/child"
)

// TestLookup: the last value of a variable counts, an empty one too.
func TestLookup(t *testing.T) {
	t.Parallel()
	environ := []string{"A=1", "B=x=y", "C=", "A=2", "D"}
	for name, want := range map[string]struct {
		value string
		ok    bool
	}{"A": {"2", true}, "B": {"x=y", true}, "C": {"", true}, "D": {"", false}, "E": {"", false}} {
		if value, ok := child.Lookup(environ, name); value != want.value || ok != want.ok {
			t.Errorf("Lookup(%s) = %q, %v, want %q, %v", name, value, ok, want.value, want.ok)
		}
	}
}

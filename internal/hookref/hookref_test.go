package hookref

import (
	"flag"
	"os"
	"testing"

	"github.com/tenonhq/tenon/internal/hookpoint"
)

var update = flag.Bool("update", false, "write docs/hooks.md")

const page = "../../docs/hooks.md"

// TestReferenceIsCurrent checks that the page is what the code says.
func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	want := reference(t)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/hooks.md is not what the code says; run go test ./internal/hookref -update")
	}
}

// TestReferenceNamesConstructors checks that the page names a function for each point.
func TestReferenceNamesConstructors(t *testing.T) {
	t.Parallel()
	names := constructors(t)
	for _, p := range hookpoint.All() {
		if names[p.Point] == "" {
			t.Errorf("no function in sdk/on.go makes hooks at %s", p.Point)
		}
	}
	if len(names) != len(hookpoint.All()) {
		t.Errorf("%d points in sdk/point.go, want %d", len(names), len(hookpoint.All()))
	}
}

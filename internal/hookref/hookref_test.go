package hookref

import (
	"flag"
	"os"
	"testing"

	"github.com/tenonhq/tenon/internal/hookpoint"
)

var update = flag.Bool("update", false, "write docs/hooks.md and the points of the conformance suite")

// TestReferenceIsCurrent checks that the page, and the points for the plugins of the conformance suite, are what the code says.
func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	points := ""
	for _, p := range hookpoint.All() {
		points += string(p.Point) + "\n"
	}
	for file, want := range map[string]string{"../../docs/hooks.md": reference(t), "../conformance/points.txt": points} {
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what the code says; run go test ./internal/hookref -update", file)
		}
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

package hookref_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/hookref"
)

var update = flag.Bool("update", false, "write docs/hooks.md")

const page = "../../docs/hooks.md"

// TestReferenceIsCurrent checks that the page is what the code says.
func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	want := hookref.Reference()
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

// TestReferenceNamesConstructors checks that each function the page names is there.
func TestReferenceNamesConstructors(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../sdk/on.go")
	if err != nil {
		t.Fatal(err)
	}
	text := hookref.Reference()
	for _, line := range strings.Split(text, "\n") {
		name, ok := strings.CutPrefix(line, "- In Go: `sdk.")
		if !ok {
			continue
		}
		name = strings.TrimSuffix(name, "`")
		if !strings.Contains(string(source), "func "+name+"(") {
			t.Errorf("the page names sdk.%s, which is not in sdk/on.go", name)
		}
	}
	if got := strings.Count(text, "- In Go:"); got != len(hookpoint.All()) {
		t.Errorf("%d points on the page, want %d", got, len(hookpoint.All()))
	}
}

package search_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// TestGrepLeavesSecretsToRead checks that a search shows nothing from files for which reading requires
// approval, and that searching such a file by name needs the same permission as reading it.
func TestGrepLeavesSecretsToRead(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		".env": "KEY=1", "a/prod.env": "KEY=2", "a/.env.local": "KEY=3", ".env.example": "KEY=4", "a/env.go": "KEY=5",
	})
	out := run(t, root, "grep", sdk.Object{"pattern": "KEY"}).Output
	for text, want := range map[string]bool{
		"KEY=1": false, "KEY=2": false, "KEY=3": false, "KEY=4": true, "KEY=5": true, "3 files such as .env": true,
	} {
		if strings.Contains(out, text) != want {
			t.Errorf("%q in the output: %v, want %v:\n%s", text, !want, want, out)
		}
	}
	if err := os.Symlink(".env", filepath.Join(root, "link")); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{".env", "link"} {
		requests, err := tool(t, "grep").(sdk.ToolPreparer).Prepare(t.Context(), newCall(root, "grep", sdk.Object{"pattern": "KEY", "path": name}))
		if err != nil {
			t.Fatal(err)
		}
		last := requests[len(requests)-1]
		if last.Permission != "read" || !slices.Contains(last.Patterns, ".env") {
			t.Errorf("%s: the last request is %+v, want read of .env", name, last)
		}
	}
	if out := run(t, root, "grep", sdk.Object{"pattern": "KEY", "path": ".env"}).Output; !strings.Contains(out, "KEY=1") {
		t.Errorf("a file that was named is not searched: %s", out)
	}
}

// rules is a host whose rules deny reading some paths.
type rules struct {
	sdk.ToolHost
	denied map[string]bool
}

func (r rules) DeniesByName(permission, pattern string) bool {
	return permission == "read" && r.denied[pattern]
}

// TestGrepShowsNothingDenied checks that a search shows no lines of a file that a rule denies to read, and says so.
func TestGrepShowsNothingDenied(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a/key.pem": "KEY=1", "b.go": "KEY=2", "c.go": ""})
	if err := os.Symlink("a", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path   string
		denied map[string]bool
		want   [3]bool // KEY=1, KEY=2, the note
	}{
		"in a directory": {"", map[string]bool{"a/key.pem": true}, [3]bool{false, true, true}},
		"below it":       {"a", map[string]bool{"a/key.pem": true}, [3]bool{false, false, true}},
		"by a link":      {"link", map[string]bool{"a/key.pem": true}, [3]bool{false, false, true}},
		"by its name":    {"link", map[string]bool{"link/key.pem": true}, [3]bool{false, false, true}},
		"without match":  {"", map[string]bool{"c.go": true}, [3]bool{true, true, true}},
		"by name":        {"a/key.pem", map[string]bool{"a/key.pem": true}, [3]bool{false, false, true}},
		"none":           {"", nil, [3]bool{true, true, false}},
	} {
		call := newCall(root, "grep", sdk.Object{"pattern": "KEY", "path": c.path})
		call.Host = rules{denied: c.denied}
		r, err := tool(t, "grep").Execute(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]bool{strings.Contains(r.Output, "KEY=1"), strings.Contains(r.Output, "KEY=2"), strings.Contains(r.Output, "left out")}; got != c.want {
			t.Errorf("%s: shown %v, want %v:\n%s", name, got, c.want, r.Output)
		}
	}
}

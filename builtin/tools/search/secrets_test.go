package search_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// TestGrepLeavesSecretsToRead checks that a search shows nothing of files that reading asks for, and that
// one of them by name needs the same leave as reading it.
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

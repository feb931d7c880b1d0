//go:build unix

package search_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// No search shows names or lines from outside the project without asking, whatever happens to the links in the path.
func TestNoEscapeWhileLinksChange(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, outside := filepath.Join(base, "work"), filepath.Join(base, "out")
	for path, text := range map[string]string{
		filepath.Join(root, "in", "f"): "needle inside", filepath.Join(root, "tree", "sub", "f"): "needle inside",
		filepath.Join(root, "tree", "sub", "g"): "needle inside", filepath.Join(outside, "g"): "needle secret",
		filepath.Join(outside, "f"): "needle secret", filepath.Join(outside, "secretname"): "needle secret",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	var flipping sync.WaitGroup
	t.Cleanup(func() { close(done); flipping.Wait() })
	flipping.Go(func() { // ends with the test
		sub, aside := filepath.Join(root, "tree", "sub"), filepath.Join(root, "tree", "aside")
		for {
			for _, target := range []string{"in", outside} {
				_ = os.Symlink(target, filepath.Join(root, "next"))
				_ = os.Rename(filepath.Join(root, "next"), filepath.Join(root, "d"))
			}
			_ = os.Rename(sub, aside)
			_ = os.Symlink(outside, sub)
			_ = os.Remove(sub)
			_ = os.Rename(aside, sub)
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for range 200 {
		for id, args := range map[string][]sdk.Object{
			"grep": {{"pattern": "needle"}, {"pattern": "needle", "path": "d"}, {"pattern": "needle", "path": "d/f"}, {"pattern": "needle", "path": "tree"}},
			"glob": {{"pattern": "**/secret*"}, {"pattern": "*", "path": "d"}},
		} {
			for _, a := range args {
				call := newCall(root, id, a)
				requests, err := tool(t, id).(sdk.ToolPreparer).Prepare(context.Background(), call)
				if err != nil || requests[0].Permission == sdk.PermissionExternalDirectory {
					continue
				}
				result, err := tool(t, id).Execute(context.Background(), call)
				if err == nil && strings.Contains(result.Output, "secret") && !strings.Contains(result.Output, "No files found") {
					t.Fatalf("%s %v shows what is outside: %q", id, a, result.Output)
				}
			}
		}
	}
}

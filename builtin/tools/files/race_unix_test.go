//go:build unix

package files_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

const outsideSecret = "secret of another project"

// flip keeps changing what the name d in the worktree is until the test ends: a link to in or to the directory outside, or the
// directory itself.
func flip(t *testing.T, root, outside string) {
	t.Helper()
	done := make(chan struct{})
	var flipping sync.WaitGroup
	t.Cleanup(func() { close(done); flipping.Wait() })
	d, link, real := filepath.Join(root, "d"), filepath.Join(root, "next"), filepath.Join(root, "real")
	flipping.Go(func() {
		for {
			for _, target := range []string{"in", outside} {
				_ = os.Symlink(target, link)
				_ = os.Rename(link, d)
			}
			_ = os.RemoveAll(d) // a tool may have created it as a directory
			_ = os.Rename(real, d)
			_ = os.Rename(d, real)
			select {
			case <-done:
				return
			default:
			}
		}
	})
}

// No tool reads or writes outside the project without asking, whatever happens to the links in the path.
func TestNoEscapeWhileLinksChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b.put("in/f", "inside\n")
	b.put("in/sub/f", "inside\n")
	b.put("real/f", "inside\n")
	if err := os.MkdirAll(filepath.Join(outside, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f", "sub/f"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte(outsideSecret+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	flip(t, b.root, outside)
	for _, c := range []struct {
		tool   string
		args   sdk.Object
		rounds int
	}{
		{"read", sdk.Object{"filePath": "d/f"}, 2000},
		{"read", sdk.Object{"filePath": "d"}, 500},
		{"read", sdk.Object{"filePath": "d/missing"}, 500},
		{"list", sdk.Object{"path": "d"}, 500},
		{"write", sdk.Object{"filePath": "d/new", "content": "x"}, 150},
		{"write", sdk.Object{"filePath": "d/a/b/new", "content": "x"}, 150},
		{"edit", edit("d/f", outsideSecret, "changed"), 150},
		{"apply_patch", patch("*** Add File: d/added", "+x"), 150},
		{"apply_patch", patch("*** Delete File: d/f"), 150},
	} {
		for range c.rounds {
			call := b.call(c.tool, c.args)
			requests, err := b.tool(c.tool).(sdk.ToolPreparer).Prepare(context.Background(), call)
			if err != nil || asksOutside(requests) {
				continue
			}
			result, err := b.tool(c.tool).Execute(context.Background(), call)
			if err == nil && strings.Contains(result.Output, outsideSecret) {
				t.Fatalf("%s %v read a file outside: %q", c.tool, c.args, result.Output)
			}
		}
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 2 {
		t.Errorf("outside holds %v, %v, want f and sub", entries, err)
	}
	content, err := os.ReadFile(filepath.Join(outside, "f"))
	if err != nil || string(content) != outsideSecret+"\n" {
		t.Errorf("the file outside is %q, %v", content, err)
	}
}

// A link that changes between the question and the answer leads no tool out of the project.
func TestNoEscapeAfterTheQuestion(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]sdk.Object{
		"read":        {"filePath": "d/f"},
		"list":        {"path": "d"},
		"write":       {"filePath": "d/new", "content": "x"},
		"edit":        edit("d/new", "", "x"),
		"apply_patch": patch("*** Add File: d/new", "+x"),
	} {
		for before, create := range map[string]func(b *workbench) error{
			"link":      func(b *workbench) error { return os.Symlink("in", b.path("d")) },
			"directory": func(b *workbench) error { return os.Rename(b.path("in"), b.path("d")) },
			"nothing":   func(*workbench) error { return nil },
		} {
			t.Run(name+" "+before, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.put("in/f", "inside\n")
				outside := t.TempDir()
				if err := os.WriteFile(filepath.Join(outside, "f"), []byte(outsideSecret), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := create(b); err != nil {
					t.Fatal(err)
				}
				call := b.call(name, args)
				requests, err := b.tool(name).(sdk.ToolPreparer).Prepare(context.Background(), call)
				if err != nil || asksOutside(requests) {
					t.Fatalf("Prepare = %v, %v", requests, err)
				}
				if err := os.RemoveAll(b.path("d")); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(outside, b.path("d")); err != nil {
					t.Fatal(err)
				}
				if result, err := b.tool(name).Execute(context.Background(), call); err == nil {
					t.Errorf("%s follows the new link: %q", name, result.Output)
				}
				if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
					t.Errorf("outside holds %v, %v", entries, err)
				}
			})
		}
	}
}

func asksOutside(requests []sdk.PermissionRequest) bool {
	for _, r := range requests {
		if r.Permission == sdk.PermissionExternalDirectory {
			return true
		}
	}
	return false
}

// A permission outside of the project is valid for that file, not for the later target of a link at its path.
func TestApprovedOutsideIsExact(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"good", "bad"} {
		if err := os.MkdirAll(filepath.Join(outside, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(outside, dir, "f"), []byte(dir+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(outside, "good", "f")
	call := b.call("read", sdk.Object{"filePath": path})
	requests, err := b.tool("read").(sdk.ToolPreparer).Prepare(context.Background(), call)
	if err != nil || !asksOutside(requests) {
		t.Fatalf("Prepare = %v, %v, want a request for the directory outside", requests, err)
	}
	result, err := b.tool("read").Execute(context.Background(), call)
	if err != nil || !strings.Contains(result.Output, "good") {
		t.Errorf("what was approved is not read: %v", err)
	}
	if err := os.Rename(filepath.Join(outside, "good"), filepath.Join(outside, "old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("bad", filepath.Join(outside, "good")); err != nil {
		t.Fatal(err)
	}
	if result, err := b.tool("read").Execute(context.Background(), call); err == nil {
		t.Errorf("read another file than was approved: %q", result.Output)
	}
}

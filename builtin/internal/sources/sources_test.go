package sources_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/internal/sources"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigFoldersNearestLast(t *testing.T) {
	t.Parallel()
	got := sources.ConfigFolders(sdk.Project{Directory: "/p/sub", Worktree: "/p", ConfigDir: "/conf"})
	want := []string{"/conf", "/p/.opencode", "/p/.tenon", "/p/sub/.opencode", "/p/sub/.tenon"}
	for i := range got {
		got[i] = filepath.ToSlash(got[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ConfigFolders (-want +got):\n%s", diff)
	}
}

func TestWatchNotices(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, dir string){
		"a new file":      func(t *testing.T, dir string) { write(t, filepath.Join(dir, "new.md"), "x") },
		"a new folder":    func(t *testing.T, dir string) { write(t, filepath.Join(dir, "missing", "x.md"), "x") },
		"other content":   func(t *testing.T, dir string) { write(t, filepath.Join(dir, "a.md"), "longer than before") },
		"a removed file":  func(t *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, "a.md")) },
		"a file deeper":   func(t *testing.T, dir string) { write(t, filepath.Join(dir, "sub", "y.md"), "x") },
		"a later mtime":   func(t *testing.T, dir string) { touch(t, filepath.Join(dir, "a.md")) },
		"a missing file ": func(t *testing.T, dir string) { write(t, filepath.Join(dir, "absent"), "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			old := time.Now().Add(-time.Hour)
			for _, path := range []string{write(t, filepath.Join(dir, "a.md"), "a"), write(t, filepath.Join(dir, "sub", "b.md"), "b"), filepath.Join(dir, "sub"), dir} {
				if err := os.Chtimes(path, old, old); err != nil {
					t.Fatal(err)
				}
			}
			w := sources.NewWatch(sdk.Project{}, slog.New(slog.DiscardHandler))
			for _, path := range w.Tree(dir, sources.Markdown) {
				if _, _, err := w.ReadFile(path, 100); err != nil {
					t.Fatal(err)
				}
			}
			w.Tree(filepath.Join(dir, "missing"), sources.Markdown)
			w.Exists(filepath.Join(dir, "absent"))
			if !w.Fresh() {
				t.Fatal("not fresh without a change")
			}
			change(t, dir)
			if w.Fresh() {
				t.Error("the change went unnoticed")
			}
		})
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.Chtimes(path, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b.md"), "")
	write(t, filepath.Join(dir, "a", "z.MD"), "")
	write(t, filepath.Join(dir, "a", "skip.txt"), "")
	write(t, filepath.Join(dir, "node_modules", "n.md"), "")
	if err := os.Symlink(dir, filepath.Join(dir, "a", "loop")); err != nil {
		t.Skip(err)
	}
	w := sources.NewWatch(sdk.Project{}, slog.New(slog.DiscardHandler))
	got := w.Tree(dir, sources.Markdown)
	if len(got) < 2 || got[len(got)-1] != filepath.Join(dir, "b.md") {
		t.Errorf("Tree = %q, want b.md last", got)
	}
	if len(got) > 100 {
		t.Errorf("a loop of links gave %d files", len(got))
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	path := write(t, filepath.Join(t.TempDir(), "f"), "12345")
	w := sources.NewWatch(sdk.Project{}, slog.New(slog.DiscardHandler))
	if data, cut, err := w.ReadFile(path, 5); string(data) != "12345" || cut || err != nil {
		t.Errorf("ReadFile(5) = %q, %v, %v", data, cut, err)
	}
	if data, cut, err := w.ReadFile(path, 4); string(data) != "1234" || !cut || err != nil {
		t.Errorf("ReadFile(4) = %q, %v, %v", data, cut, err)
	}
	if _, _, err := w.ReadFile(filepath.Dir(path), 4); !errors.Is(err, projectfs.ErrSpecial) {
		t.Errorf("ReadFile of a directory = %v, want ErrSpecial", err)
	}
}

func TestTreeOfAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := write(t, filepath.Join(dir, "a.md"), "")
	write(t, filepath.Join(dir, "b.md", "c.md"), "")
	w := sources.NewWatch(sdk.Project{}, slog.New(slog.DiscardHandler))
	for of, want := range map[string][]string{path: {path}, filepath.Join(dir, "b.md"): {filepath.Join(dir, "b.md", "c.md")}, filepath.Join(dir, "none.md"): nil} {
		if diff := cmp.Diff(want, w.Tree(of, sources.Markdown)); diff != "" {
			t.Errorf("Tree(%s) (-want +got):\n%s", of, diff)
		}
	}
}

package ignore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/tools/search/ignore"
	"github.com/tenonhq/tenon/internal/projectfs"
)

func makeTree(t *testing.T, tree map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range tree {
		write(t, filepath.Join(root, filepath.FromSlash(name)), content)
	}
	return root
}

func TestWalkRules(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tree map[string]string
		root string // below the tree
		want []string
	}{
		"without a repository": {map[string]string{".gitignore": "x\n", "x": "", "y": ""}, "", []string{".gitignore", "y"}},
		".ignore outranks .gitignore": {map[string]string{".gitignore": "*.log\nz\n", ".ignore": "!keep.log\n", "sub/keep.log": "", "a.log": "", "z": ""}, "",
			[]string{".gitignore", ".ignore", "sub/keep.log"}},
		".ignore above outranks .gitignore below": {map[string]string{".ignore": "!a\n", "sub/.gitignore": "a\n", "sub/a": ""}, "", []string{".ignore", "sub/.gitignore", "sub/a"}},
		"rules above the root":                    {map[string]string{".gitignore": "/sub/x\n*.o\n", "sub/x": "", "sub/y.o": "", "sub/z": ""}, "sub", []string{"z"}},
		"ignored root":                            {map[string]string{".gitignore": "out/\n*.o\n", "out/x": "", "out/y.o": ""}, "out", []string{"x"}},
		"repository in the repository": {map[string]string{".gitignore": "x\n", ".ignore": "y\n", "inner/.git/HEAD": "", "inner/x": "", "inner/y": ""}, "",
			[]string{".gitignore", ".ignore", "inner/x"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := makeTree(t, tt.tree)
			if diff := cmp.Diff(tt.want, files(t, filepath.Join(top, tt.root), top)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWalkOutsideOfTop(t *testing.T) {
	t.Parallel()
	top := makeTree(t, map[string]string{".gitignore": "*\n", "repo/.git/HEAD": "", "repo/.gitignore": "x\n", "repo/sub/x": "", "repo/sub/y": ""})
	if diff := cmp.Diff([]string{"y"}, files(t, filepath.Join(top, "repo", "sub"), t.TempDir())); diff != "" {
		t.Errorf("rules begin at the repository (-want +got):\n%s", diff)
	}
}

func TestWalkOrder(t *testing.T) {
	t.Parallel()
	tree := map[string]string{}
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprintf("d%02d", i))
		for j := range 10 {
			name := fmt.Sprintf("d%02d/e%d", i, j)
			want = append(want, name, name+"/f")
			tree[name+"/f"] = ""
		}
	}
	root := makeTree(t, tree)
	for range 10 {
		var got []string
		if _, err := walk(t, context.Background(), root, root, func(e ignore.Entry) error {
			got = append(got, e.Rel)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("order (-want +got):\n%s", diff)
		}
	}
}

// TestWalkLevels checks that a level is visited before what is below it, and that rules still apply.
func TestWalkLevels(t *testing.T) {
	t.Parallel()
	root := makeTree(t, map[string]string{"a/a/1": "", "a/.gitignore": "x\n", "a/b/x": "", "b/x": "", "c/c/c/2": "", "d": ""})
	dir, err := projectfs.OpenDir(nil, projectfs.Real(root))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var got []string
	if _, err := ignore.WalkLevels(t.Context(), dir, root, root, func(e ignore.Entry) error {
		got = append(got, e.Rel)
		switch e.Rel {
		case "c/c":
			return fs.SkipDir
		case "a/a/1":
			return fs.SkipAll
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d", "a/.gitignore", "a/a", "a/b", "b/x", "c/c", "a/a/1"}, got); diff != "" {
		t.Errorf("visited (-want +got):\n%s", diff)
	}
}

func TestWalkStops(t *testing.T) {
	t.Parallel()
	root := makeTree(t, map[string]string{"a/1": "", "b/2": "", "c/3": ""})
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tests := map[string]struct {
		at    func(rel string) error
		want  []string
		error error
	}{
		"skip a directory": {on("b", fs.SkipDir), []string{"a", "a/1", "b", "c", "c/3"}, nil},
		"skip all":         {on("b", fs.SkipAll), []string{"a", "a/1", "b"}, nil},
		"skip all, file":   {on("a/1", fs.SkipAll), []string{"a", "a/1"}, nil},
		"error":            {on("b/2", broken), []string{"a", "a/1", "b", "b/2"}, broken},
		"cancelled": {func(rel string) error {
			if rel == "b" {
				cancel()
			}
			return nil
		}, []string{"a", "a/1", "b"}, context.Canceled},
	}
	for _, name := range []string{"skip a directory", "skip all", "skip all, file", "error", "cancelled"} {
		tt := tests[name]
		t.Run(name, func(t *testing.T) {
			var got []string
			_, err := walk(t, ctx, root, root, func(e ignore.Entry) error {
				got = append(got, e.Rel)
				return tt.at(e.Rel)
			})
			if !errors.Is(err, tt.error) || tt.error == nil && err != nil {
				t.Errorf("error = %v, want %v", err, tt.error)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("visited (-want +got):\n%s", diff)
			}
		})
	}
}

func on(rel string, err error) func(string) error {
	return func(got string) error {
		if got == rel {
			return err
		}
		return nil
	}
}

func TestWalkLinks(t *testing.T) {
	t.Parallel()
	root := makeTree(t, map[string]string{"dir/a": ""})
	if err := os.Symlink("..", filepath.Join(root, "dir", "up")); err != nil {
		t.Skip(err)
	}
	if diff := cmp.Diff([]string{"dir/a", "dir/up"}, files(t, root, root)); diff != "" {
		t.Errorf("links are visited and not followed (-want +got):\n%s", diff)
	}
	if err := os.Symlink(filepath.Join(root, "dir"), filepath.Join(root, "root")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "up"}, files(t, filepath.Join(root, "root"), root)); diff != "" {
		t.Errorf("the root is followed (-want +got):\n%s", diff)
	}
}

func TestWalkUnreadable(t *testing.T) {
	t.Parallel()
	root := makeTree(t, map[string]string{"gone/x": "", "here/y": ""})
	unreadable, err := walk(t, context.Background(), root, root, func(e ignore.Entry) error { return nil })
	if unreadable != 0 || err != nil {
		t.Errorf("Walk = %d, %v", unreadable, err)
	}
	if os.Getuid() == 0 {
		t.Skip("root can read everything")
	}
	if err := os.Chmod(filepath.Join(root, "gone"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(root, "gone"), 0o755) //nolint:errcheck // for the removal of the directory
	unreadable, err = walk(t, context.Background(), root, root, func(e ignore.Entry) error { return nil })
	if unreadable != 1 || err != nil {
		t.Errorf("Walk = %d, %v, want 1 unreadable directory", unreadable, err)
	}
}

// walk opens the root and walks it.
func walk(t *testing.T, ctx context.Context, root, top string, visit func(ignore.Entry) error) (int, error) {
	t.Helper()
	dir, err := projectfs.OpenDir([]string{projectfs.Real(top)}, projectfs.Real(root))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	return ignore.Walk(ctx, dir, root, top, visit)
}

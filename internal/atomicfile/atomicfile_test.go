package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/atomicfile"
)

// files returns the names in dir and the contents of the regular files.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil && !e.IsDir() {
			t.Fatal(err)
		}
		out[e.Name()] = string(content)
	}
	return out
}

func TestWrite(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]atomicfile.Options{
		"default":        {},
		"durable":        {Sync: true, SyncDir: true},
		"name of a temp": {Temp: "a.lock"},
		"prepared":       {Mode: 0o644, Prepare: func(f *os.File) error { return f.Chmod(0o600) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "a")
			for _, content := range []string{"new", "newer"} {
				if err := atomicfile.Write(path, []byte(content), o); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(map[string]string{"a": content}, files(t, dir)); diff != "" {
					t.Fatalf("files (-want +got):\n%s", diff)
				}
			}
			if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, error %v; want 0600", info.Mode(), err)
			}
		})
	}
}

// A failed write leaves the old file and nothing else.
func TestFailure(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		file string
		o    atomicfile.Options
		want error
	}{
		"preparation fails":         {"a", atomicfile.Options{Prepare: func(*os.File) error { return broken }}, broken},
		"temporary file exists":     {"b", atomicfile.Options{Temp: "a"}, fs.ErrExist},
		"directory is missing":      {"none/a", atomicfile.Options{}, fs.ErrNotExist},
		"directory has the name":    {"dir", atomicfile.Options{}, nil},
		"temporary file is outside": {"a", atomicfile.Options{Temp: "../../x"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a"), []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(dir, "dir", "full"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := atomicfile.Write(filepath.Join(dir, c.file), []byte("new"), c.o); err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if diff := cmp.Diff(map[string]string{"a": "old", "dir": ""}, files(t, dir)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// The error names the file and not the temporary one.
func TestFailureNamesTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.Mkdir(filepath.Join(dir, "temp"), 0o700); err != nil {
		t.Fatal(err)
	}
	var failed *fs.PathError
	if err := atomicfile.Write(path, nil, atomicfile.Options{Temp: "temp"}); !errors.As(err, &failed) || failed.Path != path || !errors.Is(err, fs.ErrExist) {
		t.Errorf("Write = %v, want an error about %s", err, path)
	}
	occupied := filepath.Join(dir, "temp")
	if err := atomicfile.Write(occupied, nil, atomicfile.Options{}); !errors.As(err, &failed) || failed.Path != occupied {
		t.Errorf("Write in the place of a directory = %v, want an error about %s", err, occupied)
	}
}

// A link is replaced; its target stays as it is.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	for _, err := range []error{
		atomicfile.Write(target, []byte("old"), atomicfile.Options{}),
		os.Symlink("target", link),
		atomicfile.Write(link, []byte("new"), atomicfile.Options{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]string{"target": "old", "link": "new"}, files(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// A file below a root is written through directories, and not out of it.
func TestWriteIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "root", "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(dir, "root", "out")); err != nil {
		t.Skip(err) // Windows without the privilege to create links
	}
	root, err := os.OpenRoot(filepath.Join(dir, "root"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := atomicfile.WriteIn(root, filepath.Join("sub", "a"), []byte("new"), atomicfile.Options{SyncDir: true}); err != nil {
		t.Error(err)
	}
	if err := atomicfile.WriteIn(root, filepath.Join("out", "a"), []byte("new"), atomicfile.Options{}); err == nil {
		t.Error("wrote outside of the root")
	}
	if diff := cmp.Diff(map[string]string{"a": "new"}, files(t, filepath.Join(dir, "root", "sub"))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"root": ""}, files(t, dir)); diff != "" {
		t.Errorf("files outside (-want +got):\n%s", diff)
	}
}

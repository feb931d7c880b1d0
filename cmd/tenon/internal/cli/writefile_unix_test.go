//go:build unix

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file with secrets becomes private; any other keeps its mode, and a new one is private unless it is the project's.
func TestWriteFileMode(t *testing.T) {
	t.Parallel()
	w := workspace(t)
	w.Project.Worktree = t.TempDir()
	w.Project.Directory = w.Project.Worktree
	for _, c := range []struct {
		dir       string
		old, want os.FileMode // old 0: no file
		secret    bool
	}{
		{w.Project.Home, 0, 0o600, false}, {w.Project.Home, 0o640, 0o640, false}, {w.Project.Home, 0o644, 0o600, true},
		{w.Project.Worktree, 0, 0o644, false}, {w.Project.Worktree, 0o600, 0o600, false},
	} {
		path := filepath.Join(c.dir, "tenon.json")
		_ = os.Remove(path) // of the case before
		if c.old != 0 {
			if err := errors.Join(os.WriteFile(path, nil, c.old), os.Chmod(path, c.old)); err != nil { // whatever the umask
				t.Fatal(err)
			}
		}
		if err := w.WriteFile(path, []byte("{}"), c.secret); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != c.want {
			t.Errorf("%+v: mode %v", c, info.Mode())
		}
	}
}

//go:build unix

package projectfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// TestResolver checks that remembered directories change no result.
func TestResolver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "a/b"), 0o700), os.Symlink("a/b", filepath.Join(dir, "link")), os.Symlink("gone", filepath.Join(dir, "a/b/lost")),
		os.Symlink("../link", filepath.Join(dir, "a/again")), os.Symlink("loop", filepath.Join(dir, "loop"))); err != nil {
		t.Fatal(err)
	}
	r := projectfs.Resolver{}
	for range 2 {
		for _, name := range []string{"", "/a", "/link", "/link/x", "/link/../x", "/link/", "/link/lost", "/a/again", "/a/again/y/z", "/loop", "/loop/x", "/none/x"} {
			if path := dir + name; r.Real(path) != projectfs.Real(path) {
				t.Errorf("%s: %s, want %s", path, r.Real(path), projectfs.Real(path))
			}
		}
	}
	if got := r.Real("/"); got != "/" {
		t.Errorf("/ is %s", got)
	}
}

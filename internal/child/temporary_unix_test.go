//go:build unix

package child_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/internal/child"
)

// TestTemporaryStaysInside: a command may put a link in place of its temporary directory, or in it. Nothing is created where it leads.
func TestTemporaryStaysInside(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	packages := filepath.Join(t.TempDir(), "_cacache")
	linked, inside := filepath.Join(dir, "linked"), filepath.Join(dir, "inside")
	if err := os.Symlink(outside, linked); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, temp := range []string{linked, inside} {
		child.Temporary(nil, temp, []string{packages})
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
		t.Errorf("created behind the link: %v, %v", list, err)
	}
	if target, err := os.Readlink(filepath.Join(inside, "npm", "_cacache")); err != nil || target != packages {
		t.Errorf("npm's packages are not shared: %q, %v", target, err)
	}
}

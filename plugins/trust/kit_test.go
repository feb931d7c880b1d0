package trust_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/plugins/trust"
)

// files are the content of a directory: "-> target" makes a link, "+x" at the start an executable, a name that ends in / a directory.
type files map[string]string

func (f files) write(t testing.TB) string {
	t.Helper()
	return f.writeTo(t, filepath.Join(t.TempDir(), "package"))
}

func (f files) writeTo(t testing.TB, dir string) string {
	t.Helper()
	mkdir(t, dir)
	for name, content := range f {
		path := filepath.Join(dir, filepath.FromSlash(name))
		mkdir(t, filepath.Dir(path))
		if strings.HasSuffix(name, "/") {
			mkdir(t, path)
			continue
		}
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		mode := os.FileMode(0o644)
		if rest, ok := strings.CutPrefix(content, "+x"); ok {
			content, mode = rest, 0o755
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mkdir(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func digest(t testing.TB, path string) trust.Digest {
	t.Helper()
	tree, err := trust.ReadTree(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return tree.Digest()
}

// newVault returns a vault whose copies the test can delete.
func newVault(t testing.TB) *trust.Vault {
	t.Helper()
	dir := t.TempDir()
	v := trust.NewVault(filepath.Join(dir, "store"), filepath.Join(dir, "cache"))
	v.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	t.Cleanup(func() {
		if err := child.RemoveAll(filepath.Join(dir, "store")); err != nil {
			t.Error(err)
		}
	})
	return v
}

func seal(t testing.TB, v *trust.Vault, path string) *trust.Sealed {
	t.Helper()
	s, err := v.Seal(context.Background(), path, digest(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

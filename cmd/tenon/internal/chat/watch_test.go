package chat

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// Changes of a file and of a package behind a link count, in new directories too; those of other files do not.
func TestWatcher(t *testing.T) {
	t.Parallel()
	dir := projectfs.Real(t.TempDir())
	pkg, link, one, two := filepath.Join(dir, "package"), filepath.Join(dir, "link"), filepath.Join(dir, "one.wasm"), filepath.Join(dir, "two.wasm")
	if err := errors.Join(os.Mkdir(pkg, 0o700), os.WriteFile(one, nil, 0o600), os.Symlink(pkg, link)); err != nil {
		t.Skip(err)
	}
	w, err := newWatcher([]string{link, one})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for path, counts := range map[string]bool{one: true, two: false, filepath.Join(pkg, "a~"): false, filepath.Join(pkg, "new", "a"): true} {
		if filepath.Base(path) == "a" {
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			w.follow(filepath.Dir(path))
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		e := <-w.events()
		for e.Name != path {
			e = <-w.events()
		}
		if w.counts(e) != counts {
			t.Errorf("%s counts: %v", e, !counts)
		}
	}
}

package chat

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// Changes of a file and of a package behind a link count once they are stable, in new directories too; those of other files do not.
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
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("new"), 0o600)); err != nil {
			t.Fatal(err)
		}
		if first, second := w.changed(), w.changed(); first || second != counts {
			t.Errorf("%s: changed is %v and then %v", path, first, second)
		}
		w.loaded = w.seen
	}
	for i := range maxWatched + 1 {
		if err := os.Mkdir(filepath.Join(pkg, fmt.Sprintf("z%d", i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.loaded, _ = w.files()
	if err := os.WriteFile(filepath.Join(pkg, "many"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if w.changed(); !w.changed() {
		t.Error("nothing is watched in a package that has become too large")
	}
	if err := os.Remove(one); err != nil {
		t.Fatal(err)
	}
	if w.changed(); !w.changed() {
		t.Error("a removed plugin is not a change")
	}
	if _, err := newWatcher([]string{one}); err == nil {
		t.Error("a missing plugin is watched")
	}
}

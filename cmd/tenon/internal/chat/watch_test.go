package chat

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// Changes of a file and of a package behind a link count, in new directories too; those of an editor and of other files do not.
func TestWatcher(t *testing.T) {
	t.Parallel()
	dir := projectfs.Real(t.TempDir())
	at := func(path string) string { return filepath.Join(dir, filepath.FromSlash(path)) }
	write := func(path string) {
		if err := os.WriteFile(at(path), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mkdir := func(path string) {
		if err := os.MkdirAll(at(path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	mkdir("package/node_modules")
	mkdir("files")
	write("files/one.wasm")
	if err := os.Symlink(at("package"), at("link")); err != nil {
		t.Skipf("symlink: %v", err)
	}
	w, err := newWatcher([]string{at("link"), at("files/one.wasm")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	changed := func(want string, ignored ...string) {
		t.Helper()
		for e := range w.events() {
			for _, path := range ignored {
				if e.Name == at(path) && w.counts(e) {
					t.Errorf("%s counts", e)
				}
			}
			if e.Name == at(want) {
				if !w.counts(e) {
					t.Errorf("%s does not count", e)
				}
				w.follow(e.Name)
				return
			}
		}
	}
	write("files/two.wasm")
	write("files/one.wasm")
	changed("files/one.wasm", "files/two.wasm")
	write("package/node_modules/a")
	write("package/.a.swp")
	write("package/a~")
	mkdir("package/new")
	changed("package/new", "package/node_modules/a", "package/.a.swp", "package/a~")
	write("package/new/a")
	changed("package/new/a")
}

package wasm_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

// cached calls a module with a cache and returns the reason of its answer.
func cached(t *testing.T, dir, name string) string {
	t.Helper()
	r := newRuntime(t, wasm.Options{CacheDir: dir})
	p := started(t, r, remote.Unit{Program: module(name), Description: sdk.Description{Hooks: gates(1)}}, host{})
	got, err := ask(t.Context(), p, 0, "")
	if err != nil {
		t.Error(err)
	}
	return got.Reason
}

// entries returns the files of a cache.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A directory that is removed while tenon runs is made again.
func TestCacheIsRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	r := newRuntime(t, wasm.Options{CacheDir: dir})
	for _, name := range []string{"nested.wasm", "counter.wasm"} {
		p := started(t, r, remote.Unit{Program: module(name), Description: sdk.Description{Hooks: gates(1)}}, host{})
		if _, err := ask(t.Context(), p, 0, ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(entries(t, dir)) != 1 {
			t.Errorf("%s: entries = %v, want one", name, entries(t, dir))
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A damaged entry, or the entry of another module, is not used but written again.
func TestCacheIsVerified(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	if got := cached(t, dir, "counter.wasm"); got != "a" {
		t.Fatal(got)
	}
	files := entries(t, dir)
	if len(files) != 1 {
		t.Fatalf("files of the cache: %v", files)
	}
	counter, good := files[0], read(t, files[0])
	cached(t, dir, "raw.wasm")
	var raw []byte
	for _, f := range entries(t, dir) {
		if f != counter {
			raw = read(t, f)
		}
	}
	for name, bad := range map[string][]byte{
		"empty": {}, "short": good[:40], "cut off": good[:len(good)-1],
		"of another module": raw, "text": []byte("tenon wasm 2\nand then nothing that makes sense, for more than forty bytes"),
	} {
		write(t, counter, bad)
		if got := cached(t, dir, "counter.wasm"); got != "a" {
			t.Errorf("%s: the module answers %q", name, got)
		}
		if got := read(t, counter); string(got) != string(good) {
			t.Errorf("%s: the entry was not recreated", name)
		}
	}
	for at := 0; at < len(good); at += 97 {
		bad := append([]byte(nil), good...)
		bad[at] ^= 4
		write(t, counter, bad)
		if got := cached(t, dir, "counter.wasm"); got != "a" {
			t.Errorf("bit of byte %d: the module answers %q", at, got)
		}
	}
	if n := len(entries(t, dir)); n != 2 {
		t.Errorf("the cache holds %d files", n)
	}
}

// A cache that cannot be used costs time and nothing else.
func TestCacheOutOfOrder(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(dir string) error{
		"a file in its place": func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"a link in its place": func(dir string) error { return os.Symlink("/nowhere", dir) },
	} {
		dir := filepath.Join(t.TempDir(), "cache")
		if err := prepare(dir); err != nil {
			t.Fatal(err)
		}
		if got := cached(t, dir, "counter.wasm"); got != "a" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Other users can neither read nor write the cache.
func TestCacheIsPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // access is inherited there
	}
	dir := filepath.Join(t.TempDir(), "cache")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	cached(t, dir, "counter.wasm")
	for path, want := range map[string]os.FileMode{dir: 0o700, entries(t, dir)[0]: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, %v, want %v", path, info.Mode().Perm(), err, want)
		}
	}
}

// Runtimes that share a cache do not disturb each other.
func TestCacheIsShared(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := cached(t, dir, "counter.wasm"); got != "a" {
				t.Errorf("answer %q", got)
			}
		})
	}
	wg.Wait()
	if n := len(entries(t, dir)); n != 1 {
		t.Errorf("the cache holds %d files", n)
	}
}

// An approved module counts as compiled while the cache has its code. Starting a plugin compiles nothing.
func TestCompiled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	start := func(digest string) remote.Precompiler {
		t.Helper()
		spec := remote.Unit{Program: module("counter.wasm"), Description: sdk.Description{Name: "guest", Hooks: gates(1)}, Checksum: digest}
		return started(t, newRuntime(t, wasm.Options{CacheDir: dir}), spec, host{}).(remote.Precompiler)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(read(t, module("counter.wasm"))))
	p, unapproved := start(digest), start("")
	if p.Compiled() || len(entries(t, dir)) != 0 {
		t.Error("a module is compiled before its first use")
	}
	if err := p.Precompile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !p.Compiled() || !start(digest).Compiled() || unapproved.Compiled() {
		t.Error("want the approved module compiled, and the other one unknown")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if start(digest).Compiled() {
		t.Error("the module is compiled although the cache was deleted")
	}
}

package trust_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/plugins/trust"
)

func TestSeal(t *testing.T) {
	t.Parallel()
	dir := files{"plugin.json": "{}", "bin/p": "+xrun", "l": "-> bin/p", "e/": "", ".git/config": "x"}.write(t)
	v := newVault(t)
	s := seal(t, v, dir)
	for name, want := range map[string]string{"plugin.json": "{}", "bin/p": "run", "l": "run"} {
		if got, err := os.ReadFile(filepath.Join(s.Root, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(s.Root, ".git")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf(".git: %v", err)
	}
	if runtime.GOOS != "windows" {
		for name, want := range map[string]fs.FileMode{".": 0o500, "bin": 0o500, "e": 0o500, "bin/p": 0o500, "plugin.json": 0o400, "../index": 0o400, "..": 0o700, "../..": 0o700} {
			if info, err := os.Lstat(filepath.Join(s.Root, name)); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s has mode %v, %v; want %v", name, info.Mode().Perm(), err, want)
			}
		}
	}
	if sum, ok := s.Sum(filepath.Join(s.Root, "bin", "p")); !ok || len(sum) != 64 {
		t.Errorf("Sum = %q, %v", sum, ok)
	}
	if _, ok := s.Sum(filepath.Join(s.Root, "none")); ok || s.File() != "" {
		t.Errorf("Sum of nothing, File %q", s.File())
	}
	again, err := v.Open(t.Context(), s.Digest)
	if err != nil || again.Root != s.Root {
		t.Errorf("Open = %+v, %v", again, err)
	}
}

func TestSealSingleFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(files{"my module.wasm": "x"}.write(t), "my module.wasm")
	s := seal(t, newVault(t), path)
	if s.File() != filepath.Join(s.Root, "plugin.wasm") {
		t.Errorf("File = %q", s.File())
	}
	if _, ok := s.Sum(s.File()); !ok {
		t.Error("no sum")
	}
}

// TestNothingIsAdded: a program loads libraries that are next to it, also behind a link.
func TestNothingIsAdded(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(root string) error{
		"file": func(root string) error { return os.WriteFile(filepath.Join(root, "b"), nil, 0o400) },
		"link": func(root string) error { return os.Symlink(os.TempDir(), filepath.Join(root, "lib")) },
		"git":  func(root string) error { return os.Mkdir(filepath.Join(root, ".git"), 0o700) },
	} {
		dir := files{"a.wasm": "x", "d/b": "x"}.write(t)
		for _, path := range []string{filepath.Join(dir, "a.wasm"), dir} {
			v := newVault(t)
			s := seal(t, v, path)
			if err := errors.Join(os.Chmod(s.Root, 0o700), add(s.Root)); err != nil {
				t.Fatal(err)
			}
			if err := v.Verify(t.Context(), s.Digest); !errors.Is(err, trust.ErrChanged) {
				t.Errorf("%s in the copy of %s: Verify() = %v, want ErrChanged", name, filepath.Base(path), err)
			}
		}
	}
}

// TestSealedStays checks that nothing done to the original reaches the sealed copy, and that what is there instead has another
// digest.
func TestSealedStays(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, dir string) error{
		"file written": func(_ *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, "a"), []byte("evil"), 0o644)
		},
		"file replaced": func(t *testing.T, dir string) error {
			return os.Rename(filepath.Join(files{"a": "evil"}.write(t), "a"), filepath.Join(dir, "a"))
		},
		"file added":     func(_ *testing.T, dir string) error { return os.WriteFile(filepath.Join(dir, "b"), nil, 0o644) },
		"file removed":   func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "a")) },
		"executable bit": func(_ *testing.T, dir string) error { return os.Chmod(filepath.Join(dir, "a"), 0o755) },
		"link turned elsewhere": func(_ *testing.T, dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "l")), os.Symlink("/etc/passwd", filepath.Join(dir, "l")))
		},
		"directory swapped": func(t *testing.T, dir string) error {
			return errors.Join(os.Rename(dir, dir+"-old"), os.Rename(files{"a": "evil"}.write(t), dir))
		},
		"written by a hard link": func(t *testing.T, dir string) error {
			other := filepath.Join(t.TempDir(), "other")
			return errors.Join(os.Link(filepath.Join(dir, "a"), other), os.WriteFile(other, []byte("evil"), 0o644))
		},
		"same size and time": func(_ *testing.T, dir string) error {
			info, err := os.Stat(filepath.Join(dir, "a"))
			path := filepath.Join(dir, "a")
			return errors.Join(err, os.WriteFile(path, []byte("evil"), 0o644), os.Chtimes(path, info.ModTime(), info.ModTime()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := files{"a": "good", "l": "-> a"}.write(t)
			v := newVault(t)
			before, err := v.Digest(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			s, err := v.Seal(t.Context(), dir, before)
			if err != nil {
				t.Fatal(err)
			}
			if err := change(t, dir); err != nil {
				t.Fatal(err)
			}
			if now, err := v.Digest(t.Context(), dir); now == before {
				t.Errorf("the digest is the same, %v", err)
			}
			if got, err := os.ReadFile(filepath.Join(s.Root, "a")); string(got) != "good" {
				t.Errorf("the sealed copy holds %q, %v", got, err)
			}
			if _, err := v.Open(t.Context(), before); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSealRefusesOtherContent(t *testing.T) {
	t.Parallel()
	dir := files{"a": "good"}.write(t)
	v := newVault(t)
	want := digest(t, dir)
	write(t, filepath.Join(dir, "a"), "evil")
	if _, err := v.Seal(t.Context(), dir, want); !errors.Is(err, trust.ErrChanged) {
		t.Errorf("error %v, want ErrChanged", err)
	}
	if _, err := v.Open(t.Context(), want); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want that nothing was kept", err)
	}
	for _, d := range []trust.Digest{"", "sha256:", "sha256:../../x", "sha256:" + "ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789"} {
		if _, err := v.Seal(t.Context(), dir, d); err == nil {
			t.Errorf("%q is taken for a digest", d)
		}
	}
}

// TestBrokenSeal checks that a modified sealed copy is detected and recreated.
func TestBrokenSeal(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(root string) error{
		"file written": func(root string) error {
			path := filepath.Join(root, "a")
			return errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte("evil"), 0o600), os.Chmod(path, 0o400))
		},
		"file added": func(root string) error {
			return errors.Join(os.Chmod(root, 0o700), os.WriteFile(filepath.Join(root, "b"), nil, 0o400))
		},
		"index written": func(root string) error {
			path := filepath.Join(filepath.Dir(root), "index")
			return errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte("tenon package 1\n"), 0o400))
		},
		"checksum in the index written": func(root string) error {
			path := filepath.Join(filepath.Dir(root), "index")
			data, err := os.ReadFile(path)
			good, evil := fmt.Sprintf("%x", sha256.Sum256([]byte("good"))), fmt.Sprintf("%x", sha256.Sum256([]byte("evil")))
			return errors.Join(err, os.Chmod(path, 0o600), os.WriteFile(path, bytes.ReplaceAll(data, []byte(good), []byte(evil)), 0o400))
		},
		"copy emptied": func(root string) error {
			return errors.Join(os.Chmod(root, 0o700), os.Remove(filepath.Join(root, "a")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := files{"a": "good"}.write(t)
			v := newVault(t)
			s := seal(t, v, dir)
			if err := change(s.Root); err != nil {
				t.Fatal(err)
			}
			if _, err := v.Open(t.Context(), s.Digest); !errors.Is(err, trust.ErrChanged) {
				t.Fatalf("error %v, want ErrChanged", err)
			}
			again := seal(t, v, dir)
			if got, err := os.ReadFile(filepath.Join(again.Root, "a")); string(got) != "good" {
				t.Errorf("the new copy holds %q, %v", got, err)
			}
		})
	}
}

func TestSealAtTheSameTime(t *testing.T) {
	t.Parallel()
	dir := files{"a": "1", "b/c": "2"}.write(t)
	v := newVault(t)
	want := digest(t, dir)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := v.Seal(t.Context(), dir, want); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestCollect(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	a, b := seal(t, v, files{"a": ""}.write(t)), seal(t, v, files{"b": ""}.write(t))
	keep := func(d trust.Digest) bool { return d == a.Digest }
	if err := v.Collect(keep); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Open(t.Context(), b.Digest); err != nil {
		t.Errorf("a young copy was deleted: %v", err)
	}
	v.SetClock(func() time.Time { return time.Now().Add(48 * time.Hour) })
	if err := v.Collect(keep); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Open(t.Context(), b.Digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old unused copy is there: %v", err)
	}
	if _, err := v.Open(t.Context(), a.Digest); err != nil {
		t.Error(err)
	}
	for _, used := range []bool{true, false, true, false} { // it was used until now: another tenon may run it
		if err := v.Collect(func(trust.Digest) bool { return used }); err != nil {
			t.Fatal(err)
		}
		if _, err := v.Open(t.Context(), a.Digest); err != nil {
			t.Errorf("an old copy that was used until now was deleted: %v", err)
		}
	}
	if err := v.Collect(func(trust.Digest) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Open(t.Context(), a.Digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a copy that is no longer used is there: %v", err)
	}
	if err := errors.Join(v.Remove(a.Digest), v.Remove(a.Digest)); err != nil {
		t.Error(err)
	}
}

// TestStampsAreRead checks that a digest is remembered over processes, and only when the tree is old enough.
func TestStampsAreRead(t *testing.T) {
	t.Parallel()
	dir, cache := files{"a": "1"}.write(t), t.TempDir()
	open := func(later time.Duration) *trust.Vault {
		v := trust.NewVault(filepath.Join(cache, "store"), cache)
		v.SetClock(func() time.Time { return time.Now().Add(later) })
		return v
	}
	learn := func(later time.Duration) (exists bool) {
		v := open(later)
		if _, err := v.Digest(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		if err := v.Save(); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(filepath.Join(cache, "digests-2.json"))
		return err == nil
	}
	if learn(0) {
		t.Error("the digest of a tree that has just been written is remembered")
	}
	if !learn(time.Hour) {
		t.Error("the digest of an old tree is not remembered")
	}
	write(t, filepath.Join(cache, "digests-2.json"), "garbage")
	if _, err := open(time.Hour).Digest(t.Context(), dir); err != nil {
		t.Errorf("a broken cache is an error: %v", err)
	}
	// A removed copy leaves nothing in the cache.
	v := open(time.Hour)
	if err := errors.Join(v.Remove(seal(t, v, dir).Digest), v.Save()); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(cache, "digests-2.json")); err != nil || strings.Contains(string(data), `"stamp":""`) {
		t.Errorf("cache %s, %v", data, err)
	}
}

// TestPoisonedCache checks that a cache which lies about a tree makes nothing run but what was approved.
func TestPoisonedCache(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(files{"a": "good"}.write(t))
	if err != nil {
		t.Fatal(err)
	}
	v := newVault(t)
	approved := seal(t, v, dir)
	write(t, filepath.Join(dir, "a"), "evil")
	if err := v.Poison(dir, approved.Digest); err != nil {
		t.Fatal(err)
	}
	d, err := v.Digest(t.Context(), dir)
	if err != nil || d != approved.Digest {
		t.Fatalf("the cache does not lie: %s, %v", d, err)
	}
	s, err := v.Seal(t.Context(), dir, d)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(s.Root, "a")); string(got) != "good" {
		t.Errorf("runs %q, %v", got, err)
	}
	// Without the copy, the wrong digest is noticed.
	if err := v.Remove(d); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Seal(t.Context(), dir, d); !errors.Is(err, trust.ErrChanged) {
		t.Errorf("error %v, want ErrChanged", err)
	}
}

// TestVerifyReads checks that Verify notices content that changed while its metadata did not, as on a failing disk; Open cannot.
func TestVerifyReads(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	s := seal(t, v, files{"a": "good"}.write(t))
	path := filepath.Join(s.Root, "a")
	if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte("evil"), 0o600), v.PoisonCopy(s)); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Open(t.Context(), s.Digest); err != nil {
		t.Fatalf("the cache does not lie: %v", err)
	}
	if err := v.Verify(t.Context(), s.Digest); !errors.Is(err, trust.ErrChanged) {
		t.Errorf("Verify() = %v, want ErrChanged", err)
	}
	if _, err := v.Open(t.Context(), s.Digest); !errors.Is(err, trust.ErrChanged) {
		t.Errorf("Open() after it = %v, want ErrChanged", err)
	}
}

func BenchmarkDigest(b *testing.B) {
	f := files{}
	for _, name := range []string{"plugin.json", "plugin.wasm", "README.md", "skills/a/SKILL.md", "LICENSE"} {
		f[name] = "content"
	}
	dir := f.write(b)
	v := newVault(b)
	if _, err := v.Digest(b.Context(), dir); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Digest(b.Context(), dir); err != nil {
			b.Fatal(err)
		}
	}
}

package snapshot_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenonhq/tenon/host/snapshot"
)

// TestRestoreWhileLinksChange restores a file while another goroutine exchanges its directory and a link out of the worktree. The file
// behind the link stays as it was.
func TestRestoreWhileLinksChange(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("dir/file", "one")
	list := p.during(func() { p.write("dir/file", "two") })
	outside := t.TempDir()
	target := filepath.Join(outside, "file")
	if err := os.WriteFile(target, []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	relative, err := filepath.Rel(p.path(""), outside) // os.Root follows no absolute link
	must(err)
	must(os.Symlink(relative, p.path("link")))

	stop := exchange(t, p.path("dir"), p.path("link"))
	for range 200 {
		_ = p.Run(t.Context(), backwards(list)) // fails while dir is a link
		if content, err := os.ReadFile(target); err != nil || string(content) != "two" {
			t.Errorf("the file outside = %q, %v", content, err)
			break
		}
		must(os.WriteFile(p.path("dir/file"), []byte("two"), 0o644)) // the restored file, or the one behind the link
		must(os.WriteFile(p.path("link/file"), []byte("two"), 0o644))
	}
	stop()
}

// exchange exchanges two names over and over until the function it returns is called.
func exchange(t *testing.T, a, b string) (stop func()) {
	end := make(chan struct{})
	var changing sync.WaitGroup
	changing.Go(func() { // ends when end is closed; stop waits for it
		for {
			select {
			case <-end:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				return
			}
		}
	})
	return func() { close(end); changing.Wait() }
}

// TestRestoreOutsideWhileLinksChange does the same with a file outside of the worktree, which a tool changed with approval, and with one in
// directories that the tool created.
func TestRestoreOutsideWhileLinksChange(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{"file": "dir/file", "new directories": "dir/a/b/file"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			outside, victims := t.TempDir(), t.TempDir()
			must := func(err error) {
				if err != nil {
					t.Error(err)
				}
			}
			must(os.Mkdir(filepath.Join(outside, "dir"), 0o755))
			path := p.PathOf(filepath.Join(outside, file))
			write := func(name, content string) {
				must(os.MkdirAll(filepath.Dir(name), 0o755))
				must(os.WriteFile(name, []byte(content), 0o644))
			}
			if name == "file" {
				write(filepath.Join(outside, file), "one")
			}
			before, err := p.Record(path)
			must(err)
			write(filepath.Join(outside, file), "two")
			after, err := p.Record(path)
			must(err)
			back := []snapshot.Step{{Path: path, From: after, To: before}}

			victim := filepath.Join(victims, strings.TrimPrefix(file, "dir/"))
			write(victim, "two")
			target, err := filepath.Rel(outside, victims) // os.Root follows no absolute link
			must(err)
			must(os.Symlink(target, filepath.Join(outside, "link")))
			stop := exchange(t, filepath.Join(outside, "dir"), filepath.Join(outside, "link"))
			restored := 0
			for i := 0; i < 100 || restored == 0 && i < 100_000; i++ { // the other goroutine may rest while dir is a link
				if p.Run(t.Context(), back) == nil { // fails while dir is a link
					restored++
				}
				if content, err := os.ReadFile(victim); err != nil || string(content) != "two" {
					t.Errorf("the file behind the link = %q, %v", content, err)
					break
				}
				for _, d := range []string{"dir", "link"} { // the restored file, or the one behind the link
					at := filepath.Join(outside, d, strings.TrimPrefix(file, "dir/"))
					_ = os.MkdirAll(filepath.Dir(at), 0o755)
					_ = os.WriteFile(at, []byte("two"), 0o644)
				}
			}
			stop()
			if restored == 0 {
				t.Error("no restore succeeded")
			}
		})
	}
}

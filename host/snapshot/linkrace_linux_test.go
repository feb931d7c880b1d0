package snapshot_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
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
	must(os.Symlink(outside, p.path("link")))

	stop := make(chan struct{})
	var changing sync.WaitGroup
	changing.Go(func() { // ends when stop is closed; waited for below
		for {
			select {
			case <-stop:
				return
			default:
			}
			must(unix.Renameat2(unix.AT_FDCWD, p.path("dir"), unix.AT_FDCWD, p.path("link"), unix.RENAME_EXCHANGE))
		}
	})
	for range 200 {
		_ = p.Run(t.Context(), backwards(list)) // fails while dir is a link
		if content, err := os.ReadFile(target); err != nil || string(content) != "two" {
			t.Errorf("the file outside = %q, %v", content, err)
			break
		}
		must(os.WriteFile(p.path("dir/file"), []byte("two"), 0o644)) // the restored file, or the one behind the link
		must(os.WriteFile(p.path("link/file"), []byte("two"), 0o644))
	}
	close(stop)
	changing.Wait()
}

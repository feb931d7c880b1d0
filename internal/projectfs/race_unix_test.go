//go:build unix

package projectfs_test

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// Opening neither blocks nor leaves the directory while its names change between directories, files, links and named pipes.
func TestOpenWhileNamesChange(t *testing.T) {
	t.Parallel()
	base, project := tree(t)
	write(t, filepath.Join(project, "d", "f"), "inside")
	d, aside, made := filepath.Join(project, "d"), filepath.Join(project, "aside"), filepath.Join(project, "made")
	done := make(chan struct{})
	var flipping sync.WaitGroup
	t.Cleanup(func() { close(done); flipping.Wait() })
	flipping.Go(func() { // ends with the test
		for {
			_ = os.Rename(d, aside)
			_ = syscall.Mkfifo(made, 0o600)
			_ = os.Rename(made, d)
			_ = os.Symlink(filepath.Join(base, "out"), made)
			_ = os.Rename(made, d)
			_ = os.Remove(d)
			_ = os.Rename(aside, d)
			select {
			case <-done:
				return
			default:
			}
		}
	})
	opened := 0
	for range 5000 {
		f, info, err := projectfs.Open([]string{project}, filepath.Join(d, "f"))
		if err != nil {
			continue
		}
		opened++
		if info.Size() != int64(len("inside")) {
			data, _, _ := projectfs.ReadLimited(f, 100)
			t.Fatalf("opened %q", data)
		}
		_ = f.Close()
	}
	if opened == 0 {
		t.Log("the file was never there; nothing was opened")
	}
}

package gitkeep

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A command may put a pipe in the place of a file that was just looked at. Reading must not wait for a writer.
func TestReadFileDoesNotWait(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, plain, pipe := filepath.Join(dir, "config"), filepath.Join(dir, "plain"), filepath.Join(dir, "pipe")
	for _, file := range []string{plain, path} {
		if err := os.WriteFile(file, []byte("[core]"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // ends after its reads
		defer close(done)
		for range 3000 {
			_, _ = readFile(path, 100)
		}
	}()
	deadline := time.After(20 * time.Second)
	for {
		for _, file := range []string{pipe, plain} {
			next := filepath.Join(dir, "next")
			if err := os.Link(file, next); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(next, path); err != nil {
				t.Fatal(err)
			}
			_ = os.Remove(next) // left if path is the same file already
		}
		select {
		case <-done:
			return
		case <-deadline:
			t.Fatal("a read waits for a writer of the pipe")
		default:
		}
	}
}

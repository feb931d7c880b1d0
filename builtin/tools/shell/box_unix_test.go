//go:build unix

package shell

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A command may write a file .git that leads to a pipe. Nothing waits for its writer.
func TestLinkedRepositoryDoesNotWait(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "repo"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: repo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "repo", "commondir"), 0o600); err != nil {
		t.Fatal(err)
	}
	found := make(chan []string, 1)
	go func() { found <- linkedRepository(t.Context(), dir) }() // ends with the call
	select {
	case dirs := <-found:
		if dirs != nil {
			t.Errorf("linkedRepository = %q", dirs)
		}
	case <-time.After(20 * time.Second):
		t.Error("it waits for a writer of the pipe")
	}
}

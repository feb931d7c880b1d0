package snapshot

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Among files with reliable stamps, the one that changes is found, wherever it is in the order.
func TestOneAmongSettledFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	r, err := Open(Options{Dir: t.TempDir(), Worktree: dir})
	if err != nil {
		t.Fatal(err)
	}
	take := func() *Tree {
		t.Helper()
		tree, err := r.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	list := []string{"a", "b", "c", "d"}
	for _, name := range list {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("before"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range list {
		before := take()
		for deadline := time.Now().Add(time.Minute); slices.ContainsFunc(r.last.Entries, func(e dirEntry) bool { return e.Hash != "" && !e.Settled }); before = take() {
			if time.Now().After(deadline) {
				t.Fatal("the stamps of the files are not relied on after a minute")
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("after"), 0o600); err != nil {
			t.Fatal(err)
		}
		after := take()
		changes := r.Changes(before, after)
		if len(changes) != 1 || changes[0].Path != Path(name) {
			t.Errorf("changed = %+v, want %s", changes, name)
		}
		if n := len(r.last.Entries); n != len(list)+1 {
			t.Errorf("%d names after change %d, want %d", n, i, len(list))
		}
	}
}

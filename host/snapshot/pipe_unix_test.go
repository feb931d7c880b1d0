//go:build unix

package snapshot_test

import (
	"os"
	"slices"
	"syscall"
	"testing"
)

// A pipe where git expects a list of ignored files blocks no caller: its directory is left out, the others are not.
func TestPipeInPlaceOfIgnoredFiles(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.mkdir("sub")
	for _, name := range []string{"sub/.gitignore", ".git/info/exclude"} {
		if err := os.Remove(p.path(name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(p.path(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.open()
	if got := names(p.during(func() { p.write("a.txt", "two"); p.write("sub/b.txt", "two") })); !slices.Equal(got, []string{"a.txt"}) {
		t.Errorf("changed = %q, want a.txt", got)
	}
	tree := p.take()
	if len(tree.LeftOut) != 1 || tree.LeftOut[0] != "sub/" {
		t.Errorf("left out %q, want sub/", tree.LeftOut)
	}
	if err := os.Remove(p.path("sub/.gitignore")); err != nil {
		t.Fatal(err)
	}
	if got := names(p.during(func() { p.write("sub/b.txt", "three") })); !slices.Contains(got, "sub/b.txt") {
		t.Errorf("without the pipe, changed = %q, want sub/b.txt", got)
	}
}

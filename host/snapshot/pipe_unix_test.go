//go:build unix

package snapshot_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/tenonhq/tenon/host/snapshot"
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

// A file that a pipe replaces is left out once: a revert does not bring it back.
func TestPipeInPlaceOfKnownFile(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("a", "one")
	p.take()
	p.removeAll("a")
	for _, name := range []string{"a", "new"} {
		if err := syscall.Mkfifo(p.path(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if tree := p.take(); len(tree.LeftOut) != 1 || tree.LeftOut[0] != "a" {
		t.Errorf("left out %q, want a", tree.LeftOut)
	}
	if tree := p.take(); len(tree.LeftOut) != 0 {
		t.Errorf("left out again: %q", tree.LeftOut)
	}
}

// A pipe in the place of a file that comes back is refused like a directory with files, and blocks no caller.
func TestPipeInPlaceOfFile(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for name, change := range map[string]func(name string){
		"removed": p.removeAll,
		"changed": func(name string) { p.write(name, "two") },
	} {
		p.write(name, "one")
		list := p.during(func() { change(name) })
		if name == "changed" {
			p.removeAll(name)
		}
		if err := syscall.Mkfifo(p.path(name), 0o600); err != nil {
			t.Fatal(err)
		}
		steps := backwards(list)
		if name == "changed" { // as a revert with force plans it
			var err error
			if steps[0].From, err = p.Record(steps[0].Path); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Run(t.Context(), steps); !errors.Is(err, snapshot.ErrChanged) {
			t.Errorf("%s: Run() = %v, want ErrChanged", name, err)
		}
	}
}

// Contents waits for the output of git however late it is read. Here it stays open for a while, as if the machine were slow.
func TestContentsReadLate(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	git := filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(git, []byte("#!/bin/sh\nsleep 1.2 &\nexec git \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.take()
	p.openWith(snapshot.Options{Git: git})
	name, err := p.Keep([]byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Contents(t.Context(), []string{name}); err != nil || string(got[name]) != "one" {
		t.Errorf("Contents() = %q, %v", got, err)
	}
}

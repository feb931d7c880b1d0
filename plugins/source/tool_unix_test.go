//go:build unix

package source_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/source"
)

// TestErrorHasTheEndOfTheMessages: the cause of a failure is usually the last message of a program.
func TestErrorHasTheEndOfTheMessages(t *testing.T) {
	t.Parallel()
	f := fetcher(t)
	f.Environ = append(f.Environ, "GIT_SSH_COMMAND=yes 'one of many messages' | head -c 9000 >&2; echo the cause >&2; exit 255 #")
	_, _, err := fetch(t, f, "git+ssh://git@tenon.invalid/r", nil)
	if err == nil || !strings.Contains(err.Error(), "the cause") || len(err.Error()) > 1000 {
		t.Errorf("fetch = %v", err)
	}
}

// TestProgramsOfTheProject: while PATH has a directory of the project, the programs in it do not run, nor as programs that git starts.
func TestProgramsOfTheProject(t *testing.T) {
	project := t.TempDir()
	bin, started := filepath.Join(project, ".venv", "bin"), filepath.Join(project, "started")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"git", "ssh"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho "+name+" >>"+started+"\nexit 1\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	repo := filepath.Join(t.TempDir(), "r")
	for _, args := range [][]string{{"init", "-q", repo}, {"-C", repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"}} {
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	f := fetcher(t)
	f.Project, f.Environ = project, os.Environ()
	if _, _, err := fetch(t, f, "git+file://"+repo, nil); err != nil {
		t.Error(err)
	}
	if _, _, err := fetch(t, f, "git+ssh://git@tenon.invalid/r", nil); err == nil || errors.Is(err, source.ErrRef) {
		t.Errorf("a host that does not exist: %v", err)
	}
	if data, err := os.ReadFile(started); err == nil {
		t.Errorf("started: %s", data)
	}
	t.Setenv("PATH", bin)
	other := filepath.Join(t.TempDir(), "r")
	if _, _, err := fetch(t, f, "git+file://"+other, nil); err == nil || !strings.Contains(err.Error(), "outside of the project") {
		t.Errorf("only the project has git: %v", err)
	}
}

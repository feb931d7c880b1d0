//go:build unix

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A program of the project is not run, from a directory below its root either: the model's commands can create one.
func TestProgramOfTheProject(t *testing.T) {
	root := t.TempDir()
	dir, bin := filepath.Join(root, "below"), filepath.Join(root, "bin")
	if err := errors.Join(os.MkdirAll(filepath.Join(root, ".git"), 0o700), os.WriteFile(filepath.Join(root, ".git", "HEAD"), nil, 0o600), os.Mkdir(dir, 0o700),
		os.Mkdir(bin, 0o700), os.WriteFile(filepath.Join(bin, "browser"), []byte("#!/bin/sh\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	for _, at := range []string{root, dir} {
		t.Chdir(at)
		if got, err := (&App{}).Program("browser"); err == nil {
			t.Errorf("Program() in %s = %s", at, got)
		}
	}
}

// Ctrl-C, which the terminal sends to all of tenon's group, does not end the user's browser.
func TestBrowserHasItsOwnSession(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, program := filepath.Join(dir, "pipe"), filepath.Join(dir, "browser")
	script := "#!/bin/sh\necho $$ > " + pipe + "\nexec sleep 600\n"
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(program, []byte(script), 0o700)); err != nil {
		t.Fatal(err)
	}
	a := &App{Env: environ{"BROWSER=" + program}}
	if opened, err := a.Browse("https://example.com"); !opened || err != nil {
		t.Fatalf("Browse = %v, %v", opened, err)
	}
	line, err := os.ReadFile(pipe)
	pid, notNumber := strconv.Atoi(strings.TrimSpace(string(line)))
	if err := errors.Join(err, notNumber); err != nil {
		t.Fatal(err)
	}
	session, err := unix.Getsid(pid)
	if err != nil || session != pid {
		t.Errorf("session %d, %v; want %d", session, err, pid)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

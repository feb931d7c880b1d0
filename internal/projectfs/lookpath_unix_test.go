//go:build unix

package projectfs_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// A program that a command puts into the project is not tenon's, by whatever links PATH leads there.
func TestLookPath(t *testing.T) {
	root := projectfs.Real(t.TempDir())
	project, system := filepath.Join(root, "project"), filepath.Join(root, "bin")
	for _, dir := range []string{"project/.venv/bin", "bin", "links", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"project/.venv/bin/tool", "bin/tool", "elsewhere/tool"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"links/tool": "../project/.venv/bin/tool", "dir": "project/.venv/bin", "project/out": "../elsewhere", "p": "project"} {
		if err := os.Symlink(to, filepath.Join(root, from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, first := range []string{"project/.venv/bin", "links", "dir", "project/out", "p/out", "p/.venv/bin", "none"} {
		t.Setenv("PATH", filepath.Join(root, first)+":.:"+system)
		if got, err := projectfs.LookPath("tool", project); got != system+"/tool" || err != nil {
			t.Errorf("%s: %q, %v", first, got, err)
		}
	}
	t.Setenv("PATH", filepath.Join(project, ".venv/bin"))
	if got, err := projectfs.LookPath("tool", project); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "outside of the project") {
		t.Errorf("found %q, %v", got, err)
	}
	if got, err := projectfs.LookPath(filepath.Join(project, ".venv/bin/tool"), project); err != nil {
		t.Errorf("the user's choice: %q, %v", got, err)
	}
}

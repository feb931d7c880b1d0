package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenonhq/tenon/plugins/archive"
)

// TestNames: directories with names that archives must not have are refused, with the remedy.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"notes/10:30.md", "readme.MD", "ends in a space "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target, plugin := skillIn(t)
			odd := filepath.Join(plugin, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(odd), 0o755), os.WriteFile(odd, nil, 0o600), os.WriteFile(filepath.Join(plugin, "README.md"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			if _, err := installer(t, nil, "").Stage(t.Context(), target, "./plugin", nil); !errors.Is(err, archive.ErrUnsafe) || !strings.Contains(err.Error(), "; rename ") {
				t.Errorf("Stage() = %v, want ErrUnsafe with its remedy", err)
			}
		})
	}
}

// TestPipeInNestedGit: a .git in the directory, which the copy leaves out, may have what a plugin must not have.
func TestPipeInNestedGit(t *testing.T) {
	t.Parallel()
	target, plugin := skillIn(t)
	git := filepath.Join(plugin, "sub", ".git")
	if err := errors.Join(os.MkdirAll(git, 0o755), syscall.Mkfifo(filepath.Join(git, "fsmonitor--daemon.ipc"), 0o600)); err != nil {
		t.Fatal(err)
	}
	in := installer(t, nil, "")
	first, err := in.Stage(t.Context(), target, "./plugin", nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := in.Stage(t.Context(), target, "./plugin", &first.Plugin); err != nil || again.Digest != first.Digest {
		t.Errorf("Stage() with the pin = %+v, %v, want digest %s", again, err, first.Digest)
	}
}

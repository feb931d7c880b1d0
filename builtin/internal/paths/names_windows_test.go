package paths_test

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/tenonhq/tenon/builtin/internal/paths"
)

// Rules for a file hold whichever of its names a call uses.
func TestNamesOnWindows(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	if err := os.MkdirAll(filepath.Join(p.worktree, "a long directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(p.worktree, "a long directory", ".env")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pattern, err := syscall.UTF16PtrFromString(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	var found syscall.Win32finddata
	h, err := syscall.FindFirstFile(pattern, &found)
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.FindClose(h)
	short := syscall.UTF16ToString(found.AlternateFileName[:]) // empty on file systems without short names
	for _, name := range []string{
		file, filepath.Join(p.worktree, cmp.Or(short, "a long directory"), ".env"),
		filepath.Join(p.worktree, "A LONG directory", ".ENV"), filepath.Join(p.worktree, "a long directory.", ".env. "), `\\?\` + file,
		file + "::$DATA", filepath.Join(p.worktree, "a long directory::$INDEX_ALLOCATION", ".env:"),
	} {
		if got := paths.Patterns(p.call(), name); !slices.Contains(got, "a long directory/.env") {
			t.Errorf("Patterns(%q) = %q", name, got)
		}
	}
	if got, want := paths.Patterns(p.call(), filepath.Join(p.worktree, "new. ")), []string{"new. ", "new"}; !slices.Equal(got, want) {
		t.Errorf("Patterns of a new file: %q, want %q", got, want)
	}
	for _, name := range []string{`\\?\` + file, `\\.\` + file, `\\.\pipe\x`, `\??\` + file, `//?/` + file, "a:b", file + ":stream", `\\server\share\x`, "//server/share"} {
		if got, err := paths.Resolve(p.call(), name); !errors.Is(err, paths.ErrPath) {
			t.Errorf("Resolve(%q) = %q, %v, want ErrPath", name, got, err)
		}
	}
}

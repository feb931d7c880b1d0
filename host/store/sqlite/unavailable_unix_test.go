//go:build unix

package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenonhq/tenon/host/store"
)

// Whatever keeps the store from being used has a sentinel, and with it an exit code and a remedy.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	t.Run("pipe", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "tenon.db")
		must(t, syscall.Mkfifo(path, 0o600))
		if _, err := Open(t.Context(), Options{Path: path}); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "move it away") {
			t.Errorf("Open of a pipe = %v, want ErrCorrupt", err)
		}
	})
	t.Run("was read-only", func(t *testing.T) { // root may write all of it, so the modes tell
		t.Parallel()
		dir := t.TempDir()
		openAt(t, dir)
		parts := []string{filepath.Join(dir, "tenon.db-wal"), filepath.Join(dir, "tenon.db-shm")}
		for _, part := range parts {
			must(t, os.Chmod(part, 0o444))
		}
		createIn(t, openAt(t, dir), "ses_a")
		for _, part := range parts {
			if info, err := os.Stat(part); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v, want the mode of the database", part, info, err)
			}
		}
	})
	t.Run("table is missing", func(t *testing.T) {
		t.Parallel()
		s := openAt(t, t.TempDir())
		createIn(t, s, "ses_a")
		script(t, s, "DROP TABLE todo")
		if _, err := s.Todos(t.Context(), "ses_a"); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("Todos = %v, want ErrCorrupt", err)
		}
	})
	t.Run("locked", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s, other := openAt(t, dir), openAt(t, dir)
		s.busyWait = 0
		release := holdWriter(t, other)
		_, err := s.Create(t.Context(), aSession("ses_a"))
		release()
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "locked by another process") {
			t.Errorf("Create in a locked store = %v, want ErrUnavailable", err)
		}
	})
	for name, remove := range map[string]func(dir string) error{
		"directory is removed": os.RemoveAll,
		"file is replaced": func(dir string) error {
			path := filepath.Join(dir, "tenon.db")
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			s := openAt(t, dir)
			token := createIn(t, s, "ses_a")
			must(t, remove(dir))
			_, err := s.Append(t.Context(), token, []store.Op{store.PutMessage{Message: aMessage("ses_a", 1)}})
			if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "removed or replaced") {
				t.Errorf("Append = %v, want ErrUnavailable", err)
			}
		})
	}
}

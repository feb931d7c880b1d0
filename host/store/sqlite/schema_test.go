package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// openSteps opens the store with a schema of the test's own.
func openSteps(t *testing.T, path string, steps []step) (*Store, error) {
	t.Helper()
	s, err := open(t.Context(), Options{Path: path, Version: "1.2.3"}, steps)
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

func TestMigration(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tenon.db")
	v1 := schema()
	version := func(n int) string { return fmt.Sprint("version ", len(v1)+n) }
	v3 := append(schema(), step{sql: "ALTER TABLE head ADD COLUMN note TEXT"}, step{sql: "UPDATE head SET note = 'migrated'"})
	old, err := openSteps(t, path, v1)
	must(t, err)
	token := createIn(t, old, "ses_a")
	appendTo(t, old, token, store.PutMessage{Message: aMessage("ses_a", 0)}, store.PutPart{Part: aPart("ses_a", 0, "kept")})

	// While a process uses the old version, it stays unchanged.
	_, err = openSteps(t, path, v3)
	var owned *store.OwnedError
	if !errors.Is(err, store.ErrOlder) || !errors.As(err, &owned) || owned.PID != os.Getpid() || !strings.Contains(err.Error(), path+" has "+version(0)) {
		t.Fatalf("Open while an older version has a session = %v, want ErrOlder", err)
	}
	must(t, old.Release(t.Context(), token))

	// A step that fails leaves all as it was, whoever uses the file meanwhile.
	broken := append(append([]step{}, v3...), step{sql: "CREATE TABLE head(x)"})
	if _, err := openSteps(t, path, broken); err == nil || !strings.Contains(err.Error(), "migrate to "+version(3)) {
		t.Fatalf("Open with a broken step = %v", err)
	}
	token, err = old.Claim(t.Context(), "ses_a")
	must(t, err)
	appendTo(t, old, token, store.AppendText{PartID: aPart("ses_a", 0, "").ID, Field: "text", Text: " too"})
	must(t, old.Release(t.Context(), token))

	s, err := openSteps(t, path, v3)
	must(t, err)
	if got := texts(t, s, "ses_a"); len(got) != 1 || got[0] != "kept too" {
		t.Errorf("texts after migration = %q", got)
	}
	var note string
	must(t, s.read(t.Context(), func(x *view) {
		x.First("SELECT note FROM head", func(r database.Row) { note = r.Text(0) })
	}))
	if note != "migrated" {
		t.Errorf("note = %q: the last step did not run", note)
	}
	// The old version, still running, must not write any more.
	_, err = old.Claim(t.Context(), "ses_a")
	wantNewer(t, err, path, version(2), fmt.Sprint("up to ", len(v1)))
	must(t, s.Close())
	must(t, old.Close())
	_, err = openSteps(t, path, v1)
	wantNewer(t, err, path, version(2), fmt.Sprint("up to ", len(v1)))

	// The copy is the database as it was, for the old version.
	copied, err := openSteps(t, fmt.Sprintf("%s.v%d.bak", path, len(v1)), v1)
	must(t, err)
	wantSound(t, copied)
	if got := texts(t, copied, "ses_a"); len(got) != 1 || got[0] != "kept too" {
		t.Errorf("texts of the copy = %q", got)
	}
	if _, err := os.Stat(fmt.Sprintf("%s.v%d.bak.tmp", path, len(v1))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("temporary copy: %v, want it gone", err)
	}
}

func wantNewer(t *testing.T, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, store.ErrNewer) {
		t.Fatalf("error = %v, want ErrNewer", err)
	}
	for _, w := range append(words, "tenon 1.2.3", "update tenon") {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestForeignDatabase(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"tables":         "CREATE TABLE session(id TEXT)",
		"version":        "PRAGMA user_version=1",
		"application id": "PRAGMA application_id=7",
		"below zero":     fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=-1", application),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "other.db")
			c, err := database.Connect(t.Context(), database.URI(path))
			must(t, err)
			must(t, c.Script(t.Context(), sql))
			must(t, c.Close())
			before, err := os.ReadFile(path)
			must(t, err)
			_, err = Open(t.Context(), Options{Path: path})
			if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), path+" belongs to another program") {
				t.Errorf("Open = %v, want ErrCorrupt with the cause", err)
			}
			after, err := os.ReadFile(path)
			must(t, err)
			if string(before) != string(after) {
				t.Error("Open changed a database of another program")
			}
		})
	}
}

// Stores that are opened while another one creates the file get the new store.
func TestOpenWhileCreated(t *testing.T) {
	t.Parallel()
	for range 20 {
		path := filepath.Join(t.TempDir(), "tenon.db")
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				s, err := Open(t.Context(), Options{Path: path})
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

func TestPathsAndModes(t *testing.T) {
	t.Parallel()
	names := []string{"plain", "with space", "ü and 100%25 #1;a&b=c'd"}
	if runtime.GOOS != "windows" {
		names = append(names, `what? "really"`, "file:x?mode=ro", "back\\slash")
	}
	for _, name := range names {
		dir := filepath.Join(t.TempDir(), name, "deep")
		s := openAt(t, dir)
		createIn(t, s, "ses_a")
		want := map[string]os.FileMode{
			dir: 0o700 | os.ModeDir, s.path + "-nodes": 0o700 | os.ModeDir, filepath.Join(s.path+"-nodes", s.node.ID+".lock"): 0o600,
			s.path: 0o600, s.path + "-wal": 0o600, s.path + "-shm": 0o600,
		}
		for path, mode := range want {
			info, err := os.Stat(path)
			must(t, err)
			if runtime.GOOS != "windows" && info.Mode() != mode {
				t.Errorf("%s has mode %v, want %v", path, info.Mode(), mode)
			}
		}
		must(t, s.Close())
		entries, err := os.ReadDir(dir)
		must(t, err)
		if len(entries) != 2 { // the database and the folder of the locks
			t.Errorf("%s holds %v after Close", dir, entries)
		}
	}
}

// The context of Open bounds the opening alone.
func TestOpenContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, openAt(t, dir).Close())
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Open(ctx, Options{Path: filepath.Join(dir, "tenon.db")})
	must(t, err)
	defer s.Close()
	cancel()
	createIn(t, s, "ses_a")
}

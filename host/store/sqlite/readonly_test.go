package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/node"
)

// readOnly opens the database in dir as Open does where nothing can be written, which the user who runs the tests may not obey.
func readOnly(t *testing.T, dir string) *Store {
	t.Helper()
	path := filepath.Join(dir, "tenon.db")
	s := &Store{path: path, version: "1.2.3", steps: schema(), node: node.New(path + "-nodes"), readers: database.NewPool(database.URI(path)), queue: make(chan *job), done: make(chan struct{})}
	must(t, s.openReadOnly(t.Context(), store.ErrReadOnly))
	close(s.done)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestOpenReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	token := createIn(t, s, "ses_a")
	appendTo(t, s, token, store.PutMessage{Message: aMessage("ses_a", 1)}, store.PutPart{Part: aPart("ses_a", 1, "stored")})

	// While a writer has it open, or after one was killed, there is a log.
	killed := t.TempDir()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		data, err := os.ReadFile(filepath.Join(dir, "tenon.db") + suffix)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(killed, "tenon.db")+suffix, data, 0o600))
	}
	must(t, s.Close())
	for name, dir := range map[string]string{"closed": dir, "killed": killed} {
		before := filesIn(t, dir)
		r := readOnly(t, dir)
		if d := cmp.Diff([]string{"stored"}, texts(t, r, "ses_a")); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if list, err := r.List(t.Context(), store.Query{}); err != nil || len(list) != 1 {
			t.Errorf("%s: List = %v, %v, want one session", name, list, err)
		}
		must(t, r.Check(t.Context(), ""))
		if _, err := r.Create(t.Context(), aSession("ses_b")); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: Create = %v, want ErrReadOnly", name, err)
		}
		if err := r.Release(t.Context(), token); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: Release = %v, want ErrReadOnly", name, err)
		}
		must(t, r.Close())
		if _, err := r.List(t.Context(), store.Query{}); !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s: List after Close = %v, want ErrClosed", name, err)
		}
		if d := cmp.Diff(before, filesIn(t, dir)); d != "" && name == "closed" {
			t.Errorf("files were made (-before +after):\n%s", d)
		}
	}

	for name, dir := range map[string]string{"an empty": t.TempDir(), "a missing": filepath.Join(t.TempDir(), "none")} {
		empty := readOnly(t, dir)
		if list, err := empty.List(t.Context(), store.Query{}); err != nil || len(list) != 0 {
			t.Errorf("List of %s directory = %v, %v", name, list, err)
		}
		if _, err := empty.Create(t.Context(), aSession("ses_b")); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("Create in %s directory = %v, want ErrReadOnly", name, err)
		}
	}

	// The first start without room leaves an empty file. It is not damaged.
	s = &Store{path: filepath.Join(t.TempDir(), "tenon.db"), steps: schema()}
	must(t, os.WriteFile(s.path, nil, 0o600))
	if err := s.openReadOnly(t.Context(), store.ErrFull); err != store.ErrFull {
		t.Errorf("opening an empty file = %v, want the reason why it cannot be written", err)
	}
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestReadBesideWriter reads while another process writes, whose log was empty at first: it sees what is stored, and no damage.
func TestReadBesideWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	createIn(t, s, "ses_a")
	must(t, s.Close())
	s = openAt(t, dir)
	if log, err := os.Stat(filepath.Join(dir, "tenon.db-wal")); err != nil || log.Size() > 0 {
		t.Fatalf("the log of a new writer: %v, %v, want an empty one", log, err)
	}
	r := readOnly(t, dir)
	must(t, r.Check(t.Context(), ""))
	for n := range 60 {
		id := fmt.Sprintf("ses_%d", n)
		token := createIn(t, s, id)
		appendTo(t, s, token, store.PutMessage{Message: aMessage(id, 1)}, store.PutPart{Part: aPart(id, 1, strings.Repeat("x", 100_000))})
	}
	if list, err := r.List(t.Context(), store.Query{}); err != nil || len(list) != 61 {
		t.Errorf("List = %d sessions, %v, want 61", len(list), err)
	}
	must(t, r.Check(t.Context(), ""))
}

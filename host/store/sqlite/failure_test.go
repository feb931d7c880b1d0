package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// limit lets the database have so many more pages than it has now. A full disk fails in the same way.
func limit(t *testing.T, s *Store, pages int64) {
	t.Helper()
	onWriter(t, s, func(ctx context.Context, c *database.Conn) error {
		x := &database.Tx{Ctx: ctx, Conn: c}
		n := x.Number("PRAGMA page_count")
		if x.Err() != nil {
			return x.Err()
		}
		return c.Script(ctx, fmt.Sprintf("PRAGMA max_page_count=%d", n+pages))
	})
}

// noise returns content that the compressor cannot shrink much.
func noise(n int) []byte {
	out := make([]byte, n)
	x := uint32(1)
	for i := range out {
		x = x*1664525 + 1013904223
		out[i] = byte(x >> 24)
	}
	return out
}

func TestFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	token := createIn(t, s, "ses_a")
	appendTo(t, s, token, store.PutMessage{Message: aMessage("ses_a", 0)}, store.PutPart{Part: aPart("ses_a", 0, "kept")})
	limit(t, s, 20)
	big := []store.Op{
		store.PutMessage{Message: aMessage("ses_a", 1)},
		store.PutPart{Part: aPart("ses_a", 1, "lost")},
		store.PutBlob{Content: noise(1 << 20)},
	}
	for range 2 {
		_, err := s.Append(t.Context(), token, big)
		if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), s.path) {
			t.Fatalf("Append without room = %v, want ErrFull with the place", err)
		}
	}
	if d := cmp.Diff([]string{"kept"}, texts(t, s, "ses_a")); d != "" {
		t.Errorf("after a failed append (-want +got):\n%s", d)
	}
	// Changes that fit are still stored, and all are once there is space again.
	appendTo(t, s, token, store.AppendText{PartID: aPart("ses_a", 0, "").ID, Field: "text", Text: " too"})
	limit(t, s, 10_000)
	appendTo(t, s, token, big...)
	wantSound(t, s)
	must(t, s.Close())
	s = openAt(t, dir)
	wantSound(t, s)
	if d := cmp.Diff([]string{"kept too", "lost"}, texts(t, s, "ses_a")); d != "" {
		t.Errorf("after there was room again (-want +got):\n%s", d)
	}
}

// An append without space must not fail the others in its transaction.
func TestFullNeighbours(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	token, other := createIn(t, s, "ses_a"), createIn(t, s, "ses_b")
	limit(t, s, 20)
	release := holdWriter(t, s) // so that what follows shares one transaction
	var group sync.WaitGroup
	group.Go(func() {
		_, err := s.Append(t.Context(), token, []store.Op{store.PutBlob{Content: noise(1 << 20)}})
		if !errors.Is(err, store.ErrFull) {
			t.Errorf("big append = %v, want ErrFull", err)
		}
	})
	for n := range 10 {
		group.Go(func() {
			ops := []store.Op{store.PutMessage{Message: aMessage("ses_b", n)}, store.PutPart{Part: aPart("ses_b", n, "x")}}
			if _, err := s.Append(t.Context(), other, ops); err != nil {
				t.Errorf("small append = %v", err)
			}
		})
	}
	waitQueued(t, s, 11)
	release()
	group.Wait()
	if n := len(texts(t, s, "ses_b")); n != 10 {
		t.Errorf("%d small appends were kept, want 10", n)
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	token := createIn(t, s, "ses_a")
	var writer *database.Conn // used here only while the writer has nothing to do
	onWriter(t, s, func(ctx context.Context, c *database.Conn) error {
		writer = c
		return c.Script(ctx, "PRAGMA query_only=1")
	})
	ops := []store.Op{store.PutMessage{Message: aMessage("ses_a", 0)}, store.PutPart{Part: aPart("ses_a", 0, "x")}}
	_, err := s.Append(t.Context(), token, ops)
	if !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), s.path) {
		t.Errorf("Append to a read-only database = %v, want ErrReadOnly with the place", err)
	}
	must(t, writer.Script(t.Context(), "PRAGMA query_only=0"))
	appendTo(t, s, token, ops...)
}

// A damaged page is reported once, with its place.
func TestDamagedPage(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	createIn(t, s, "ses_a")
	must(t, s.Close())
	f, err := os.OpenFile(s.path, os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, 40_000), 8192) // the pages of tables; the schema is on the first one
	must(t, errors.Join(err, f.Close()))
	damaged, err := Open(t.Context(), Options{Path: s.path})
	if err == nil {
		_, err = damaged.Sessions(t.Context(), store.Query{Limit: 1})
		must(t, damaged.Close())
	}
	if !errors.Is(err, store.ErrCorrupt) || strings.Count(err.Error(), s.path) != 1 {
		t.Errorf("the error is %v, want ErrCorrupt with the place once", err)
	}
}

// Places that are not writable, not even by root.
func TestOpenUnwritable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	dir, long := t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("x", 300))
	for name, c := range map[string]struct{ path, place string }{
		"folder is a file":        {filepath.Join(file, "tenon.db"), file},
		"folder below a file":     {filepath.Join(file, "deep", "tenon.db"), file},
		"database is a folder":    {dir, dir},
		"name is too long":        {long, long},
		"folder name is too long": {filepath.Join(long, "tenon.db"), long},
	} {
		_, err := Open(t.Context(), Options{Path: c.path})
		if !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), c.place+": ") {
			t.Errorf("%s: Open = %v, want ErrReadOnly with the place %s", name, err, c.place)
		}
	}
	if os.Getuid() > 0 { // root may write anywhere; the cases above are for it too
		dir := t.TempDir()
		must(t, os.Chmod(dir, 0o500))
		s := openAt(t, dir) // an empty store that can be read
		if _, err := s.Create(t.Context(), aSession("ses_a")); !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), s.path+": ") {
			t.Errorf("Create in a read-only folder = %v, want ErrReadOnly with the place", err)
		}
	}
}

// Without a place for its lock a node cannot own a session, but it can read.
func TestLockUnwritable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	createIn(t, s, "ses_a")
	must(t, s.Close())
	must(t, os.RemoveAll(s.path+"-nodes"))
	must(t, os.WriteFile(s.path+"-nodes", nil, 0o600))
	s = openAt(t, dir)
	if _, err := s.Claim(t.Context(), "ses_a"); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("Claim = %v, want ErrReadOnly", err)
	}
	if _, err := s.Create(t.Context(), aSession("ses_b")); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("Create = %v, want ErrReadOnly", err)
	}
	if _, _, err := s.Session(t.Context(), "ses_a"); err != nil {
		t.Errorf("Session = %v", err)
	}
	must(t, os.Remove(s.path+"-nodes"))
	createIn(t, s, "ses_b")
}

func TestOpenDamaged(t *testing.T) {
	t.Parallel()
	whole := func(t *testing.T, path string) []byte {
		s := openAt(t, filepath.Dir(path))
		token := createIn(t, s, "ses_a")
		for n := range 50 {
			appendTo(t, s, token, store.PutMessage{Message: aMessage("ses_a", n)}, store.PutPart{Part: aPart("ses_a", n, "x")})
		}
		must(t, s.Close())
		data, err := os.ReadFile(path)
		must(t, err)
		return data
	}
	for name, content := range map[string]func(t *testing.T, path string) []byte{
		"text": func(*testing.T, string) []byte {
			return []byte(strings.Repeat("this is not a database\n", 100))
		},
		"cut off": func(t *testing.T, path string) []byte { return whole(t, path)[:8000] },
		"overwritten": func(t *testing.T, path string) []byte {
			data := whole(t, path)
			copy(data[100:], noise(len(data)-100))
			return data
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "tenon.db")
			must(t, os.WriteFile(path, content(t, path), 0o600))
			s, err := Open(t.Context(), Options{Path: path})
			if err == nil { // the damage is found when it is read
				_, err = s.Messages(t.Context(), "ses_a", store.Page{})
				_ = s.Close()
			}
			if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), path+": move the file away") {
				t.Errorf("Open = %v, want ErrCorrupt with place and remedy", err)
			}
		})
	}
}

func TestDamagedRows(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, c := range map[string]struct {
		sql  string
		read func(*Store) error
	}{
		"session":  {"UPDATE session SET data = '{'", func(s *Store) error { _, _, err := s.Session(ctx, "ses_a"); return err }},
		"listing":  {"UPDATE session SET data = '{'", func(s *Store) error { _, err := s.Sessions(ctx, store.Query{}); return err }},
		"message":  {"UPDATE message SET data = '[]'", func(s *Store) error { _, err := s.Messages(ctx, "ses_a", store.Page{}); return err }},
		"part":     {"UPDATE part SET data = ''", func(s *Store) error { _, err := s.Messages(ctx, "ses_a", store.Page{}); return err }},
		"open":     {"UPDATE part SET data = '{'", func(s *Store) error { _, err := s.Changes(ctx, "ses_a", 0, 0); return err }},
		"todos":    {"UPDATE todo SET data = '{'", func(s *Store) error { _, err := s.Todos(ctx, "ses_a"); return err }},
		"blob":     {"UPDATE blob SET data = 'x'", func(s *Store) error { _, err := s.Blob(ctx, store.Hash([]byte("x"))); return err }},
		"no blob":  {"UPDATE blob SET data = x''", func(s *Store) error { _, err := s.Blob(ctx, store.Hash([]byte("x"))); return err }},
		"cut blob": {"UPDATE blob SET data = substr(data, 1, 6)", func(s *Store) error { _, err := s.Blob(ctx, store.Hash([]byte("x"))); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openAt(t, t.TempDir())
			token := createIn(t, s, "ses_a")
			appendTo(t, s, token, store.PutMessage{Message: aMessage("ses_a", 0)}, store.PutPart{Part: aPart("ses_a", 0, "x")},
				store.AppendText{PartID: aPart("ses_a", 0, "").ID, Field: "text", Text: "y"},
				store.PutTodos{}, store.PutBlob{Content: []byte("x")})
			must(t, c.read(s))
			script(t, s, c.sql)
			if err := c.read(s); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), s.path) {
				t.Errorf("error = %v, want ErrCorrupt with the place", err)
			}
		})
	}
}

package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host/store"
)

// rounds is how often a process is killed: TENON_CRASH_ROUNDS, or crashRounds.
func rounds(t *testing.T) int {
	t.Helper()
	v := os.Getenv("TENON_CRASH_ROUNDS")
	if v == "" {
		return crashRounds
	}
	n, err := strconv.Atoi(v)
	must(t, err)
	return n
}

// killWhile runs a child on a database, kills it a random time below most after its first line, and returns whether it
// was done before.
func killWhile(t *testing.T, child, path string, most time.Duration) (done bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], path)
	cmd.Env = append(os.Environ(), childVar+"="+child)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Error("the child said nothing")
	}
	kill := time.AfterFunc(time.Duration(rand.Int64N(int64(most))), func() { _ = cmd.Process.Kill() })
	for lines.Scan() {
		done = done || lines.Text() == "done"
	}
	kill.Stop()
	_ = cmd.Wait() // killed, or done
	return done
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, data, 0o600))
}

const (
	importedMessages = 150
	archivedAt       = 5
)

// generation returns a session whose messages all have one word.
func generation(id string, n int, archived bool) store.Import {
	in := store.Import{Session: aSession(id)}
	if archived {
		in.Session.Time.Archived = archivedAt
	}
	for i := range importedMessages {
		m, p := aMessage(id, i), aPart(id, i, fmt.Sprintf("gen%d", n))
		in.Ops = append(in.Ops, store.PutMessage{Message: m}, store.PutPart{Part: p})
	}
	in.Ops = append(in.Ops, store.PutBlob{Content: fmt.Appendf(nil, "blob of %s %d", id, n)})
	return in
}

// importChild replaces a session and its child by the next generation, again and again.
func importChild(ctx context.Context, path string) error {
	s, err := Open(ctx, Options{Path: path})
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		child := generation("ses_child", n, false)
		child.Session.ParentID = "ses_root"
		if err := s.Import(ctx, []store.Import{generation("ses_root", n, false), child}, true); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// An import that is killed leaves the session before it or the one after it.
func TestCrashImport(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tenon.db")
	for round := range rounds(t) {
		killWhile(t, "import", path, 80*time.Millisecond)
		s, err := Open(t.Context(), Options{Path: path})
		must(t, err)
		wantSound(t, s)
		root, child := texts(t, s, "ses_root"), texts(t, s, "ses_child")
		if len(root) != importedMessages || len(child) != importedMessages {
			t.Fatalf("round %d: %d and %d messages, want %d", round, len(root), len(child), importedMessages)
		}
		for _, text := range append(root, child...) {
			if text != root[0] {
				t.Fatalf("round %d: %q stands beside %q", round, text, root[0])
			}
		}
		n := strings.TrimPrefix(root[0], "gen")
		if _, err := s.Blob(t.Context(), store.Hash([]byte("blob of ses_root "+n))); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		blobs := int64(0)
		must(t, s.read(t.Context(), func(c *conn) (err error) {
			blobs, err = c.number(t.Context(), "SELECT count(*) FROM blob")
			return err
		}))
		hits, err := s.Search(t.Context(), store.SearchQuery{Words: []string{"gen*"}})
		must(t, err)
		if blobs != 2 || len(hits) != 2 || hits[0].Text != root[0] {
			t.Errorf("round %d: %d blobs, found %v", round, blobs, hits)
		}
		must(t, s.Close())
	}
}

// fillFirst writes a database of version 1.
func fillFirst(t *testing.T, path string, sessions int) {
	t.Helper()
	s, err := openSteps(t, path, schema()[:1])
	must(t, err)
	onWriter(t, s, func(ctx context.Context, c *conn) error {
		for i := range sessions {
			info := aSession(fmt.Sprintf("ses_%03d", i))
			if i%2 == 1 {
				info.Time.Archived = archivedAt
			}
			data, err := encodeJSON(info)
			if err != nil {
				return err
			}
			key := int64(i + 1)
			_, err = c.exec(ctx, "INSERT INTO head VALUES(?, ?, 1, 1, '', 0, 0)", key, info.ID)
			if err == nil {
				_, err = c.exec(ctx, "INSERT INTO session VALUES(?, ?, ?, '', 0, '', '/src', 'title', ?)", key, stampsOf(key).low+1, info.ID, data)
			}
			if err != nil {
				return err
			}
			if err := fillMessages(ctx, c, key, info.ID); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, s.Close())
}

func fillMessages(ctx context.Context, c *conn, session int64, id string) error {
	for n := range 40 {
		message, err := encodeJSON(aMessage(id, n))
		if err != nil {
			return err
		}
		key, stamp := messagesOf(session).low+int64(n)+1, stampsOf(session).low+int64(2*n)+2
		if _, err = c.exec(ctx, "INSERT INTO message VALUES(?, ?, ?, ?)", key, stamp, aMessage(id, n).ID, message); err != nil {
			return err
		}
		p := aPart(id, n, fmt.Sprintf("text %d of 質問 %s", n, id))
		part, err := encodeJSON(p)
		if err != nil {
			return err
		}
		if _, err = c.exec(ctx, "INSERT INTO part VALUES(?, ?, ?, 'text', ?)", partsOf(key).low+1, stamp+1, p.ID, part); err != nil {
			return err
		}
	}
	return nil
}

// wantFilled checks that a migrated database has all that fillFirst wrote.
func wantFilled(t *testing.T, s *Store, sessions int) {
	t.Helper()
	wantSound(t, s)
	for _, c := range []struct {
		words []string
		limit int
		want  int
	}{{[]string{"title"}, 1000, sessions}, {[]string{"質問"}, 1000, sessions}, {[]string{"ses_000", "39"}, 0, 1}} {
		hits, err := s.Search(t.Context(), store.SearchQuery{Words: c.words, Limit: c.limit, Archived: true})
		must(t, err)
		if len(hits) != c.want {
			t.Errorf("found %q in %d sessions, want %d", c.words, len(hits), c.want)
		}
	}
	for archived, want := range map[bool]int{true: sessions, false: (sessions + 1) / 2} {
		list, err := s.Sessions(t.Context(), store.Query{Limit: 1000, Archived: archived})
		must(t, err)
		if len(list) != want {
			t.Errorf("%d sessions are listed with archived %v, want %d", len(list), archived, want)
		}
	}
	if got := texts(t, s, "ses_000"); len(got) != 40 || got[39] != "text 39 of 質問 ses_000" {
		t.Errorf("texts = %q", got)
	}
}

func TestMigrationFillsIndex(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tenon.db")
	fillFirst(t, path, 60) // more parts than are indexed at once
	s, err := Open(t.Context(), Options{Path: path})
	must(t, err)
	defer s.Close()
	wantFilled(t, s, 60)
}

func migrateChild(ctx context.Context, path string) error {
	fmt.Println("begin")
	s, err := Open(ctx, Options{Path: path})
	if err != nil {
		return err
	}
	fmt.Println("done")
	return s.Close()
}

// A migration that is killed leaves the old version or the new one, and the next start has all.
func TestCrashMigration(t *testing.T) {
	t.Parallel()
	first := filepath.Join(t.TempDir(), "first.db")
	const sessions = 30
	fillFirst(t, first, sessions)
	kept, migrated := 0, 0
	for round := range rounds(t) {
		path := filepath.Join(t.TempDir(), "tenon.db")
		copyFile(t, first, path)
		done := killWhile(t, "migrate", path, 200*time.Millisecond)
		c, err := connect(t.Context(), path)
		must(t, err)
		version, err := c.number(t.Context(), "PRAGMA user_version")
		must(t, err)
		parts, err := c.number(t.Context(), "SELECT count(*) FROM part")
		must(t, err)
		tables, err := c.number(t.Context(), "SELECT count(*) FROM sqlite_schema WHERE name = 'search'")
		must(t, err)
		must(t, c.close())
		current := int64(len(schema()))
		if parts != 40*sessions || version != 1 && version != current || tables != min(version-1, 1) || done && version != current {
			t.Fatalf("round %d: version %d with %d parts, index %d, done %v", round, version, parts, tables, done)
		}
		if version == 1 {
			kept++
		} else {
			migrated++
		}
		s, err := Open(t.Context(), Options{Path: path})
		must(t, err)
		wantFilled(t, s, sessions)
		must(t, s.Close())
	}
	t.Logf("%d times the old version, %d times the new one", kept, migrated)
}

func collectChild(ctx context.Context, path string) error {
	s, err := Open(ctx, Options{Path: path})
	if err != nil {
		return err
	}
	fmt.Println("begin")
	if _, err := s.Collect(ctx, store.GC{Archived: archivedAt + 1, Untouched: 1}); err != nil {
		return err
	}
	fmt.Println("done")
	return s.Close()
}

// A collection that is killed removed all of the garbage or none.
func TestCrashCollect(t *testing.T) {
	t.Parallel()
	first := filepath.Join(t.TempDir(), "first.db")
	s, err := Open(t.Context(), Options{Path: first})
	must(t, err)
	for i := range 12 {
		must(t, s.Import(t.Context(), []store.Import{generation(fmt.Sprintf("ses_%02d", i), i, i%2 == 0)}, false))
	}
	must(t, s.Close())
	type left struct{ sessions, blobs int64 }
	counts := map[left]int{}
	for round := range rounds(t) {
		path := filepath.Join(t.TempDir(), "tenon.db")
		copyFile(t, first, path)
		done := killWhile(t, "collect", path, 60*time.Millisecond)
		s, err := Open(t.Context(), Options{Path: path})
		must(t, err)
		wantSound(t, s)
		var got left
		must(t, s.read(t.Context(), func(c *conn) (err error) {
			if got.sessions, err = c.number(t.Context(), "SELECT count(*) FROM head"); err == nil {
				got.blobs, err = c.number(t.Context(), "SELECT count(*) FROM blob")
			}
			return err
		}))
		counts[got]++
		before, after := left{12, 12}, left{6, 0}
		if got != before && got != after || done && got != after {
			t.Fatalf("round %d: %+v, done %v", round, got, done)
		}
		for i := range 12 {
			id := fmt.Sprintf("ses_%02d", i)
			if i%2 == 1 && len(texts(t, s, id)) != importedMessages {
				t.Fatalf("round %d: messages of %s are gone", round, id)
			}
		}
		must(t, s.Close())
	}
	t.Log(counts)
}

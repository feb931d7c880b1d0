package sqlite

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
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

// startChild starts a child on a database, and returns it with the lines that it writes.
func startChild(t *testing.T, child, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], path)
	cmd.Env = append(os.Environ(), childVar+"="+child)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// killWhile runs a child on a database, kills it a random time below most after its first line, and returns the last line it
// wrote whole.
func killWhile(t *testing.T, child, path string, most time.Duration) (last string) {
	t.Helper()
	cmd, lines := startChild(t, child, path)
	if !lines.Scan() {
		t.Error("the child said nothing")
	}
	last = lines.Text()
	kill := time.AfterFunc(time.Duration(rand.Int64N(int64(most))), func() { _ = cmd.Process.Kill() })
	for lines.Scan() {
		last = lines.Text()
	}
	kill.Stop()
	_ = cmd.Wait() // killed, or done
	return last
}

// howLong runs a child to its end and returns the time from its first line on.
func howLong(t *testing.T, child, path string) time.Duration {
	t.Helper()
	cmd, lines := startChild(t, child, path)
	lines.Scan()
	begun := time.Now()
	for lines.Scan() {
		continue
	}
	must(t, cmd.Wait())
	return time.Since(begun)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, data, 0o600))
}

const (
	importedMessages = 40
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
	for i := range 2 { // more than one transaction takes
		in.Ops = append(in.Ops, store.PutBlob{Content: fmt.Appendf(noise(200<<10), "blob %d of %s %d", i, id, n)})
	}
	return in
}

// importChild replaces a session and its child by the next generation, again and again.
func importChild(ctx context.Context, path string) error {
	s, err := Open(ctx, Options{Path: path})
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		if err := s.Import(ctx, generations(n), true); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

func generations(n int) []store.Import {
	child := generation("ses_child", n, false)
	child.Session.ParentID = "ses_root"
	return []store.Import{generation("ses_root", n, false), child}
}

// An import that is killed leaves the sessions before it or those after it.
func TestCrashImport(t *testing.T) {
	if testing.Short() {
		t.Skip("kills other processes, which the race detector does not see into; runs without it")
	}
	t.Parallel()
	whole := map[int]string{} // generation -> state
	want := func(n int) string {
		if whole[n] == "" {
			s := openAt(t, t.TempDir())
			must(t, s.Import(t.Context(), generations(n), false))
			whole[n] = state(t, s)
			must(t, s.Close())
		}
		return whole[n]
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "tenon.db")
	after, left := 0, 0
	for round := range rounds(t) {
		n, err := strconv.Atoi(killWhile(t, "import", path, 80*time.Millisecond))
		must(t, err)
		s := openAt(t, dir)
		switch state(t, s) {
		case want(n):
		case want(n + 1):
			after++
		default:
			t.Fatalf("round %d: neither generation %d nor %d, but\n%s", round, n, n+1, describe(t, s))
		}
		left += leftBehind(t, s)
		must(t, s.Close())
	}
	t.Logf("%d imports were made and not reported, %d were left half-way", after, left)
	s := openAt(t, dir)
	_, err := s.Collect(t.Context(), store.GC{})
	must(t, err)
	wantClear(t, s)
}

// fillFirst writes a database of version 1.
func fillFirst(t *testing.T, path string, sessions int) {
	t.Helper()
	s, err := openSteps(t, path, schema()[:1])
	must(t, err)
	onWriter(t, s, func(ctx context.Context, c *database.Conn) error {
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
			_, err = c.Exec(ctx, "INSERT INTO head VALUES(?, ?, 1, 1, '', 0, 0)", key, info.ID)
			if err == nil {
				_, err = c.Exec(ctx, "INSERT INTO session VALUES(?, ?, ?, '', 0, '', '/src', 'title', ?)", key, stampsOf(key).low+1, info.ID, data)
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

func fillMessages(ctx context.Context, c *database.Conn, session int64, id string) error {
	for n := range 40 {
		message, err := encodeJSON(aMessage(id, n))
		if err != nil {
			return err
		}
		key, stamp := messagesOf(session).low+int64(n)+1, stampsOf(session).low+int64(2*n)+2
		if _, err = c.Exec(ctx, "INSERT INTO message VALUES(?, ?, ?, ?)", key, stamp, aMessage(id, n).ID, message); err != nil {
			return err
		}
		p := aPart(id, n, fmt.Sprintf("text %d of 質問 %s", n, id))
		part, err := encodeJSON(p)
		if err != nil {
			return err
		}
		if _, err = c.Exec(ctx, "INSERT INTO part VALUES(?, ?, ?, 'text', ?)", partsOf(key).low+1, stamp+1, p.ID, part); err != nil {
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

// TestVersion1 opens a file that version 1 wrote, fillFirst with 12 sessions: steps that were released must not change.
func TestVersion1(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/version1.db.gz")
	must(t, err)
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	must(t, err)
	data, err := io.ReadAll(unzipped)
	must(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "tenon.db")
	must(t, os.WriteFile(path, data, 0o600))
	old := rows(t, path)
	s := openAt(t, dir)
	wantFilled(t, s, 12)
	must(t, s.Close())
	if rows(t, path) != old || rows(t, path+".v1.bak") != old {
		t.Error("the migration changed what was there")
	}
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

// A migration that is killed leaves the old version or the new one, and a copy of the old one that can be used if there is
// one; the next start has all.
func TestCrashMigration(t *testing.T) {
	if testing.Short() {
		t.Skip("kills other processes, which the race detector does not see into; runs without it")
	}
	t.Parallel()
	const sessions = 12
	dir := t.TempDir()
	first, other := filepath.Join(dir, "first.db"), filepath.Join(dir, "tenon.db")
	fillFirst(t, first, sessions)
	old := rows(t, first)
	copyFile(t, first, other)
	whole := howLong(t, "migrate", other)
	s := openAt(t, dir)
	wantFilled(t, s, sessions)
	migrated := state(t, s)
	must(t, s.Close())
	kept, copies, rounds := 0, 0, rounds(t)
	for round := range rounds {
		dir := t.TempDir()
		path := filepath.Join(dir, "tenon.db")
		copyFile(t, first, path)
		done := killWhile(t, "migrate", path, whole+whole/4) == "done"
		c, err := database.Connect(t.Context(), database.URI(path))
		must(t, err)
		x := &database.Tx{Ctx: t.Context(), Conn: c}
		version, further := x.Number("PRAGMA user_version"), x.Number("SELECT count(*) FROM sqlite_schema WHERE name IN ('search', 'approval')")
		must(t, x.Err())
		must(t, c.Close())
		current := int64(len(schema()))
		if rows(t, path) != old || version == 1 && further != 0 || version != 1 && version != current || done && version != current {
			t.Fatalf("round %d: version %d with %d further tables, done %v", round, version, further, done)
		}
		if version == 1 {
			kept++
		}
		backup := path + ".v1.bak"
		if _, err := os.Stat(backup); err == nil {
			copies++
			if rows(t, backup) != old {
				t.Fatalf("round %d: the copy is not the database as it was", round)
			}
		} else if version != 1 {
			t.Fatalf("round %d: migrated without a copy: %v", round, err)
		}
		s := openAt(t, dir)
		if state(t, s) != migrated {
			t.Fatalf("round %d: the next start has\n%s", round, describe(t, s))
		}
		must(t, s.Close())
	}
	t.Logf("%d times the old version, %d times the new one, %d copies", kept, rounds-kept, copies)
}

func collectChild(ctx context.Context, path string) error {
	s, err := Open(ctx, Options{Path: path})
	if err != nil {
		return err
	}
	fmt.Println("begin")
	if err := collectAll(ctx, s); err != nil {
		return err
	}
	fmt.Println("done")
	return s.Close()
}

func collectAll(ctx context.Context, s *Store) error {
	_, err := s.Collect(ctx, store.GC{Archived: archivedAt + 1})
	return err
}

// A collection that is killed removed all of the garbage or none, as far as anybody can see.
func TestCrashCollect(t *testing.T) {
	if testing.Short() {
		t.Skip("kills other processes, which the race detector does not see into; runs without it")
	}
	t.Parallel()
	dir := t.TempDir()
	first, other := filepath.Join(dir, "first.db"), filepath.Join(dir, "tenon.db")
	s, err := Open(t.Context(), Options{Path: first})
	must(t, err)
	for i := range 8 {
		must(t, s.Import(t.Context(), []store.Import{generation(fmt.Sprintf("ses_%02d", i), i, i%2 == 0)}, false))
	}
	before := state(t, s)
	must(t, s.Close())
	copyFile(t, first, other)
	whole := howLong(t, "collect", other)
	s = openAt(t, dir)
	after := state(t, s)
	wantClear(t, s)
	must(t, s.Close())
	kept, left, rounds := 0, 0, rounds(t)
	for round := range rounds {
		dir := t.TempDir()
		path := filepath.Join(dir, "tenon.db")
		copyFile(t, first, path)
		most := whole + whole/4
		if round%2 == 0 {
			most = whole / 8 // the change itself comes first and is short
		}
		done := killWhile(t, "collect", path, most) == "done"
		s := openAt(t, dir)
		got := state(t, s)
		if got == before {
			kept++
		}
		if got != before && got != after || done && got != after {
			t.Fatalf("round %d: done %v, and there is\n%s", round, done, describe(t, s))
		}
		left += leftBehind(t, s)
		must(t, collectAll(t.Context(), s))
		if state(t, s) != after {
			t.Fatalf("round %d: the next collection leaves\n%s", round, describe(t, s))
		}
		wantClear(t, s)
		must(t, s.Close())
	}
	t.Logf("%d times nothing was removed, %d times all; %d sessions were still to be cleared", kept, rounds-kept, left)
}

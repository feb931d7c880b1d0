package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/sdk"
)

// long stores a session with many messages, about one a page, and another session behind it.
func long(t testing.TB, dir string, messages int) {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: filepath.Join(dir, "tenon.db"), Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"ses_a", "ses_b"} {
		token, err := s.Create(t.Context(), aSession(id))
		for n := 0; err == nil && n < messages; n++ {
			_, err = s.Append(t.Context(), token, []store.Op{
				store.PutMessage{Message: aMessage(id, n)}, store.PutPart{Part: aPart(id, n, content(id, n))},
				store.PutLedger{MessageID: aMessage(id, n).ID, Purpose: sdk.PurposeTurn, Entries: []byte(`[]`)},
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func content(id string, n int) string {
	return fmt.Sprintf("%s %06d %s", id, n, strings.Repeat("x", 1500))
}

// pagesWith returns the offsets of the pages of the file that have the text.
func pagesWith(t testing.TB, path, text string) []int64 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := int(binary.BigEndian.Uint16(data[16:])) // see https://www.sqlite.org/fileformat.html#page_size
	var out []int64
	for at := 0; at < len(data); at += size {
		if bytes.Contains(data[at:at+size], []byte(text)) {
			out = append(out, int64(at))
		}
	}
	return out
}

func overwrite(t testing.TB, path string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.WriteAt(b, at); errors.Join(err, f.Close()) != nil {
		t.Fatal(err)
	}
}

// Pages that SQLite cannot read cost their own rows, which are named: those before, between and after come back.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "tenon.db")
	long(t, dir, 40)
	for _, n := range []int{7, 20, 33} {
		at := pagesWith(t, path, content("ses_a", n))
		if len(at) != 1 {
			t.Fatalf("part %d is in %d pages", n, len(at))
		}
		overwrite(t, path, at[0], make([]byte, 4096))
	}
	s := openAt(t, dir)
	got, damaged := readAll(t, s, "ses_a")
	lost := map[string]bool{}
	for _, d := range damaged {
		if d.Type != store.DamagedPart || d.Session != "ses_a" || d.Problem != errPage.Error() || d.Message == "" {
			t.Errorf("damage %+v", d)
		}
		lost[d.ID] = true
	}
	if len(lost) < 3 || len(lost) > 9 || !lost["prt_000007"] || !lost["prt_000020"] || !lost["prt_000033"] {
		t.Errorf("lost %v, want the parts of three pages", slices.Sorted(maps.Keys(lost)))
	}
	for n := range 40 {
		id := fmt.Sprintf("prt_%06d", n)
		if text, ok := got[id]; ok == lost[id] || ok && text != content("ses_a", n) {
			t.Errorf("%s = %.20q, %t, lost %t", id, text, ok, lost[id])
		}
	}
	tail, err := s.Messages(t.Context(), "ses_a", store.Page{Limit: 10})
	if rows, err := store.Readable(err); err != nil || len(tail) != 10 || len(rows) == 0 {
		t.Errorf("tail of %d messages with damage %v, %v", len(tail), rows, err)
	}
	if other, damaged := readAll(t, s, "ses_b"); len(other) != 40 || len(damaged) != 0 {
		t.Errorf("the other session has %d parts, damage %v", len(other), damaged)
	}
	rows, err := store.Readable(s.Check(t.Context(), ""))
	if err != nil || !slices.ContainsFunc(rows, func(d store.Damage) bool { return d.Type == store.DamagedStore }) || !slices.ContainsFunc(rows, func(d store.Damage) bool { return d.ID == "prt_000020" }) {
		t.Errorf("Check = %v, %v, want the structure and the row", rows, err)
	}
	// SQLite cannot remove such rows: they stay named.
	left, err := store.Readable(s.Repair(t.Context(), "ses_a", func([]store.Aside) error { t.Error("nothing can be set aside"); return nil }))
	if err != nil || len(left) != len(lost) {
		t.Errorf("Repair leaves %v, %v, want what is lost", left, err)
	}
	must(t, s.Close())
	wantRebuilt(t, dir, got, lost)
}

// wantRebuilt rebuilds the database, which must have what could be read, and keeps the damaged one.
func wantRebuilt(t *testing.T, dir string, texts map[string]string, lost map[string]bool) {
	t.Helper()
	path := filepath.Join(dir, "tenon.db")
	before, err := os.ReadFile(path)
	must(t, err)
	busy := openAt(t, dir)
	if _, err := Rebuild(t.Context(), Options{Path: path}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Rebuild of a database in use = %v, want ErrUnavailable", err)
	}
	must(t, busy.Close())
	out, err := Rebuild(t.Context(), Options{Path: path, Version: "1.2.3"})
	must(t, err)
	if len(out.Lost) != len(lost) || out.Sessions != 2 {
		t.Errorf("Rebuild = %+v, want 2 sessions without %d rows", out, len(lost))
	}
	kept, err := os.ReadFile(out.Kept)
	must(t, err)
	if len(kept) != len(before) || !bytes.Equal(kept[4096:], before[4096:]) { // the first page has the mode of the journal
		t.Errorf("the damaged file is not kept as it was")
	}
	s := openAt(t, dir)
	wantSound(t, s)
	got, damaged := readAll(t, s, "ses_a")
	if d := cmp.Diff(texts, got); d != "" || len(damaged) > 0 {
		t.Errorf("after the rebuild, damage %v (-want +got):\n%s", damaged, d)
	}
	token, err := s.Claim(t.Context(), "ses_a")
	must(t, err)
	appendTo(t, s, token, store.PutMessage{Message: aMessage("ses_a", 1000)}, store.PutPart{Part: aPart("ses_a", 1000, "more")})
	must(t, s.Close())
	for _, name := range filesIn(t, dir) {
		if strings.Contains(name, rebuildSuffix) {
			t.Errorf("%s is left", name)
		}
	}
}

// SQLite does not open a file that was cut off. A rebuild has the rows of its pages, unchanged.
func TestRebuildOfCutOffFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "tenon.db")
	long(t, dir, 40)
	info, err := os.Stat(path)
	must(t, err)
	must(t, os.Truncate(path, info.Size()*3/4))
	if _, err := Open(t.Context(), Options{Path: path}); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("Open = %v, want ErrCorrupt", err)
	}
	out, err := Rebuild(t.Context(), Options{Path: path, Version: "1.2.3"})
	must(t, err)
	if out.Sessions != 2 || len(out.Lost) == 0 {
		t.Errorf("Rebuild = %+v, want 2 sessions and lost rows", out)
	}
	s := openAt(t, dir)
	wantSound(t, s)
	got, _ := readAll(t, s, "ses_a")
	for id, text := range got {
		var n int
		if _, err := fmt.Sscanf(id, "prt_%d", &n); err != nil || text != content("ses_a", n) {
			t.Errorf("%s = %.20q, %v", id, text, err)
		}
	}
	if len(got) < 20 {
		t.Errorf("%d of 40 parts came back", len(got))
	}
	must(t, s.Close())
}

// SQLite does not open a file with a damaged definition of a table. A rebuild knows the definitions, and has all rows.
func TestRebuildOfDamagedDefinitions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "tenon.db")
	long(t, dir, 40)
	s := openAt(t, dir)
	want, _ := readAll(t, s, "ses_a")
	must(t, s.Close())
	c, err := database.Connect(t.Context(), database.URI(path))
	must(t, err)
	must(t, c.Script(t.Context(), "PRAGMA writable_schema=1; UPDATE sqlite_schema SET sql = 'CRFATE' || substr(sql, 7)"))
	must(t, c.Close())
	if _, err := Open(t.Context(), Options{Path: path}); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("Open = %v, want ErrCorrupt", err)
	}
	wantAllRebuilt(t, dir, want, 0)
}

// If the states of the sessions cannot be read, their contents can.
func TestRebuildWithoutHeads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "tenon.db")
	long(t, dir, 40)
	s := openAt(t, dir)
	want, _ := readAll(t, s, "ses_a")
	var page int64
	must(t, s.read(t.Context(), func(x *view) { page = x.Number("SELECT rootpage FROM sqlite_schema WHERE name = 'head'") }))
	must(t, s.Close())
	overwrite(t, path, (page-1)*4096, make([]byte, 4096))
	wantAllRebuilt(t, dir, want, 2)
}

// wantAllRebuilt rebuilds the database, which must have the texts. Some other data is lost.
func wantAllRebuilt(t *testing.T, dir string, texts map[string]string, lost int) {
	t.Helper()
	out, err := Rebuild(t.Context(), Options{Path: filepath.Join(dir, "tenon.db"), Version: "1.2.3"})
	must(t, err)
	if out.Sessions != 2 || len(out.Lost) != lost {
		t.Errorf("Rebuild = %+v, want 2 sessions and %d losses", out, lost)
	}
	s := openAt(t, dir)
	wantSound(t, s)
	got, damaged := readAll(t, s, "ses_a")
	if d := cmp.Diff(texts, got); d != "" || len(damaged) > 0 {
		t.Errorf("after the rebuild, damage %v (-want +got):\n%s", damaged, d)
	}
	must(t, s.Close())
}

// A rebuild keeps what belongs to no message.
func TestRebuildKeepsTheRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	token, err := s.Create(t.Context(), aSession("ses_a"))
	must(t, err)
	todos := []sdk.Todo{{Content: "task", Status: "pending", Priority: "low"}}
	appendTo(t, s, token, store.PutMessage{Message: aMessage("ses_a", 1)}, store.PutTodos{Todos: todos}, store.SetTurn{Open: true})
	prompts := []store.Prompt{{ID: "msg_8", SessionID: "ses_a", Data: []byte(`{"text":"one"}`)}, {ID: "msg_7", SessionID: "ses_a", Data: []byte(`{"text":"two"}`)}}
	for _, p := range append(prompts[:2:2], store.Prompt{ID: "msg_9", SessionID: "ses_a", Data: []byte(`{"text":`)}) {
		must(t, s.Submit(t.Context(), p))
	}
	approvals := []store.Approval{{ID: 1, Project: "/src", Permission: "bash", Pattern: "ls", Created: 5, Session: "ses_a", Origin: "ls -l"}}
	must(t, s.Approve(t.Context(), approvals))
	must(t, s.Close())
	made, err := Rebuild(t.Context(), Options{Path: filepath.Join(dir, "tenon.db"), Version: "1.2.3"})
	must(t, err)
	if len(made.Lost) != 1 || !strings.Contains(made.Lost[0].Problem, "msg_9") {
		t.Errorf("lost %+v, want the prompt that cannot be decoded", made.Lost)
	}
	s = openAt(t, dir)
	type rest struct {
		Todos     []sdk.Todo
		Prompts   []store.Prompt
		Approvals []store.Approval
		Open      []string
	}
	var got rest
	got.Todos, err = s.Todos(t.Context(), "ses_a")
	must(t, err)
	got.Prompts, err = s.Prompts(t.Context(), "ses_a")
	must(t, err)
	got.Approvals, err = s.Approvals(t.Context(), "/src")
	must(t, err)
	got.Open, err = s.Interrupted(t.Context())
	must(t, err)
	if d := cmp.Diff(rest{todos, prompts, approvals, []string{"ses_a"}}, got); d != "" {
		t.Errorf("after the rebuild (-want +got):\n%s", d)
	}
}

// readAll returns the text of each part that can be read, and the damage.
func readAll(t testing.TB, s *Store, session string) (map[string]string, []store.Damage) {
	t.Helper()
	list, err := s.Messages(t.Context(), session, store.Page{})
	damaged, err := store.Readable(err)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range list {
		for _, p := range m.Parts {
			out[p.Head().ID] = ""
			if text, ok := p.(*sdk.TextPart); ok { // and not one of a type that became unknown
				out[p.Head().ID] = text.Text
			}
		}
	}
	return out, damaged
}

// Every page of the file is destroyed once. Nothing panics, no row comes back changed, and what is missing is named or an error.
func TestDamagedAnyPage(t *testing.T) {
	t.Parallel()
	sound := t.TempDir()
	long(t, sound, 8)
	data, err := os.ReadFile(filepath.Join(sound, "tenon.db"))
	must(t, err)
	for at := 4096; at < len(data); at += 4096 {
		dir := t.TempDir()
		broken := bytes.Clone(data)
		clear(broken[at : at+4096])
		must(t, os.WriteFile(filepath.Join(dir, "tenon.db"), broken, 0o600))
		s, err := Open(t.Context(), Options{Path: filepath.Join(dir, "tenon.db")})
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("page %d: Open = %v, want ErrCorrupt", at/4096, err)
			}
			continue
		}
		checkBroken(t, s, fmt.Sprintf("page %d", at/4096), 8)
		must(t, s.Close())
	}
}

// checkBroken reads all of a damaged store that long made.
func checkBroken(t testing.TB, s *Store, what string, messages int) {
	t.Helper()
	for _, id := range []string{"ses_a", "ses_b"} {
		list, err := s.Messages(t.Context(), id, store.Page{})
		damaged, err := store.Readable(err)
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: Messages(%s) = %v, want ErrCorrupt", what, id, err)
			}
			continue
		}
		parts := 0
		for _, m := range list {
			for _, p := range m.Parts {
				parts++
				var n int
				if _, err := fmt.Sscanf(p.Head().ID, "prt_%d", &n); err != nil || p.(*sdk.TextPart).Text != content(id, n) {
					t.Errorf("%s: %s came back changed", what, p.Head().ID)
				}
			}
		}
		if parts < messages && len(damaged) == 0 {
			t.Errorf("%s: %s has %d parts of %d and nothing is named", what, id, parts, messages)
		}
	}
	for name, err := range map[string]error{
		"Session":  second(s.Session(t.Context(), "ses_a")),
		"Sessions": first(s.Sessions(t.Context(), store.Query{})),
		"List":     first(s.List(t.Context(), store.Query{})),
		"Ledger":   first(s.Ledger(t.Context(), "ses_a", "")),
		"Todos":    first(s.Todos(t.Context(), "ses_a")),
		"Changes":  first(s.Changes(t.Context(), "ses_a", 0, 0)),
		"Search":   first(s.Search(t.Context(), store.SearchQuery{Words: []string{"ses"}})),
		"Check":    s.Check(t.Context(), ""),
	} {
		if err != nil && !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %s = %v, want ErrCorrupt", what, name, err)
		}
	}
}

func first[T any](_ T, err error) error          { return err }
func second[T, U any](_ T, _ U, err error) error { return err }

// Bytes of rows are changed at random. All other rows come back as they were, and what is missing is named.
func FuzzDamagedBytes(f *testing.F) {
	const messages = 12
	dir := f.TempDir()
	long(f, dir, messages)
	sound, err := os.ReadFile(filepath.Join(dir, "tenon.db"))
	if err != nil {
		f.Fatal(err)
	}
	for seed := range uint64(40) {
		f.Add(seed, byte(1+seed%8), seed%2 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, flips byte, anywhere bool) {
		data := bytes.Clone(sound)
		r := rand.New(rand.NewPCG(seed, 1))
		touched := map[string]bool{}
		for range 1 + int(flips)%16 {
			if anywhere {
				data[r.IntN(len(data))] ^= byte(1 + r.IntN(255))
				continue
			}
			n := r.IntN(messages)
			row := []byte(`{"type":"text","id":"` + fmt.Sprintf("prt_%06d", n) + `","sessionID":"ses_a"`)
			at := bytes.Index(data, row)
			if at < 0 {
				continue // touched already
			}
			data[at+r.IntN(len(row))] ^= byte(1 + r.IntN(255))
			touched[fmt.Sprintf("prt_%06d", n)] = true
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "tenon.db")
		must(t, os.WriteFile(path, data, 0o600))
		s, err := Open(t.Context(), Options{Path: path})
		if err != nil {
			if !anywhere {
				t.Fatal(err)
			}
			return
		}
		defer s.Close()
		if anywhere {
			scan(t, s)
			return
		}
		checkTouched(t, s, touched, messages)
	})
}

// scan reads everything there is. Errors are fine, a panic is not.
func scan(t *testing.T, s *Store) {
	t.Helper()
	_ = s.Check(t.Context(), "")
	for _, id := range []string{"ses_a", "ses_b"} {
		_, _ = s.Messages(t.Context(), id, store.Page{})
		_, _ = s.Messages(t.Context(), id, store.Page{Limit: 3})
		_, _ = s.Changes(t.Context(), id, 0, 0)
		_, _ = s.Ledger(t.Context(), id, "")
		_ = s.Repair(t.Context(), id, func([]store.Aside) error { return nil })
	}
	_, _ = s.Sessions(t.Context(), store.Query{})
	_, _ = s.List(t.Context(), store.Query{})
	_, _ = s.Search(t.Context(), store.SearchQuery{Words: []string{"ses"}})
}

func checkTouched(t *testing.T, s *Store, touched map[string]bool, messages int) {
	t.Helper()
	got, damaged := readAll(t, s, "ses_a")
	named := map[string]bool{}
	for _, d := range damaged {
		named[d.ID] = true
	}
	for n := range messages {
		id := fmt.Sprintf("prt_%06d", n)
		text, ok := got[id]
		switch {
		case !touched[id] && (!ok || text != content("ses_a", n)):
			t.Errorf("%s was not damaged and is %.20q, %t", id, text, ok)
		case ok == named[id]:
			t.Errorf("%s is there: %t, named as damaged: %t", id, ok, named[id])
		}
	}
	if other, damaged := readAll(t, s, "ses_b"); len(other) != messages || len(damaged) != 0 {
		t.Errorf("the other session has %d parts, damage %v", len(other), damaged)
	}
	must(t, s.Repair(t.Context(), "ses_a", func(rows []store.Aside) error {
		for _, row := range rows {
			if !touched[row.ID] || len(row.Data) == 0 {
				t.Errorf("set aside %+v", row.Damage)
			}
		}
		return nil
	}))
	must(t, s.Check(t.Context(), ""))
}

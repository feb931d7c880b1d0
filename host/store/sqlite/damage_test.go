package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/store"
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

// A page that SQLite cannot read is an error of each read that meets it, and of a repair. Other sessions can be used.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "tenon.db")
	long(t, dir, 40)
	at := pagesWith(t, path, content("ses_a", 20))
	if len(at) != 1 {
		t.Fatalf("the part is in %d pages", len(at))
	}
	overwrite(t, path, at[0], make([]byte, 4096))
	s := openAt(t, dir)
	if _, err := s.Messages(t.Context(), "ses_a", store.Page{}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("Messages = %v, want ErrCorrupt", err)
	}
	if tail, err := s.Messages(t.Context(), "ses_a", store.Page{Limit: 10}); err != nil || len(tail) != 10 {
		t.Errorf("tail of %d messages, %v", len(tail), err)
	}
	if other, damaged := readAll(t, s, "ses_b"); len(other) != 40 || len(damaged) != 0 {
		t.Errorf("the other session has %d parts, damage %v", len(other), damaged)
	}
	rows, err := store.Readable(s.Check(t.Context(), ""))
	if err != nil || !slices.ContainsFunc(rows, func(d store.Damage) bool { return d.Type == store.DamagedStore && d.Session == "ses_a" }) {
		t.Errorf("Check = %v, %v, want the session", rows, err)
	}
	if err := s.Repair(t.Context(), "ses_a", func([]store.Aside) error { t.Error("nothing can be set aside"); return nil }); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("Repair = %v, want ErrCorrupt", err)
	}
	token, err := s.Claim(t.Context(), "ses_b")
	must(t, err)
	appendTo(t, s, token, store.PutMessage{Message: aMessage("ses_b", 1000)}, store.PutPart{Part: aPart("ses_b", 1000, "more")})
	must(t, s.Close())
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

// SQLite does not notice a damaged key of a row, which can end a scan early. No row is then missing, or there twice, unless it is named or an error.
func TestDamagedKey(t *testing.T) {
	t.Parallel()
	const messages = 12
	sound := t.TempDir()
	long(t, sound, messages)
	data, err := os.ReadFile(filepath.Join(sound, "tenon.db"))
	must(t, err)
	at := bytes.Index(data, []byte(`{"type":"text","id":"prt_000006"`))
	if at < 0 {
		t.Fatal("the row was not found")
	}
	for offset := -33; offset < -27; offset++ { // the key is there
		for bit := range 8 {
			path := filepath.Join(t.TempDir(), "tenon.db")
			broken := bytes.Clone(data)
			broken[at+offset] ^= 1 << bit
			must(t, os.WriteFile(path, broken, 0o600))
			s, err := Open(t.Context(), Options{Path: path})
			must(t, err)
			what := fmt.Sprintf("byte %d, bit %d", offset, bit)
			checkBroken(t, s, what, messages)
			list, err := s.Messages(t.Context(), "ses_a", store.Page{})
			if rows, err := store.Readable(err); err == nil && len(list) != messages && len(rows) != 1 {
				t.Errorf("%s: %d messages, damage %v", what, len(list), rows)
			}
			must(t, s.Close())
		}
	}
}

// A session whose row has another name costs no other one in a list.
func TestDamagedSessionName(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	for _, id := range []string{"ses_a", "ses_b"} {
		_, err := s.Create(t.Context(), aSession(id))
		must(t, err)
	}
	script(t, s, "UPDATE session SET id = 'ses_x' WHERE id = 'ses_a'")
	list, err := s.Sessions(t.Context(), store.Query{})
	if rows, err := store.Readable(err); err != nil || len(list) != 2 || len(rows) != 1 || rows[0].Session != "ses_x" {
		t.Errorf("Sessions = %d, damage %v, %v", len(list), rows, err)
	}
	must(t, s.Close())
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

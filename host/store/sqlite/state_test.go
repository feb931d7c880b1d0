package sqlite

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// state returns a hash of all that can be seen in a store, whatever numbers its sessions have: sessions with their messages,
// parts and all else, their outputs, and what of them can be found. It fails when something is damaged.
func state(t *testing.T, s *Store) string {
	t.Helper()
	wantSound(t, s)
	script(t, s, "INSERT INTO search(search) VALUES('integrity-check')")
	sum := sha256.Sum256([]byte(describe(t, s)))
	return hex.EncodeToString(sum[:])
}

// describe returns what state is the hash of, with long values cut.
func describe(t *testing.T, s *Store) string {
	t.Helper()
	var b strings.Builder
	must(t, s.read(t.Context(), func(x *view) {
		for _, sql := range []string{
			"SELECT id, seq, turn FROM head WHERE " + isSeen + " ORDER BY id",
			"SELECT id, stamp & ((1 << 40) - 1), parent, updated, project, directory, title, archived, brief, data FROM session ORDER BY id",
			"SELECT s.id, m.key - (s.key << 22), m.stamp - (s.key << 40), m.id, m.data FROM session s JOIN message m ON m.key >> 22 = s.key ORDER BY s.id, m.key",
			"SELECT s.id, p.key - (s.key << 40), p.stamp - (s.key << 40), p.id, p.field, p.data FROM session s JOIN part p ON p.key >> 40 = s.key ORDER BY s.id, p.key",
			"SELECT s.id, d.part - (s.key << 40), d.text FROM session s JOIN delta d ON d.part >> 40 = s.key ORDER BY s.id, d.part, d.stamp",
			"SELECT s.id, t.data FROM session s JOIN todo t ON t.session = s.key ORDER BY s.id",
			"SELECT s.id, l.key - (s.key << 40), l.message, l.entries FROM session s JOIN ledger l ON l.key >> 40 = s.key ORDER BY s.id, l.key",
			"SELECT s.id, p.id, p.data FROM session s JOIN prompt p ON p.session = s.key ORDER BY s.id, p.number",
			"SELECT s.id, b.hash, hex(b.data) FROM session s JOIN blob_session o ON o.session = s.key JOIN blob b ON b.key = o.blob ORDER BY s.id, b.hash",
			"SELECT s.id, d.id - (s.key << 40) FROM session s JOIN search_docsize d ON d.id >> 40 = s.key ORDER BY s.id, d.id",
		} {
			fmt.Fprintln(&b, sql)
			x.Each(sql, func(r database.Row) {
				for _, v := range r {
					fmt.Fprintf(&b, " %.300v", v)
				}
				b.WriteByte('\n')
			})
		}
	}))
	for _, words := range [][]string{{"gen*"}, {"title"}, {"text"}, {"質問"}} {
		hits, err := s.Search(t.Context(), store.SearchQuery{Words: words, Limit: 1000, Archived: true})
		must(t, err)
		found := map[string]string{}
		for _, h := range hits {
			found[h.Session.ID] = h.MessageID + " " + h.Text
		}
		fmt.Fprintln(&b, words, found)
	}
	return b.String()
}

// rows returns a hash of what version 1 stores, in a file of any version.
func rows(t *testing.T, path string) string {
	t.Helper()
	c, err := database.Connect(t.Context(), database.URI(path))
	must(t, err)
	hash := sha256.New()
	for _, sql := range []string{
		"PRAGMA integrity_check", "SELECT id, seq, epoch, turn FROM head ORDER BY key",
		"SELECT key, stamp, id, parent, updated, project, directory, title, data FROM session ORDER BY key",
		"SELECT * FROM message ORDER BY key", "SELECT * FROM part ORDER BY key", "SELECT * FROM delta ORDER BY part, stamp",
		"SELECT * FROM removed ORDER BY stamp", "SELECT * FROM todo ORDER BY session", "SELECT * FROM prompt ORDER BY session, id",
		"SELECT * FROM ledger ORDER BY key", "SELECT * FROM blob ORDER BY key", "SELECT * FROM blob_session ORDER BY session, blob",
	} {
		must(t, c.Query(t.Context(), sql, func(r database.Row) error {
			fmt.Fprintf(hash, "%q\n", r)
			return nil
		}))
	}
	must(t, c.Close())
	return hex.EncodeToString(hash.Sum(nil))
}

// leftBehind counts the hidden sessions.
func leftBehind(t *testing.T, s *Store) int {
	t.Helper()
	n := int64(0)
	must(t, s.read(t.Context(), func(x *view) { n = x.Number("SELECT count(*) FROM head WHERE " + isHidden) }))
	return int(n)
}

// wantClear fails unless every row belongs to a session.
func wantClear(t *testing.T, s *Store) {
	t.Helper()
	must(t, s.read(t.Context(), func(x *view) {
		for what, sql := range map[string]string{
			"heads":                   "SELECT count(*) FROM head WHERE key NOT IN (SELECT key FROM session)",
			"messages":                "SELECT count(*) FROM message WHERE key >> 22 NOT IN (SELECT key FROM session)",
			"parts":                   "SELECT count(*) FROM part WHERE key >> 40 NOT IN (SELECT key FROM session)",
			"rows to find":            "SELECT count(*) FROM search_docsize WHERE id >> 40 NOT IN (SELECT key FROM session)",
			"ledgers":                 "SELECT count(*) FROM ledger WHERE key >> 40 NOT IN (SELECT key FROM session)",
			"blobs":                   "SELECT count(*) FROM blob WHERE key NOT IN (SELECT blob FROM blob_session)",
			"blobs without a session": "SELECT count(*) FROM blob_session WHERE session NOT IN (SELECT key FROM session)",
		} {
			if n := x.Number(sql); n != 0 {
				t.Errorf("%d %s are left in %s", n, what, filepath.Base(s.path))
			}
		}
	}))
}

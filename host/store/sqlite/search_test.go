package sqlite

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenonhq/tenon/host/store"
)

// Every word of a text finds it.
func FuzzSearch(f *testing.F) {
	f.Add("go.mod a")
	f.Add(`x" OR "y NOT (NEAR {a b} col:c^2*`)
	f.Add("質問です naïve ΑΒΓ สวัสดี e\u0301 ²x")
	f.Add("a\x00b \xff-c- ++ \u00ad\u200dd")
	s, err := Open(f.Context(), Options{Path: filepath.Join(f.TempDir(), "tenon.db"), Version: "1.2.3"})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	token, err := s.Create(f.Context(), aSession("ses_a"))
	if err == nil {
		_, err = s.Append(f.Context(), token, []store.Op{store.PutMessage{Message: aMessage("ses_a", 0)}})
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 || !utf8.ValidString(text) {
			return
		}
		appendTo(t, s, token, store.PutPart{Part: aPart("ses_a", 0, text)})
		for _, word := range append(strings.Fields(text), text) {
			hits, err := s.Search(t.Context(), store.SearchQuery{Words: []string{word}})
			letters := strings.IndexFunc(word, func(r rune) bool { return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' }) >= 0
			switch {
			case err != nil && (letters || !errors.Is(err, store.ErrSearch)):
				t.Errorf("%q: %v", word, err)
			case letters && !slices.ContainsFunc(hits, func(h store.Hit) bool { return h.Text == text }):
				t.Errorf("%q does not find %q", word, text)
			}
		}
	})
}

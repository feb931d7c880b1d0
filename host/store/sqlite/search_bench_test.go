package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/sdk"
)

// benchMegabytes is the size of the store that is searched unless TENON_SEARCH_MB says otherwise.
const benchMegabytes = 30

// vocabulary is about as uneven as words of a language are: a few make up most of a text.
type vocabulary struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newVocabulary() *vocabulary {
	r := rand.New(rand.NewPCG(1, 2))
	return &vocabulary{r, rand.NewZipf(r, 1.1, 4, 60_000)}
}

func (v *vocabulary) text(size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "w%x ", v.zipf.Uint64())
	}
	return b.String()
}

// fillStore stores sessions of about so many megabytes: half of it prose, half tool output.
func fillStore(b testing.TB, s *sqlite.Store, megabytes int) (sessions int) {
	v := newVocabulary()
	for size := 0; size < megabytes<<20; sessions++ {
		id := fmt.Sprintf("ses_%06d", sessions)
		in := store.Import{Session: newSession(id)}
		for i := range 40 {
			m := newMessage(id, i)
			parts := newParts(m, i)
			parts[0].(*sdk.TextPart).Text = v.text(1200)
			parts[1].(*sdk.ToolPart).State.Output = v.text(1500)
			if i == 0 && sessions%1000 == 7 {
				parts[0].(*sdk.TextPart).Text += "needle in the haystack"
			}
			in.Ops = append(in.Ops, store.PutMessage{Message: m})
			for _, p := range parts {
				in.Ops = append(in.Ops, store.PutPart{Part: p})
			}
			size += 4500
		}
		if err := s.Import(b.Context(), []store.Import{in}, false); err != nil {
			b.Fatal(err)
		}
	}
	return sessions
}

// BenchmarkSearch looks for words from everywhere to nowhere.
func BenchmarkSearch(b *testing.B) {
	megabytes := benchMegabytes
	if v := os.Getenv("TENON_SEARCH_MB"); v != "" {
		var err error
		if megabytes, err = strconv.Atoi(v); err != nil {
			b.Fatal(err)
		}
	}
	path := filepath.Join(b.TempDir(), "tenon.db")
	s := open(b, path)
	defer mustClose(b, s)
	sessions := fillStore(b, s, megabytes)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d sessions, %d MB", sessions, info.Size()>>20)
	for name, words := range map[string][]string{
		"rare": {"needle"}, "phrase": {"needle in the haystack"}, "common": {"w0"}, "commonAnd": {"w0", "w1", "w2"}, "commonAndRare": {"w0", "needle"},
		"commonPhrase": {"w0 w1 w2"}, "middle": {"w3e8"}, "middleAnd": {"w3e8", "w3e9"}, "none": {"nothing"}, "title": {"common", "length"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Search(b.Context(), store.SearchQuery{Words: words}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("otherProject", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Search(b.Context(), store.SearchQuery{Words: []string{"w0"}, ProjectID: "none"}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

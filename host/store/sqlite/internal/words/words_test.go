package words_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/words"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		words []string
		match string
	}{
		"words":     {[]string{"go.mod", "a"}, `"go.mod" AND "a"`},
		"operators": {[]string{`x" OR "y`, "NOT"}, `"x"" OR ""y" AND "NOT"`},
		"beginning": {[]string{"conf*"}, `"conf*"`},
		"no word":   {[]string{"++", "a"}, `"a"`},
		"unspaced":  {[]string{"質問"}, `" 質  問 "`},
		"NUL":       {[]string{"a\x00b"}, `"a b"`},
	} {
		match, err := words.Match(c.words)
		if match != c.match || err != nil {
			t.Errorf("%s: Match = %q, %v; want %q", name, match, err, c.match)
		}
	}
	for _, bad := range [][]string{nil, {"+"}} {
		if _, err := words.Match(bad); !errors.Is(err, store.ErrSearch) {
			t.Errorf("Match(%q) = %v, want ErrSearch", bad, err)
		}
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	if got := words.Of("a質b"); got != "a 質 b" {
		t.Errorf("Of = %q", got)
	}
	if long := words.Of(strings.Repeat("é", 1<<20)); len(long) != 512<<10 || !utf8.ValidString(long) {
		t.Errorf("Of a long text has %d bytes, valid UTF-8 %v", len(long), utf8.ValidString(long))
	}
}

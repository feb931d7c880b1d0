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
		words    []string
		match    string
		prefixes bool
	}{
		"words":     {[]string{"go.mod", "a"}, `"go.mod" AND "a"`, false},
		"operators": {[]string{`x" OR "y`, "NOT"}, `"x"" OR ""y" AND "NOT"`, false},
		"beginning": {[]string{"conf*"}, `"conf"*`, true},
		"no word":   {[]string{"++", "a"}, `"a"`, false},
		"unspaced":  {[]string{"質問"}, `" 質  問 "`, false},
		"NUL":       {[]string{"a\x00b"}, `"a b"`, false},
	} {
		match, prefixes, err := words.Match(c.words)
		if match != c.match || prefixes != c.prefixes || err != nil {
			t.Errorf("%s: Match = %q, %v, %v; want %q, %v", name, match, prefixes, err, c.match, c.prefixes)
		}
	}
	for _, bad := range [][]string{nil, {"+"}, {"co*"}} {
		if _, _, err := words.Match(bad); !errors.Is(err, store.ErrSearch) {
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

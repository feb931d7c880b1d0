package fuzzy_test

import (
	"slices"
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/fuzzy"
)

func TestFilter(t *testing.T) {
	t.Parallel()
	list := []string{"merger", "git-rebase", "grep", "README.md", "cmd/tenon/main.go", "docs/main.md"}
	for pattern, want := range map[string][]string{
		"":        list,
		"gr":      {"grep", "git-rebase", "merger"},
		"R":       {"README.md"},
		"main.go": {"cmd/tenon/main.go"},
		"ctm":     {"cmd/tenon/main.go"},
		"xyz":     {},
	} {
		got := []string{}
		for _, i := range fuzzy.Filter(pattern, len(list), func(i int) string { return list[i] }) {
			got = append(got, list[i])
		}
		if !slices.Equal(got, want) {
			t.Errorf("Filter(%q) = %q, want %q", pattern, got, want)
		}
	}
}

// A name that is not UTF-8 is found by the character that the screen shows for it.
func TestNotUTF8(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"A\xff": false, "A\xffb": true} {
		if _, ok := fuzzy.Score("A\uFFFDb", text); ok != want {
			t.Errorf("Score(%q) = %v, want %v", text, ok, want)
		}
	}
}

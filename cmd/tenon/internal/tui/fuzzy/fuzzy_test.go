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

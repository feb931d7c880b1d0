package linediff_test

import (
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/linediff"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("a\n", 1_000_000)
	for name, c := range map[string]struct {
		old, new           string
		text               string
		additions, deleted int
	}{
		"equal":    {many, many, "", 0, 0},
		"one line": {"a\nb\n", "a\nc", "--- x\n+++ y\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n", 1, 1},
		"added":    {"", "a\nb\n", "--- x\n+++ y\n@@ -0,0 +1,2 @@\n+a\n+b\n", 2, 0},
		"one of many": {many + "b\nc\n" + many, many + "b\nd\n" + many,
			"--- x\n+++ y\n@@ -999999,7 +999999,7 @@\n a\n a\n b\n-c\n+d\n a\n a\n a\n", 1, 1},
		"many lines": {many, "b", "Files x and y differ; too many lines to compare: 1000000 and 1\n", 1, 1_000_000},
	} {
		if got, want := linediff.Compare("x", "y", c.old, c.new), (linediff.Diff{Text: c.text, Additions: c.additions, Deletions: c.deleted}); got != want {
			t.Errorf("%s: Compare = %.200v, want %.200v", name, got, want)
		}
	}
}

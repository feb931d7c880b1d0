package linediff

import (
	"strings"
	"testing"
)

// Only whole lines that both texts begin or end with are left out of the comparison.
func FuzzEqual(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nx\nc\n")
	f.Add("a\na\na", "a\na")
	f.Add("\n\nb", "\nab")
	f.Add("", "a\n")
	f.Fuzz(func(t *testing.T, old, new string) {
		start, end := equal(old, new)
		if start+end > min(len(old), len(new)) || old[:start] != new[:start] || old[len(old)-end:] != new[len(new)-end:] {
			t.Fatalf("equal(%q, %q) = %d, %d", old, new, start, end)
		}
		for _, text := range []string{old, new} {
			middle := text[start : len(text)-end]
			if start > 0 && text[start-1] != '\n' || end > 0 && middle != "" && !strings.HasSuffix(middle, "\n") {
				t.Errorf("equal(%q, %q) = %d, %d: a part of a line of %q", old, new, start, end, text)
			}
		}
		if d := Compare("a", "b", old, new); (d.Text == "") != (old == new) || Count(new)-Count(old) != d.Additions-d.Deletions {
			t.Errorf("Compare(%q, %q) = %+v", old, new, d)
		}
	})
}

package draw

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
)

const family = "👨\u200d👩\u200d👧" // two columns, or six in terminals that show its parts

func TestWrapDash(t *testing.T) {
	t.Parallel()
	if have := Wrap("word - b", 5); strings.Join(have, "|") != "word |-|b" {
		t.Errorf("Wrap = %q", have)
	}
}

// A line that fits is not broken.
func TestWrapDiffKeepsLinesThatFit(t *testing.T) {
	t.Parallel()
	fits := []string{Paint("1", strings.Repeat("a", 40)), "b"}
	if have := WrapDiff(fits, 40); !slices.Equal(have, fits) {
		t.Errorf("WrapDiff = %q", have)
	}
}

// Removed lines that look like the head of a file stay in their column; notes belong to both.
func TestSplitDiff(t *testing.T) {
	t.Parallel()
	have := SplitDiff(&Theme{}, "new was added\n--- a\n+++ b\n@@ -1 +1 @@\n--- x\n+++ y\n", 19)
	if want := []string{"new was added", "--- a", "+++ b", "@@ -1 +1 @@", "--- x    │ +++ y"}; !slices.Equal(have, want) {
		t.Errorf("SplitDiff = %q, want %q", have, want)
	}
}

// No line is wider than asked for, whether a terminal joins emoji or not.
func TestWidths(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a -"+family+" "+family+family+" - 世 👍🏽 to-do ", 3)
	for width := 8; width < 60; width++ {
		lines := append(Wrap(text, width), WrapDiff([]string{Paint("1", text)}, width)...)
		lines = append(lines, terminal.Fit(text, width), Pad(text, width), Sides(text, "right", width), Sides("left", family, width))
		for _, line := range lines {
			if n := terminal.Columns(line); n > width {
				t.Errorf("%q has %d columns, want at most %d", line, n, width)
			}
		}
		if n := terminal.Columns(Pad(text, width)); n != width {
			t.Errorf("Pad to %d columns: %d", width, n)
		}
		for name, have := range map[string][]string{"Wrap": Wrap(text, width), "WrapDiff": WrapDiff([]string{text}, width)} {
			if joined := strings.Join(have, ""); strings.ReplaceAll(joined, " ", "") != strings.ReplaceAll(text, " ", "") {
				t.Errorf("%s to %d columns changes the text: %q", name, width, joined)
			}
		}
	}
}

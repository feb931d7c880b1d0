package draw

import (
	"strings"
	"testing"
)

const family = "👨\u200d👩\u200d👧" // two columns, or six in terminals that show its parts

func TestFit(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"0123456789":              "0123456789",
		"01234567890":             "012345678…",
		family + "0123":           family + "0123",
		strings.Repeat(family, 4): family + "…",
		"0123" + family + family:  "0123…",
		Paint("1", strings.Repeat(family, 2)) + "x": Paint("1", family+"…"),
		strings.Repeat("👍🏽", 5):                     strings.Repeat("👍🏽", 2) + "…",
	} {
		if have := Fit(line, 10); have != want {
			t.Errorf("Fit(%q, 10) = %q, want %q", line, have, want)
		}
	}
}

func TestWrapDash(t *testing.T) {
	t.Parallel()
	if have := Wrap("word - b", 5); strings.Join(have, "|") != "word |-|b" {
		t.Errorf("Wrap = %q", have)
	}
}

// No line is wider than asked for, whether a terminal joins emoji or not.
func TestWidths(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a -"+family+" "+family+family+" - 世 👍🏽 to-do ", 3)
	for width := 8; width < 60; width++ {
		lines := append(Wrap(text, width), WrapDiff([]string{Paint("1", text)}, width)...)
		lines = append(lines, Fit(text, width), Pad(text, width), Sides(text, "right", width), Sides("left", family, width))
		for _, line := range lines {
			if n := Columns(line); n > width {
				t.Errorf("%q has %d columns, want at most %d", line, n, width)
			}
		}
		if n := Columns(Pad(text, width)); n != width {
			t.Errorf("Pad to %d columns: %d", width, n)
		}
		for name, have := range map[string][]string{"Wrap": Wrap(text, width), "WrapDiff": WrapDiff([]string{text}, width)} {
			if joined := strings.Join(have, ""); strings.ReplaceAll(joined, " ", "") != strings.ReplaceAll(text, " ", "") {
				t.Errorf("%s to %d columns changes the text: %q", name, width, joined)
			}
		}
	}
}

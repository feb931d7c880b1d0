package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/internal/markdown"
	"github.com/tenonhq/tenon/internal/visible"
)

// theme holds the looks of the screen: SGR parameters. The terminal gets as many colors as it has; the renderer converts them.
type theme struct {
	name                                string
	accent, user, ok, warn, fail, faint string
	selected                            string // of the current row of a list
	text                                markdown.Style
}

// themes lists the themes in the order of the picker. The first two choose by the background of the terminal.
func themes(dark bool) []theme {
	basic := theme{
		name: "terminal", accent: "36", user: "1;36", ok: "32", warn: "33", fail: "31", faint: "2", selected: "7", text: markdown.Basic(),
	}
	rich := func(name string, dark bool) theme {
		t := theme{name: name, faint: "2", text: markdown.True(dark)}
		if dark {
			t.accent, t.user, t.selected = "38;2;125;207;255", "1;38;2;125;207;255", "48;2;54;58;79"
			t.ok, t.warn, t.fail = "38;2;166;218;149", "38;2;238;212;159", "38;2;237;135;150"
			return t
		}
		t.accent, t.user, t.selected = "38;2;4;93;141", "1;38;2;4;93;141", "48;2;220;224;232"
		t.ok, t.warn, t.fail = "38;2;20;105;50", "38;2;150;90;0", "38;2;179;29;40"
		return t
	}
	return []theme{
		basic, rich("auto", dark), rich("dark", true), rich("light", false),
		{name: "plain", accent: "1", user: "1", warn: "1", fail: "1", faint: "", selected: "7"},
	}
}

// paint returns text in a look.
func paint(look, text string) string {
	if look == "" || text == "" {
		return text
	}
	return "\x1b[" + look + "m" + text + "\x1b[m"
}

// fit cuts a line to a width; a cut line ends in "…".
func fit(line string, width int) string {
	if ansi.StringWidth(line) <= width {
		return line
	}
	return ansi.Truncate(line, max(width, 0), "…")
}

// pad cuts or fills a line to a width.
func pad(line string, width int) string {
	line = fit(line, width)
	return line + strings.Repeat(" ", max(0, width-ansi.StringWidth(line)))
}

// sides returns a line of this width with text at its left and right end. The right text gives way.
func sides(left, right string, width int) string {
	gap := width - ansi.StringWidth(left) - ansi.StringWidth(right)
	if gap < 1 {
		return fit(left, width)
	}
	return left + strings.Repeat(" ", gap) + right
}

// wrap breaks safe text into lines between words.
func wrap(text string, width int) []string {
	return strings.Split(ansi.Wrap(strings.ReplaceAll(text, "\t", "    "), max(width, 4), ""), "\n")
}

// wrapDiff breaks painted lines of a diff, of which each has one look. No character is dropped: spaces must not hide what follows them.
func wrapDiff(lines []string, width int) []string {
	var out []string
	for _, line := range lines {
		plain := stripSGR(line)
		before, after, _ := strings.Cut(line, plain)
		for i, part := range strings.Split(ansi.Hardwrap(plain, max(width-2, 4), true), "\n") {
			if i > 0 {
				part = "  " + part
			}
			out = append(out, before+part+after)
		}
	}
	return out
}

// oneLine returns text from outside as one safe line.
func oneLine(text string) string { return strings.Join(strings.Fields(visible.Text(text)), " ") }

// indent puts text before each line.
func indent(by string, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = by + line
	}
	return out
}

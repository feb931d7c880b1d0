// Package draw provides the themes of the terminal UI, and functions that cut, join and paint lines. Lines are painted with SGR sequences;
// widths are in columns of the terminal.
package draw

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/internal/markdown"
)

// Paint returns text in a look.
func Paint(look, text string) string {
	if look == "" || text == "" {
		return text
	}
	return "\x1b[" + look + "m" + text + "\x1b[m"
}

// Pad cuts or fills a line to a width.
func Pad(line string, width int) string {
	line = terminal.Fit(line, width)
	return line + strings.Repeat(" ", max(0, width-terminal.Columns(line)))
}

// Sides returns a line of this width with text at both ends. It omits the right text if both do not fit.
func Sides(left, right string, width int) string {
	gap := width - terminal.Columns(left) - terminal.Columns(right)
	if gap < 1 {
		return terminal.Fit(left, width)
	}
	return left + strings.Repeat(" ", gap) + right
}

// Window returns the range of a list that fits in room lines, with the current entry in it.
func Window(current, count, room int) (from, to int) {
	from = max(0, min(current-room/2, count-room))
	return from, min(count, from+room)
}

// Wrap breaks safe text into lines between words.
func Wrap(text string, width int) []string {
	width = max(width, 4)
	text = ansi.Wrap(strings.ReplaceAll(text, "\t", "    "), width, "")
	return breakLines(ansi.WrapWc(text, width, ""), width) // both wrap functions may leave a dash beyond the end of a full line
}

// breakLines breaks text into lines anywhere, and keeps all characters.
func breakLines(text string, width int) []string {
	return strings.Split(ansi.HardwrapWc(ansi.Hardwrap(text, width, true), width, true), "\n")
}

// Indent puts text before each line.
func Indent(by string, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = by + line
	}
	return out
}

// PaintAll paints lines in place.
func PaintAll(look string, lines []string) []string {
	for i := range lines {
		lines[i] = Paint(look, lines[i])
	}
	return lines
}

// joiner is the character between the parts of a joined emoji.
const joiner = '\u200d'

// Separate splits joined emoji into their parts. Terminals without mode 2027 disagree about the width of joined emoji, but not of the parts.
func Separate(text string) string {
	if !strings.ContainsRune(text, joiner) {
		return text
	}
	last := rune(0)
	return strings.Map(func(r rune) rune {
		before := last
		last = r
		if r == joiner && before >= '\u2190' { // the first symbol that may be an emoji; scripts with joiners have lower code points
			return -1
		}
		return r
	}, text)
}

// Theme holds the looks of the screen as SGR parameters. The renderer reduces colors to those of the terminal.
type Theme struct {
	Name                                string
	Accent, User, Ok, Warn, Fail, Faint string
	Selected                            string // of the current row of a list
	Text                                markdown.Style
}

// Themes lists the themes in the order of the picker. The first two suit the background of the terminal.
func Themes(dark bool) []Theme {
	theme := func(name string, text markdown.Style, warn, selected string) Theme {
		return Theme{
			Name: name, Accent: strings.TrimPrefix(text.Heading, "1;"), User: text.Heading, Ok: text.Added, Warn: warn, Fail: text.Removed, Faint: "2",
			Selected: selected, Text: text,
		}
	}
	rich := func(name string, dark bool) Theme {
		if dark {
			return theme(name, markdown.True(true), "38;2;238;212;159", "48;2;54;58;79")
		}
		return theme(name, markdown.True(false), "38;2;150;90;0", "48;2;220;224;232")
	}
	return []Theme{
		theme("terminal", markdown.Basic(), "33", "7"), rich("auto", dark), rich("dark", true), rich("light", false),
		{Name: "plain", Accent: "1", User: "1", Warn: "1", Fail: "1", Faint: "", Selected: "7"},
	}
}

// WrapDiff breaks lines of a diff, each painted in one look. It keeps every character, so that spaces cannot hide the text after them.
func WrapDiff(lines []string, width int) []string {
	var out []string
	for _, line := range lines {
		if terminal.Columns(line) <= width {
			out = append(out, line)
			continue
		}
		plain := terminal.StripSGR(line)
		before, after, _ := strings.Cut(line, plain)
		for i, part := range breakLines(plain, max(width-2, 4)) {
			if i > 0 {
				part = "  " + part
			}
			out = append(out, before+part+after)
		}
	}
	return out
}

// SplitDiff returns a unified diff in two columns, old and new.
func SplitDiff(k *Theme, diff string, width int) []string {
	half := max(8, (width-3)/2)
	var out, old, fresh []string
	wrapped := func(lines []string, i int) []string {
		return WrapDiff(lines[min(i, len(lines)):min(i+1, len(lines))], half)
	}
	flush := func() {
		for i := range max(len(old), len(fresh)) {
			left, right := wrapped(old, i), wrapped(fresh, i)
			for row := range max(len(left), len(right)) {
				out = append(out, Pad(at(left, row), half)+Paint(k.Faint, " │ ")+at(right, row))
			}
		}
		old, fresh = nil, nil
	}
	var reader markdown.DiffReader
	for _, text := range k.Text.Diff(diff) {
		line := terminal.StripSGR(text)
		switch kind := reader.Line(line); {
		case kind == markdown.KindRemoved:
			if len(fresh) > 0 {
				flush()
			}
			old = append(old, text)
		case kind == markdown.KindAdded:
			fresh = append(fresh, text)
		case line == "" || line[0] == ' ':
			flush()
			old, fresh = []string{text}, []string{text}
			flush()
		default: // a head, or a note such as "Binary files a/x and b/x differ"
			flush()
			out = append(out, WrapDiff([]string{text}, width)...)
		}
	}
	flush()
	return out
}

// at returns a line, or "" after the last one.
func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

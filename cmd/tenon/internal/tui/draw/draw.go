// Package draw provides the themes of the terminal UI, and functions that cut, join and paint lines. Lines are painted with SGR sequences;
// widths are in columns of the terminal.
package draw

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
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

// Wrap breaks safe text into lines between words.
func Wrap(text string, width int) []string {
	width = max(width, 4)
	text = ansi.Wrap(strings.ReplaceAll(text, "\t", "    "), width, "")
	return breakLines(ansi.WrapWc(text, width, ""), width) // both may leave a dash beyond the end of a full line
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

// Package draw has the themes of the terminal UI, and functions that cut, join and paint lines. Lines are painted with SGR sequences;
// widths are columns of the terminal.
package draw

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// Paint returns text in a look.
func Paint(look, text string) string {
	if look == "" || text == "" {
		return text
	}
	return "\x1b[" + look + "m" + text + "\x1b[m"
}

// Fit cuts a line to a width; a cut line ends in "…".
func Fit(line string, width int) string {
	if ansi.StringWidth(line) <= width {
		return line
	}
	return ansi.Truncate(line, max(width, 0), "…")
}

// Pad cuts or fills a line to a width.
func Pad(line string, width int) string {
	line = Fit(line, width)
	return line + strings.Repeat(" ", max(0, width-ansi.StringWidth(line)))
}

// Sides returns a line of this width with text at its left and right end. The right text gives way.
func Sides(left, right string, width int) string {
	gap := width - ansi.StringWidth(left) - ansi.StringWidth(right)
	if gap < 1 {
		return Fit(left, width)
	}
	return left + strings.Repeat(" ", gap) + right
}

// Wrap breaks safe text into lines between words.
func Wrap(text string, width int) []string {
	return strings.Split(ansi.Wrap(strings.ReplaceAll(text, "\t", "    "), max(width, 4), ""), "\n")
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

var sgr = lazyregexp.New(`\x1b\[[0-9;:?]*[A-Za-z]`)

// StripSGR removes color sequences and others of their form: those of this package, or those in the output of a program.
func StripSGR(text string) string { return sgr().ReplaceAllString(text, "") }

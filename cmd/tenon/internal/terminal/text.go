package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/markdown"
	show "github.com/tenonhq/tenon/internal/visible"
)

// Look is an SGR parameter.
type Look string

// The looks.
const (
	Dim    Look = "2"
	Bold   Look = "1"
	Red    Look = "31"
	Green  Look = "32"
	Yellow Look = "33"
	Cyan   Look = "36"
)

// Paint returns the text with the look if the screen has colors.
func (c *Screen) Paint(look Look, text string) string {
	if !c.Color || text == "" {
		return text
	}
	return "\x1b[" + string(look) + "m" + text + "\x1b[0m"
}

// Style returns the style of Markdown and diffs on the screen. It leaves long words and lines of code to the terminal, so that they can be
// copied whole.
func (c *Screen) Style() markdown.Style {
	var style markdown.Style
	if c.Color {
		style = markdown.Basic()
	}
	style.Overflow = true
	return style
}

// Visible makes text from a model, a tool or a file, such as a name or a command, safe to print: it cannot control the terminal,
// and nothing in it is hidden. Line breaks and tabs remain.
func Visible(text string) string { return show.Text(text) }

// Prose is Visible for natural language: answers, questions, typed text.
func Prose(text string) string { return show.Prose(text) }

// Controls reports whether a character is not allowed in a prompt.
func Controls(r rune) bool { return show.Controls(r) }

// OneLine returns visible text as a single line.
func OneLine(text string) string {
	return strings.Join(strings.Fields(Visible(text)), " ")
}

// FileName returns the visible name of a file as a single line: a line break in it is written out.
func FileName(path string) string { return strings.ReplaceAll(Visible(path), "\n", `\u{a}`) }

var sgr = lazyregexp.New(`\x1b\[[0-9;:?]*[A-Za-z]`)

// StripSGR removes color sequences, and others of their form.
func StripSGR(text string) string { return sgr().ReplaceAllString(text, "") }

// Columns returns the width of a line without escape sequences. Terminals disagree about joined emoji, so it assumes the larger width: otherwise,
// some terminals would lose the end of the line.
func Columns(line string) int { return max(ansi.StringWidth(line), ansi.StringWidthWc(line)) }

// Fit shortens a line to a number of columns. A shortened line ends in "…".
func Fit(line string, columns int) string {
	columns = max(columns, 0)
	for limit := columns; Columns(line) > columns; limit-- { // Truncate counts a joined emoji as one character
		line = ansi.Truncate(line, limit, "…")
	}
	return line
}

// Wrapped returns text for the screen: on a terminal, long lines break at spaces.
func (c *Screen) Wrapped(text string) string {
	if !c.Rich {
		return text
	}
	return Wrap(text, c.Width()-1)
}

// Wrap breaks lines longer than a number of columns at spaces, and indents the following lines by two more columns. Longer words stay whole. Looks
// continue on the next line.
func Wrap(text string, columns int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if Columns(line) > columns {
			lines[i] = wrapLine(line, columns)
		}
	}
	return strings.Join(lines, "\n")
}

func wrapLine(line string, columns int) string {
	body := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(body)]
	var b strings.Builder
	b.WriteString(indent)
	used, first := len(indent), true
	for word := range strings.SplitSeq(body, " ") {
		n := Columns(word)
		switch {
		case first:
		case n > 0 && used+1+n > columns:
			b.WriteString("\n" + indent + "  ")
			used = len(indent) + 2
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used, first = used+n, false
	}
	return b.String()
}

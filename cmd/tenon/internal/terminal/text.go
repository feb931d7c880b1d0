package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	show "github.com/tenonhq/tenon/internal/visible"
)

// style is an SGR parameter.
type style string

// The styles.
const (
	Dim    style = "2"
	Bold   style = "1"
	Red    style = "31"
	Green  style = "32"
	Yellow style = "33"
	Cyan   style = "36"
)

// Paint returns the text in the style if the screen has colors.
func (c *Screen) Paint(s style, text string) string {
	if !c.Color || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
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

// Fit shortens a line to a number of columns, not counting escape sequences. A shortened line ends in "…".
func Fit(line string, columns int) string {
	used, room := 0, -1 // room is the offset that leaves one column for the "…"
	for i := 0; i < len(line); {
		if n := escapeLength(line[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(line[i:])
		if used += RuneWidth(r); used > columns {
			return line[:max(room, 0)] + "…" + reset(line)
		}
		i += n
		if used < columns {
			room = i
		}
	}
	return line
}

func reset(line string) string {
	if strings.Contains(line, "\x1b[") {
		return "\x1b[0m"
	}
	return ""
}

// escapeLength returns the length of the SGR sequence at the start of s, or 0.
func escapeLength(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	if i := strings.IndexByte(s, 'm'); i > 0 {
		return i + 1
	}
	return 0
}

// RuneWidth returns the width of a character in columns; if in doubt, the larger one.
func RuneWidth(r rune) int {
	switch {
	case r < 0x80: // the most frequent case; the tables are slow
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r < 0x1100:
		return 1
	case r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// Columns returns the width of text in columns.
func Columns(s string) int {
	n := 0
	for _, r := range s {
		n += RuneWidth(r)
	}
	return n
}

package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	show "github.com/tenonhq/tenon/internal/visible"
)

// style is how a piece of a line looks.
type style string

// The styles, as SGR parameters.
const (
	Dim    style = "2"
	Bold   style = "1"
	Red    style = "31"
	Green  style = "32"
	Yellow style = "33"
	Cyan   style = "36"
)

// Paint returns the text in the style, when the screen has colours.
func (c *Screen) Paint(s style, text string) string {
	if !c.Color || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Visible returns text, such as a name or a command, that cannot control a terminal and hides nothing: what a model, a tool or a file
// wrote must not move the cursor, change the title or turn a command around. Newlines and tabs stay.
func Visible(text string) string { return show.Text(text) }

// Prose is visible for what the model or the user wrote for people: answers, questions, what is typed.
func Prose(text string) string { return show.Prose(text) }

// Controls reports whether a character is none that the user types into a prompt.
func Controls(r rune) bool { return show.Controls(r) }

// OneLine returns visible text as a single line.
func OneLine(text string) string {
	return strings.Join(strings.Fields(Visible(text)), " ")
}

// Fit cuts a line to so many columns. Escape sequences take no room; a cut line ends in "…".
func Fit(line string, columns int) string {
	used, room := 0, -1 // room is where a cut leaves one column for the "…"
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

// escapeLength returns the length of the SGR sequence that s begins with, 0 when it begins with none.
func escapeLength(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	if i := strings.IndexByte(s, 'm'); i > 0 {
		return i + 1
	}
	return 0
}

// RuneWidth returns the columns of a character, rather too many than too few.
func RuneWidth(r rune) int {
	switch {
	case r < 0x80: // most of all, and the tables are slow
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

func Columns(s string) int {
	n := 0
	for _, r := range s {
		n += RuneWidth(r)
	}
	return n
}

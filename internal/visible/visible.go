// Package visible makes text from outside safe to show on a terminal.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Is reports whether a character shows as itself: no control character, none that is invisible or turns the direction of writing
// round, no space but the usual one, none that is private or not assigned.
func Is(r rune) bool {
	return r == ' ' || r != utf8.RuneError && unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r)
}

// maxMarks bounds how many marks may stand on one letter: more of them cover the lines around.
const maxMarks = 3

// Text returns s, of any number of lines, so that it neither controls a terminal nor hides anything: control characters but line feed
// and tab, characters of format (Unicode's Cf: those without width, that turn the direction of writing round, tags) and separators of
// lines and paragraphs (Zl, Zp) are written out as \u{202e}, bytes that are not UTF-8 as \x{1b}. It is for names, commands, paths and
// whatever else somebody decides by. Unlike Clean it leaves spaces and marks of any kind, and what is private or not assigned, as they
// are: people write with them.
func Text(s string) string { return written(s, hidden) }

// Prose is Text for what the model or the user wrote for people to read. U+200C and U+200D stay as they are: Persian, Indic scripts and
// families of emoji fall apart without them, and in an answer they hide nothing that counts.
func Prose(s string) string { return written(s, Controls) }

// Controls reports whether Prose writes a character out.
func Controls(r rune) bool { return r != '\u200c' && r != '\u200d' && hidden(r) }

// hidden reports whether a character controls a terminal or cannot be seen.
func hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// written writes out what is not to be shown as it is.
func written(s string, hide func(rune) bool) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, hide) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		b.WriteString(character(s, i, r, !hide(r)))
	}
	return b.String()
}

// character returns the character r, at i of s, as it is or written out.
func character(s string, i int, r rune, shows bool) string {
	switch {
	case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
		return fmt.Sprintf(`\x{%02x}`, s[i])
	case !shows:
		return fmt.Sprintf(`\u{%x}`, r)
	}
	return string(r)
}

// Clean returns s as one line of at most most characters. White space becomes one space; what does not show as itself is written out as
// \u{202e}, bytes that are not UTF-8 as \x{1b}.
func Clean(s string, most int) string {
	var b strings.Builder
	n, marks, space := 0, 0, false
	for i, r := range s {
		if n >= most {
			b.WriteString("…")
			break
		}
		if r == ' ' || r == '\n' || r == '\t' || r == '\r' {
			space = n > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			n++
			space = false
		}
		n++
		if unicode.Is(unicode.M, r) {
			if marks++; marks > maxMarks {
				continue
			}
		} else {
			marks = 0
		}
		b.WriteString(character(s, i, r, Is(r)))
	}
	return b.String()
}

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
		switch {
		case r == utf8.RuneError && s[i] != "\ufffd"[0]:
			fmt.Fprintf(&b, `\x{%02x}`, s[i])
		case !Is(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

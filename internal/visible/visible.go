// Package visible prepares untrusted text for display: it makes text safe for a terminal and cuts it at character boundaries.
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
	return r == ' ' || r != utf8.RuneError && unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r) && !blank(r)
}

// blank reports whether a character has no shape although it counts as a letter or mark, such as the Hangul filler.
func blank(r rune) bool { return unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) }

// maxMarks is the maximum number of combining marks on one letter: more of them cover the lines around.
const maxMarks = 3

// Text returns s, of any number of lines, so that it neither controls a terminal nor hides anything: control characters but line feed
// and tab, characters of format (Unicode's Cf: those without width, that turn the direction of writing round, tags), letters without a shape and
// separators of lines and paragraphs (Zl, Zp) are written out as \u{202e}, bytes that are not UTF-8 as \x{1b}. It is for names, commands, paths and
// anything else that a user decides by. Unlike Clean it keeps spaces and marks of any kind and characters that are private or not
// assigned: they occur in ordinary text.
func Text(s string) string {
	return written(s, func(r rune) bool { return hidden(r) || blank(r) })
}

// Prose is Text for human-readable text of the model or the user. U+200C and U+200D stay as they are: Persian, Indic scripts and
// families of emoji fall apart without them, and in an answer they hide nothing important.
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

// written writes out the characters that hide reports.
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
	return s[i : i+utf8.RuneLen(r)]
}

// Clean returns s as one line of at most limit characters. White space becomes one space; what does not show as itself is written out as
// \u{202e}, bytes that are not UTF-8 as \x{1b}.
func Clean(s string, limit int) string {
	var b strings.Builder
	n, marks, space := 0, 0, false
	for i, r := range s {
		if n >= limit {
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

// Strip returns s without the characters that control a terminal or reverse the direction of writing. Line feeds and tabs stay;
// bytes that are not UTF-8 become U+FFFD. Text and Clean show what Strip removes: use Strip for text that a model reads.
func Strip(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Cut returns s if it has at most limit bytes. A longer text is cut there, between characters, loses bytes that are not UTF-8 and gets
// the mark, such as "…".
func Cut(s string, limit int, mark string) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + mark
}

// Bound returns what Strip leaves of s, cut at a number of bytes.
func Bound(s string, limit int) string { return Cut(Strip(s), limit, " …") }

// Tail returns at most limit bytes of the end of s, from the start of a character.
func Tail(s string, limit int) string {
	start := len(s) - min(len(s), max(limit, 0))
	for start > 0 && start < len(s) && !utf8.RuneStart(s[start]) {
		start++
	}
	return s[start:]
}

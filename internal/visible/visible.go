// Package visible prepares untrusted text for display: it makes text safe for a terminal and cuts it at character boundaries.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Is reports whether a character is visible as itself: not a control character, invisible, reversing the direction of writing, a space other than
// the usual one, private or unassigned.
func Is(r rune) bool {
	return r == ' ' || r != utf8.RuneError && unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r) && !blank(r)
}

// blank reports whether a character has no shape although it counts as a letter or mark, such as the Hangul filler.
func blank(r rune) bool { return unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) }

// maxMarks is the maximum number of combining marks on one letter: more would cover adjacent lines.
const maxMarks = 3

// Text returns s, which may have several lines, in a form that neither controls a terminal nor hides anything. It writes out control
// characters other than line feed and tab, format characters (Unicode's Cf: zero width, reversing the direction of writing, tags), letters
// without a shape, and line and paragraph separators (Zl, Zp) as \u{202e}, and bytes that are not UTF-8 as \x{1b}. It is for names,
// commands, paths and other texts on which a user decides. Unlike Clean, it keeps all spaces and marks, and private or unassigned
// characters, because they occur in ordinary text.
func Text(s string) string {
	return written(s, func(r rune) bool { return hidden(r) || blank(r) })
}

// Prose is Text for text of the model or the user. It keeps U+200C and U+200D, which Persian, Indic scripts and emoji sequences need. In such text
// they hide nothing important.
func Prose(s string) string { return written(s, Controls) }

// Controls reports whether Prose writes out a character.
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

// character returns the character r at index i of s, unchanged or written out.
func character(s string, i int, r rune, shows bool) string {
	switch {
	case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
		return fmt.Sprintf(`\x{%02x}`, s[i])
	case !shows:
		return fmt.Sprintf(`\u{%x}`, r)
	}
	return s[i : i+utf8.RuneLen(r)]
}

// Clean returns s as one line of at most limit characters. White space becomes one space. Characters that are not visible are written out as
// \u{202e}, and bytes that are not UTF-8 as \x{1b}.
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

// Cut returns s if it has at most limit bytes. Otherwise it cuts s there, between characters, removes bytes that are not UTF-8 and appends the mark,
// such as "…".
func Cut(s string, limit int, mark string) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + mark
}

// Bound returns the result of Strip, cut at limit bytes.
func Bound(s string, limit int) string { return Cut(Strip(s), limit, " …") }

// foldAt is the maximum length of a line of Fold in bytes. The tools for files and searches show so much of a line.
const foldAt = 2000

// Fold returns text with breaks in long lines, after a space or a comma if possible, so that each part of it can be found by its line.
func Fold(text string) string {
	var out strings.Builder
	for len(text) > foldAt {
		end := strings.IndexByte(text[:foldAt+1], '\n') + 1
		if out.WriteString(text[:end]); end == 0 {
			if end = strings.LastIndexAny(text[:foldAt], " ,") + 1; end < foldAt/2 {
				end = max(len(Cut(text[:foldAt+1], foldAt, "")), foldAt-utf8.UTFMax)
			}
			out.WriteString(text[:end] + "\n")
		}
		text = text[end:]
	}
	return out.String() + text
}

// Tail returns the last characters of s, at most limit bytes.
func Tail(s string, limit int) string {
	start := len(s) - min(len(s), max(limit, 0))
	for start > 0 && start < len(s) && !utf8.RuneStart(s[start]) {
		start++
	}
	return s[start:]
}

// Word returns a text, such as a name, as one word of a command line that a message shows.
func Word(text string) string {
	if !strings.ContainsAny(text, " \t\n'\"$`&|;<>()*?[]#!{}") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

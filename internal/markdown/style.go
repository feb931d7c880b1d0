// Package markdown renders Markdown as styled lines for a terminal.
//
// Stream splits a growing text into blocks: it renders each finished block once, and only the open block repeatedly. Render writes a whole
// text to a Stream. Text may be untrusted: no line controls the terminal, except by the sequences of its Style.
package markdown

import (
	"fmt"

	"github.com/tenonhq/tenon/internal/highlight"
)

// Style holds the looks of the elements. A look is a list of SGR parameters, such as "1;36". Headings, emphasis and code without a look keep
// their Markdown marks. The zero Style is for terminals without colors.
type Style struct {
	Heading, Strong, Emphasis, Strike, Code, Link string
	Faint                                         string // addresses, quotes, bullets, rules
	Comment, String, Number, Keyword              string // in code blocks
	Added, Removed, Hunk, File                    string // in diffs

	// Overflow leaves code lines and words longer than the width to the terminal, so that they can be copied whole.
	Overflow bool
}

// Basic returns the style for terminals with 16 colors. It suits light and dark backgrounds.
func Basic() Style {
	return Style{
		Heading: "1;36", Strong: "1", Emphasis: "3", Strike: "9", Code: "36", Link: "4", Faint: "2",
		Comment: "2", String: "32", Number: "35", Keyword: "34",
		Added: "32", Removed: "31", Hunk: "36", File: "1",
	}
}

// True returns the style for terminals with 24-bit colors.
func True(dark bool) Style {
	s, look := Basic(), func(r, g, b uint8) string { return fmt.Sprintf("38;2;%d;%d;%d", r, g, b) }
	if dark {
		s.Heading, s.Code = "1;"+look(125, 207, 255), look(137, 220, 235)
		s.Comment, s.String, s.Number, s.Keyword = look(127, 132, 156), look(166, 218, 149), look(245, 169, 127), look(198, 160, 246)
		s.Added, s.Removed, s.Hunk = look(166, 218, 149), look(237, 135, 150), look(139, 213, 202)
		return s
	}
	s.Heading, s.Code = "1;"+look(4, 93, 141), look(4, 113, 120)
	s.Comment, s.String, s.Number, s.Keyword = look(106, 115, 125), look(20, 105, 50), look(168, 75, 0), look(120, 40, 170)
	s.Added, s.Removed, s.Hunk = look(20, 105, 50), look(179, 29, 40), look(4, 113, 120)
	return s
}

// token returns the look of a token of code.
func (s *Style) token(kind highlight.Kind) string {
	return [...]string{highlight.Text: "", highlight.Comment: s.Comment, highlight.String: s.String, highlight.Number: s.Number, highlight.Keyword: s.Keyword}[kind]
}

// paint returns text with a look.
func paint(look, text string) string {
	if look == "" || text == "" {
		return text
	}
	return "\x1b[" + look + "m" + text + "\x1b[0m"
}

// with returns a look on top of another.
func with(below, look string) string {
	if below == "" || look == "" {
		return below + look
	}
	return below + ";" + look
}

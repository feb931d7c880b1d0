package markdown

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// span is text with one look. A line feed ends the line; other control characters do not occur.
type span struct{ text, look string }

// wrapper breaks text into lines at white space. Words that are longer than the width are broken, unless overflow is set.
type wrapper struct {
	width    int
	overflow bool
	chops    bool // lines break at any character, and spaces are ordinary characters
}

// wrap returns the rows of spans; at least one.
func wrap(spans []span, width int, overflow bool) []string {
	return wrapper{width: width, overflow: overflow}.rows(spans)
}

// rows paints the lines of spans. Neighbours with the same look are painted together.
func (w wrapper) rows(spans []span) []string {
	type run struct {
		start, end int
		look       string
	}
	var all strings.Builder
	var runs []run
	for _, s := range spans {
		start := all.Len()
		all.WriteString(s.text)
		if last := len(runs) - 1; last >= 0 && runs[last].look == s.look {
			runs[last].end = all.Len()
		} else {
			runs = append(runs, run{start, all.Len(), s.look})
		}
	}
	text := all.String()
	var rows []string
	for _, l := range w.lines(text) {
		for len(runs) > 1 && runs[0].end <= l.start {
			runs = runs[1:]
		}
		var b strings.Builder
		for _, r := range runs {
			if r.start >= l.end {
				break
			}
			b.WriteString(paint(r.look, text[max(r.start, l.start):min(r.end, l.end)]))
		}
		rows = append(rows, b.String())
	}
	return rows
}

// line is a part of a text.
type line struct{ start, end int }

// lines returns the lines of a text, without the spaces around them.
func (w wrapper) lines(text string) []line {
	var out []line
	var now line // without spaces at its end
	columns := 0 // width of now with these spaces
	// These are the last place to break: the line before it, the offset of the next line, and the number of columns before that. The place is valid
	// if it is after the start of now.
	var before line
	next, passed := 0, 0
	for at := 0; at < len(text); {
		c, n := cluster(text[at:])
		wide, over := n > 1 && !w.chops, columns+n > w.width
		switch {
		case c == "\n":
			out = append(out, now)
			now, columns = line{at + 1, at + 1}, 0
		case c == " " && !w.chops && columns == 0:
			now = line{at + 1, at + 1}
		case c == " " && !w.chops:
			columns++
			before, next, passed = now, at+1, columns
		default:
			broken := over && !w.overflow && (w.chops || next <= now.start) // within a word
			if (wide || broken) && next != at {
				before, next, passed = now, at, columns
			}
			if over && next > now.start {
				out = append(out, before)
				now.start = next
				columns -= passed
			}
			columns += n
			now.end = at + len(c)
			if wide {
				before, next, passed = now, now.end, columns
			}
		}
		at += len(c)
	}
	return append(out, now)
}

// cluster returns the first grapheme cluster of text and its width in columns. Terminals disagree about joined emoji, so it assumes the larger
// width: otherwise, some terminals would lose the end of the line.
func cluster(text string) (string, int) {
	if text[0] < 0x80 && (len(text) == 1 || text[1] < 0x80) {
		return text[:1], 1
	}
	c, columns := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
	return c, max(columns, ansi.StringWidthWc(c))
}

// columnsOf returns the width of a painted text, which is the sum of the widths of its clusters.
func columnsOf(text string) (columns int) {
	for text = ansi.Strip(text); text != ""; {
		c, n := cluster(text)
		columns, text = columns+n, text[len(c):]
	}
	return columns
}

package markdown

import (
	"github.com/charmbracelet/x/ansi"
)

// span is text with one look. A line feed ends the line; other control characters do not occur.
type span struct{ text, look string }

// row is a rendered line.
type row struct {
	text  string
	width int // in columns
}

// wrapper breaks spans into rows at white space. Words that are longer than the width are broken, unless overflow is set.
type wrapper struct {
	width    int
	overflow bool
	chops    bool // lines break at any character, and spaces are like others

	rows    []row
	line    painter
	columns int // of line
	word    []span
	letters int // columns of word
	space   []span
	blanks  int // columns of space
}

// wrap returns the rows of spans; at least one.
func wrap(spans []span, width int, overflow bool) []row {
	return wrapper{width: width, overflow: overflow}.all(spans)
}

// chop is wrap for text that may break at any character, and that keeps its white space.
func chop(spans []span, width int, overflow bool) []row {
	return wrapper{width: width, overflow: overflow, chops: true}.all(spans)
}

func (w wrapper) all(spans []span) []row {
	for _, s := range spans {
		w.span(s)
	}
	w.endWord()
	w.endLine()
	return w.rows
}

func (w *wrapper) span(s span) {
	start := 0 // of the text that is not in the word yet
	flush := func(end int) {
		if end > start {
			w.word = append(w.word, span{s.text[start:end], s.look})
		}
		start = end
	}
	for i := 0; i < len(s.text); {
		c, columns := cluster(s.text[i:])
		switch {
		case c == "\n":
			flush(i)
			w.endWord()
			w.endLine()
			start = i + 1
		case w.chops:
			if w.letters+columns > w.width && !w.overflow {
				flush(i)
				w.endWord()
				w.endLine()
			}
			w.letters += columns
		case c == " ":
			flush(i)
			w.endWord()
			w.space = append(w.space, span{" ", s.look})
			w.blanks++
			start = i + 1
		default:
			// Lines may break before and after wide characters.
			if columns >= 2 || w.letters+columns > w.width && !w.overflow {
				flush(i)
				w.endWord()
			}
			w.letters += columns
			if columns >= 2 {
				flush(i + len(c))
				w.endWord()
			}
		}
		i += len(c)
	}
	flush(len(s.text))
}

// endWord puts the word on the line, or on the next one if it does not fit.
func (w *wrapper) endWord() {
	if len(w.word) == 0 {
		return
	}
	if w.columns+w.blanks+w.letters > w.width && w.columns > 0 {
		w.endLine()
	}
	if w.columns > 0 {
		w.line.add(w.space...)
		w.columns += w.blanks
	}
	w.line.add(w.word...)
	w.columns += w.letters
	w.word, w.letters, w.space, w.blanks = w.word[:0], 0, w.space[:0], 0
}

func (w *wrapper) endLine() {
	w.rows = append(w.rows, row{w.line.take(), w.columns})
	w.columns, w.space, w.blanks = 0, w.space[:0], 0
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

// painter writes spans as a line. Neighbours with the same look are painted together.
type painter struct {
	text []byte
	look string // of the end of text; "" is none
}

func (p *painter) add(spans ...span) {
	for _, s := range spans {
		p.change(s.look)
		p.text = append(p.text, s.text...)
	}
}

// change ends the current look and begins another one.
func (p *painter) change(look string) {
	if look == p.look {
		return
	}
	if p.look != "" {
		p.text = append(p.text, "\x1b[0m"...)
	}
	if p.look = look; look != "" {
		p.text = append(p.text, "\x1b["+look+"m"...)
	}
}

// take returns the line and begins another one.
func (p *painter) take() string {
	p.change("")
	line := string(p.text)
	p.text = p.text[:0]
	return line
}

func columnsOf(spans []span) int {
	n := 0
	for _, s := range spans {
		n += ansi.StringWidth(s.text)
	}
	return n
}

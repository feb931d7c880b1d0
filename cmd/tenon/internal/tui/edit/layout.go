package edit

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
)

// tabWidth is the number of columns of a tab.
const tabWidth = 4

// row is a line of the screen: text[start:end] of the editor, without a line break.
type row struct{ start, end int }

// View returns the text in rows of at most width columns, and the position of the caret. If the text has more than room rows, it returns those
// around the caret. method is the terminal's way of counting columns: without mode 2027, each part of a joined emoji takes columns. chip paints
// the label of a chip.
func (e *Editor) View(width, room int, method ansi.Method, chip func(label string) string) (rows []string, caretRow, caretColumn int) {
	if width = max(width, 2); width != e.width || method != e.method {
		e.width, e.method, e.rows = width, method, nil
	}
	all, room := e.layout(), max(room, 1)
	caretRow, caretColumn = e.position()
	from, to := draw.Window(caretRow, len(all), room)
	for _, r := range all[from:to] {
		var b strings.Builder
		for _, c := range e.text[r.start:r.end] {
			switch found := e.chip(c); {
			case found != nil:
				b.WriteString(chip(found.Label))
			case c == '\t':
				b.WriteString(strings.Repeat(" ", tabWidth))
			default:
				b.WriteRune(c)
			}
		}
		rows = append(rows, b.String())
	}
	return rows, caretRow - from, caretColumn
}

// layout breaks the text into rows at line breaks, and at the width, if possible after a space. Each row leaves room for the caret at its end.
func (e *Editor) layout() []row {
	if e.rows != nil {
		return e.rows
	}
	start, column := 0, 0
	word := 0 // offset after the last space
	next := func(end, begin int) {
		e.rows = append(e.rows, row{start, end})
		start, column, word = begin, 0, begin
	}
	for at := 0; at < len(e.text); {
		cluster, width := e.character(at)
		switch {
		case cluster == "\n":
			next(at, at+1)
		case at > start && column+width > max(e.width, 2)-1:
			if word > start {
				at = word // the word moves to the next row
			}
			next(at, at)
			continue
		}
		column += width
		at += len(cluster)
		if cluster == " " || cluster == "\t" {
			word = at
		}
	}
	next(len(e.text), len(e.text))
	return e.rows
}

// character returns the character at an offset and its columns. A chip is as wide as its label, at most a row.
func (e *Editor) character(at int) (cluster string, width int) {
	if c := e.text[at]; c >= ' ' && c < 0x7f && (at+1 == len(e.text) || e.text[at+1] < utf8.RuneSelf) { // most of a long text
		return e.text[at : at+1], 1
	}
	cluster, width = ansi.FirstGraphemeCluster(e.text[at:], e.method)
	first, _ := utf8.DecodeRuneInString(cluster)
	if chip := e.chip(first); chip != nil {
		return cluster, min(e.method.StringWidth(chip.Label), max(e.width-1, 1))
	}
	if cluster == "\t" {
		return cluster, tabWidth
	}
	return cluster, width
}

// position returns the row and column of the caret.
func (e *Editor) position() (rowIndex, column int) {
	rows := e.layout()
	i := len(rows) - 1
	for rows[i].start > e.caret {
		i--
	}
	for at := rows[i].start; at < e.caret; {
		cluster, width := e.character(at)
		column += width
		at += len(cluster)
	}
	return i, column
}

// vertical moves the caret by rows, to the target column if there is one.
func (e *Editor) vertical(by int) {
	rows := e.layout()
	at, target := e.position()
	if e.column >= 0 {
		target = e.column
	}
	switch to := at + by; {
	case to < 0:
		e.move(0)
	case to == len(rows):
		e.move(len(e.text))
	default:
		e.caret, e.column = e.inRow(to, target), target
	}
}

// inRow returns the offset of the character at a column of a row, or the end of the row.
func (e *Editor) inRow(i, column int) int {
	r := e.rows[i]
	at := r.start
	for at < r.end {
		cluster, width := e.character(at)
		if column -= width; column < 0 {
			return at
		}
		at += len(cluster)
	}
	if i < len(e.rows)-1 && e.rows[i+1].start == r.end { // the same offset begins the next row
		return e.previous(r.end)
	}
	return at
}

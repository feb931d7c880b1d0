package edit

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
)

// tabWidth is the number of columns of a tab.
const tabWidth = 4

// row is a line of the screen: text[start:end] of the editor, without the final space or line break.
type row struct {
	start, end int
	cells      []cell
}

// cell is a character of a row.
type cell struct{ offset, column, width int }

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
		for _, c := range r.text(e.text) {
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

func (r *row) text(all string) string { return all[r.start:r.end] }

// layout breaks the text into rows at line breaks, and at the width, if possible after a space. Each row leaves room for the caret at its end.
func (e *Editor) layout() []row {
	if !e.stale && e.rows != nil {
		return e.rows
	}
	r := row{}
	if last := len(e.rows) - 1; last >= 0 {
		r.start, e.rows = e.rows[last].start, e.rows[:last:last] // lay out only the last row again; copies of an editor share rows
	}
	e.stale = false
	column, word := 0, 0 // word is the index of the cell after the last space of the row
	next := func(end, start int) {
		r.end = end
		e.rows = append(e.rows, r)
		r, column, word = row{start: start}, 0, 0
	}
	for at := r.start; at < len(e.text); {
		cluster, width := ansi.FirstGraphemeCluster(e.text[at:], e.method)
		width = e.cellWidth(cluster, width)
		switch n := len(r.cells); {
		case cluster == "\n":
			next(at, at+1)
			at++
			continue
		case n > 0 && column+width > max(e.width, 2)-1:
			if word > 0 && word < n {
				at, r.cells = r.cells[word].offset, r.cells[:word:word]
			}
			next(at, at)
			continue
		}
		r.cells = append(r.cells, cell{at, column, width})
		column += width
		if cluster == " " || cluster == "\t" {
			word = len(r.cells)
		}
		at += len(cluster)
	}
	next(len(e.text), len(e.text))
	return e.rows
}

// cellWidth returns the columns of a character; a chip is as wide as its label, at most a row.
func (e *Editor) cellWidth(cluster string, width int) int {
	first, _ := utf8.DecodeRuneInString(cluster)
	if chip := e.chip(first); chip != nil {
		return min(e.method.StringWidth(chip.Label), max(e.width-1, 1))
	}
	if cluster == "\t" {
		return tabWidth
	}
	return width
}

// position returns the row and column of the caret.
func (e *Editor) position() (rowIndex, column int) {
	rows := e.layout()
	i := len(rows) - 1
	for rows[i].start > e.caret {
		i--
	}
	for _, c := range rows[i].cells {
		if c.offset >= e.caret {
			return i, c.column
		}
		column = c.column + c.width
	}
	return i, column
}

// vertical moves the caret by rows, to the target column if there is one.
func (e *Editor) vertical(by int) {
	at, column := e.position()
	if e.column >= 0 {
		column = e.column
	}
	rows := e.layout()
	to := min(max(at+by, 0), len(rows)-1)
	if to == at {
		e.move(rows[0].start)
		if by > 0 {
			e.move(len(e.text))
		}
		return
	}
	r := &rows[to]
	e.caret = r.end
	for _, c := range r.cells {
		if c.column+c.width > column {
			e.caret = c.offset
			break
		}
	}
	if e.caret == r.end && to < len(rows)-1 && rows[to+1].start == r.end { // the same offset begins the next row
		e.caret = e.previous(r.end)
	}
	e.column = column
}

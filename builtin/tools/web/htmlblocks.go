package web

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"
)

// container begins or ends a list, an item or a quote. In a cell these are rendered as text.
func (r *renderer) container(tag atom.Atom, starts bool) {
	switch {
	case r.line != &r.out:
		r.space = true
	case tag == atom.Li:
		r.finishItem()
		r.block(1)
		if starts {
			r.startItem()
		}
	case starts:
		r.block(r.distance())
		if r.push(tag) && tag == atom.Blockquote && r.markdown {
			r.prefix += "> "
		}
	default:
		if i := r.find(tag); i >= 0 {
			r.popTo(i)
			r.marker = ""
			r.block(r.distance())
		}
	}
}

// distance returns the number of line ends around a list or quote.
func (r *renderer) distance() int {
	if len(r.open) > 0 && r.open[len(r.open)-1].name == atom.Li {
		return 1
	}
	return 2
}

func (r *renderer) startItem() {
	marker := "- "
	if i := r.find(atom.Ol, atom.Ul); i >= 0 && r.open[i].name == atom.Ol {
		r.open[i].next++
		marker = strconv.Itoa(r.open[i].next) + ". "
	}
	if r.push(atom.Li) && r.markdown {
		if r.marker == "" {
			r.leading = r.prefix
		}
		r.marker += marker
		r.prefix += strings.Repeat(" ", len(marker))
	}
}

// finishItem closes the open item of the innermost list.
func (r *renderer) finishItem() {
	i := r.find(atom.Li, atom.Ul, atom.Ol, atom.Table)
	if i >= 0 && r.open[i].name == atom.Li {
		r.popTo(i)
		r.marker = "" // an item without text
	}
}

// table begins or ends a table, a row or a cell.
func (r *renderer) table(tag atom.Atom, starts bool) {
	i := r.find(atom.Table)
	switch {
	case tag == atom.Table && starts:
		r.leaveCell()
		r.block(2)
		r.push(tag)
		return
	case tag == atom.Table && i >= 0:
		r.popTo(i)
		fallthrough
	case tag == atom.Table:
		r.block(2)
		return
	case i >= 0:
		r.popTo(i + 1) // closes the elements within it
	}
	switch {
	case !r.markdown || i < 0:
		r.plainTable(tag)
	case tag == atom.Tr:
		r.endRow(r.open[i])
	case starts:
		r.startCell(r.open[i])
	case r.open[i].layout:
		r.block(2)
	default:
		r.endCell(r.open[i])
	}
}

// plainTable begins or ends a row or a cell in plain text.
func (r *renderer) plainTable(tag atom.Atom) {
	if tag == atom.Tr {
		r.block(1)
	}
	r.space = true
}

func (r *renderer) startCell(t *element) {
	r.endCell(t)
	if len(t.cells) == maxCells {
		r.layOut(t)
	}
	if t.layout {
		r.block(2)
		return
	}
	r.closeMarks()
	t.inCell = true
	t.cell.Reset()
	r.line, r.begun, r.space = &t.cell, false, false
}

// leaveCell is called before a block that a cell cannot contain: the table must be used for layout.
func (r *renderer) leaveCell() {
	if r.line == &r.out {
		return
	}
	if i := r.find(atom.Table); i >= 0 {
		r.endCell(r.open[i])
		r.layOut(r.open[i])
	}
}

// layOut turns the cells of a table into blocks, beginning with the current row.
func (r *renderer) layOut(t *element) {
	t.layout = true
	for _, text := range t.cells {
		r.block(2)
		r.verbatim(text)
	}
	t.cells = nil
	r.block(2)
}

// endCell ends the current cell.
func (r *renderer) endCell(t *element) {
	if !t.inCell {
		return
	}
	r.closeMarks()
	t.inCell = false
	t.cells = append(t.cells, t.cell.String())
	r.line, r.begun, r.space = &r.out, false, false
}

// endRow writes the current row, and the separator after the first one.
func (r *renderer) endRow(t *element) {
	r.endCell(t)
	cells := t.cells
	t.cells = nil
	if strings.Join(cells, "") == "" {
		return
	}
	for i, text := range cells {
		cells[i] = strings.ReplaceAll(text, "|", "\\|")
	}
	r.block(2 - min(t.rows, 1))
	r.verbatim("| " + strings.Join(cells, " | ") + " |")
	r.block(1)
	if t.rows++; t.rows == 1 {
		r.verbatim("|" + strings.Repeat("---|", len(cells)))
		r.block(1)
	}
}

// verbatim writes rendered text.
func (r *renderer) verbatim(text string) {
	if text != "" {
		r.begin()
		r.line.WriteString(text)
	}
}

// push opens an element and returns true, unless too many are open.
func (r *renderer) push(tag atom.Atom) bool {
	if len(r.open) >= maxDepth {
		return false
	}
	r.open = append(r.open, &element{name: tag, prefix: r.prefix})
	return true
}

// find returns the index of the innermost open element of one of these names, or -1.
func (r *renderer) find(names ...atom.Atom) int {
	for i := len(r.open) - 1; i >= 0; i-- {
		if slices.Contains(names, r.open[i].name) {
			return i
		}
	}
	return -1
}

// popTo closes the elements from index n, the innermost first.
func (r *renderer) popTo(n int) {
	for len(r.open) > n {
		e := r.open[len(r.open)-1]
		if e.name == atom.Table && r.markdown {
			r.endRow(e)
		}
		r.open = r.open[:len(r.open)-1]
		r.prefix = e.prefix
		if len(r.prefix) < len(r.between) {
			r.between = r.prefix
		}
	}
}

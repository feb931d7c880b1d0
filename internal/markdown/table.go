package markdown

import (
	"slices"
	"strings"
)

const (
	// minColumn is the minimum width of a shrunk column. A table that needs narrower ones is shown row by row.
	minColumn = 6
	// between is the number of columns between the cells of a row: " │ ".
	between = 3
)

// table renders a table.
func (r *renderer) table(t *table, width int) []row {
	columns := t.columns
	var cells [][]span
	for c := t.FirstChild(); c != nil; c = c.NextSibling() {
		look := ""
		if len(cells) < columns {
			look = r.style.Strong
		}
		cells = append(cells, r.inline(c, look))
	}
	natural := slices.Repeat([]int{1}, columns)
	for i, cell := range cells {
		for _, line := range wrap(cell, 1<<20, true) {
			natural[i%columns] = max(natural[i%columns], line.width)
		}
	}
	widths := shrunk(natural, width-between*(columns-1))
	if widths == nil {
		return r.records(cells, columns, width)
	}
	var rows []row
	for i := 0; i < len(cells); i += columns {
		rows = append(rows, r.tableRow(cells[i:i+columns], widths)...)
		if i == 0 {
			var rules []string
			total := between * (columns - 1)
			for _, w := range widths {
				rules = append(rules, strings.Repeat("─", w))
				total += w
			}
			rows = append(rows, row{paint(r.style.Faint, strings.Join(rules, "─┼─")), total})
		}
	}
	return rows
}

// shrunk limits the widest columns so that all fit; nil if they would become too narrow.
func shrunk(natural []int, width int) []int {
	limit := slices.Max(natural)
	for ; limit > 0; limit-- {
		sum := 0
		for _, w := range natural {
			sum += min(w, limit)
		}
		if sum <= width {
			break
		}
	}
	if limit < minColumn && limit < slices.Max(natural) {
		return nil
	}
	out := make([]int, len(natural))
	for i, w := range natural {
		out[i] = min(w, limit)
	}
	return out
}

// tableRow renders a row of a table, whose cells may take several lines.
func (r *renderer) tableRow(cells [][]span, widths []int) []row {
	wrapped := make([][]row, len(cells))
	height := 0
	for i, cell := range cells {
		wrapped[i] = wrap(cell, widths[i], false)
		height = max(height, len(wrapped[i]))
	}
	rows := make([]row, height)
	for y := range rows {
		var b strings.Builder
		width := 0
		for i, lines := range wrapped {
			if i > 0 {
				b.WriteString(paint(r.style.Faint, " │ "))
				width += between
			}
			var line row
			if y < len(lines) {
				line = lines[y]
			}
			b.WriteString(line.text)
			width += line.width
			if i < len(wrapped)-1 {
				b.WriteString(strings.Repeat(" ", max(0, widths[i]-line.width)))
				width += max(0, widths[i]-line.width)
			}
		}
		rows[y] = row{b.String(), width}
	}
	return rows
}

// records renders a table that is too wide: each cell on separate lines, after the name of its column.
func (r *renderer) records(cells [][]span, columns, width int) []row {
	var rows []row
	for i := columns; i < len(cells); i++ {
		if i%columns == 0 && i > columns {
			rows = append(rows, row{})
		}
		line := append(slices.Clone(cells[i%columns]), span{text: ": "})
		rows = append(rows, wrap(append(line, cells[i]...), width, r.style.Overflow)...)
	}
	if len(cells) == columns { // a head alone
		for _, cell := range cells {
			rows = append(rows, wrap(cell, width, r.style.Overflow)...)
		}
	}
	return rows
}

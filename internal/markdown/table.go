package markdown

import (
	"slices"
	"strings"
)

const (
	// minColumn is the minimum width of a shrunk column. A table that would need narrower columns is shown row by row.
	minColumn = 6
	// between is the number of columns between the cells of a row: " │ ".
	between = 3
)

// table renders a table.
func (r *renderer) table(t *table, width int) []string {
	columns := len(t.columns)
	var cells [][]span
	natural := slices.Repeat([]int{1}, columns)
	for c := t.FirstChild(); c != nil; c = c.NextSibling() {
		column, look := len(cells)%columns, ""
		if len(cells) < columns {
			look = r.style.Strong
		}
		cell := r.inline(c, look)
		cells = append(cells, cell)
		for _, line := range wrap(cell, 1<<20, true) {
			natural[column] = max(natural[column], columnsOf(line))
		}
	}
	widths := shrunk(natural, width-between*(columns-1))
	if widths == nil {
		return r.records(cells, columns, width)
	}
	rows := r.tableRow(cells[:columns], widths, t.columns)
	var rules []string
	for _, w := range widths {
		rules = append(rules, strings.Repeat("─", w))
	}
	rows = append(rows, paint(r.style.Faint, strings.Join(rules, "─┼─")))
	for row := range slices.Chunk(cells[columns:], columns) {
		rows = append(rows, r.tableRow(row, widths, t.columns)...)
	}
	return rows
}

// shrunk limits the widest columns so that all fit. It returns nil if they would become too narrow.
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
func (r *renderer) tableRow(cells [][]span, widths []int, columns []alignment) []string {
	var rows []string
	bar, height := paint(r.style.Faint, " │ "), 1
	wrapped := make([][]string, len(cells))
	for i, cell := range cells {
		wrapped[i] = wrap(cell, widths[i], false)
		height = max(height, len(wrapped[i]))
	}
	for y := range height {
		line := make([]string, len(cells))
		for i, lines := range wrapped {
			padding := widths[i]
			if y < len(lines) && lines[y] != "" {
				padding -= columnsOf(lines[y])
				left := max(0, padding) * int(columns[i]) / 2
				line[i] = strings.Repeat(" ", left) + lines[y]
				padding -= left
			}
			if i < len(cells)-1 {
				line[i] += strings.Repeat(" ", max(0, padding))
			}
		}
		rows = append(rows, strings.Join(line, bar))
	}
	return rows
}

// records renders a table that is too wide: each cell on separate lines, after the name of its column.
func (r *renderer) records(cells [][]span, columns, width int) []string {
	var rows []string
	for i := columns; i < len(cells); i++ {
		if i%columns == 0 && i > columns {
			rows = append(rows, "")
		}
		line := append(slices.Clone(cells[i%columns]), span{text: ": "})
		rows = append(rows, wrap(append(line, cells[i]...), width, r.style.Overflow)...)
	}
	if len(cells) == columns { // there is only the head
		for _, cell := range cells {
			rows = append(rows, wrap(cell, width, r.style.Overflow)...)
		}
	}
	return rows
}

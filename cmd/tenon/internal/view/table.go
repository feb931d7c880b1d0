package view

import (
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
)

// Table aligns text in columns. Lines are cut to the width of the terminal.
type Table struct {
	rows [][]string
}

// Add appends a row; its cells must not contain control characters.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// Text returns the table with lines cut to width columns; 0 means no limit.
func (t *Table) Text(width int) string {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], terminal.Columns(cell))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-terminal.Columns(cell)+2))
			}
		}
		text := strings.TrimRight(line.String(), " ")
		if width > 0 {
			text = terminal.Fit(text, width)
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

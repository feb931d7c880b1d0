package main

import (
	"fmt"
	"strings"
)

const (
	// tabWidth is how many columns a tab takes in an edited text, wherever it stands.
	tabWidth = 4
	// minEditWidth is the narrowest terminal that rows are laid out for, in columns.
	minEditWidth = 10
	// maxHints bounds the rows of completions that are shown.
	maxHints = 8
)

// layout breaks the edited text into rows that are narrower than the terminal, the first behind the prompt and the others
// below it. Of a text that is higher than the terminal the rows around the cursor are shown.
func (e *lineEditor) layout(s *screen, prompt string) *inputBlock {
	if e.search != nil {
		prompt = fmt.Sprintf("(search %s) ", visible(e.search.word))
	}
	width := max(s.width(), minEditWidth) - 1
	prompt = fit(prompt, width/2)
	l := &rowLayout{width: width, indent: columns(prompt)}
	l.open(prompt)
	for i, r := range e.text {
		if i == e.pos {
			l.mark()
		}
		l.write(r)
	}
	if e.pos == len(e.text) {
		l.mark()
	}
	l.close()
	l.block.rows[0] = s.paint(styleBold, prompt) + strings.TrimPrefix(l.block.rows[0], prompt)
	hints := e.hintRows(s, width)
	l.block.window(max(s.height()-1-len(hints), 1))
	for _, hint := range hints {
		l.block.rows = append(l.block.rows, s.paint(styleDim, hint))
		l.block.widths = append(l.block.widths, columns(hint))
	}
	return &l.block
}

// rowLayout lays rows out, character by character.
type rowLayout struct {
	width, indent int
	block         inputBlock
	row           strings.Builder
	used          int
}

func (l *rowLayout) open(prefix string) {
	l.row.WriteString(prefix)
	l.used = columns(prefix)
}

func (l *rowLayout) close() {
	l.block.rows = append(l.block.rows, l.row.String())
	l.block.widths = append(l.block.widths, l.used)
	l.row.Reset()
}

func (l *rowLayout) breakRow() {
	l.close()
	l.open(strings.Repeat(" ", l.indent))
}

// mark puts the cursor where the next character will be.
func (l *rowLayout) mark() { l.block.row, l.block.col = len(l.block.rows), l.used }

func (l *rowLayout) write(r rune) {
	text, w := string(r), runeWidth(r)
	switch {
	case r == '\n':
		l.breakRow()
		return
	case r == '\t':
		text, w = strings.Repeat(" ", tabWidth), tabWidth
	}
	if l.used+w > l.width {
		cursor := l.block.row == len(l.block.rows) && l.block.col == l.used // the character under the cursor takes it along
		l.breakRow()
		if cursor {
			l.mark()
		}
	}
	l.row.WriteString(text)
	l.used += w
}

// window leaves so many rows, those around the cursor.
func (b *inputBlock) window(height int) {
	if len(b.rows) <= height {
		return
	}
	from := min(max(b.row-height/2, 0), len(b.rows)-height)
	b.rows, b.widths, b.row = b.rows[from:from+height], b.widths[from:from+height], b.row-from
}

// hintRows lists the completions in columns.
func (e *lineEditor) hintRows(s *screen, width int) []string {
	if len(e.hints) == 0 {
		return nil
	}
	cell := 0
	for _, h := range e.hints {
		cell = max(cell, columns(visible(h))+2)
	}
	perRow := max(width/cell, 1)
	var rows []string
	limit := max(min(maxHints, s.height()/2), 1)
	for i := 0; i < len(e.hints); i += perRow {
		if len(rows) == limit {
			rows[limit-1] = fmt.Sprintf("… %d more", len(e.hints)-(limit-1)*perRow)
			break
		}
		var row strings.Builder
		for _, h := range e.hints[i:min(i+perRow, len(e.hints))] {
			h = visible(h)
			row.WriteString(h + strings.Repeat(" ", cell-columns(h)))
		}
		rows = append(rows, fit(strings.TrimRight(row.String(), " "), width))
	}
	return rows
}

package chat

import (
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
)

const (
	// tabWidth is the width of a tab in edited text, in columns, at any position.
	tabWidth = 4
	// minEditWidth is the minimum width of the layout, in columns.
	minEditWidth = 10
	// maxHints is the maximum number of rows of completions.
	maxHints = 8
)

// layout breaks the edited text into rows that are narrower than the terminal. The first row follows the prompt, and the others are
// indented like it. If the text is higher than the terminal, only the rows around the cursor are shown.
func (e *lineEditor) layout(s *terminal.Screen, prompt string) *terminal.InputBlock {
	if e.search != nil {
		prompt = fmt.Sprintf("(search %s) ", terminal.Visible(e.search.word))
	}
	width := max(s.Width(), minEditWidth) - 1
	prompt = terminal.Fit(prompt, width/2)
	l := &rowLayout{width: width, indent: terminal.Columns(prompt)}
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
	l.block.Rows[0] = s.Paint(terminal.Bold, prompt) + strings.TrimPrefix(l.block.Rows[0], prompt)
	hints := e.hintRows(s, width)
	window(&l.block, max(s.Height()-1-len(hints), 1))
	for _, hint := range hints {
		l.block.Rows = append(l.block.Rows, s.Paint(terminal.Dim, hint))
		l.block.Widths = append(l.block.Widths, terminal.Columns(hint))
	}
	return &l.block
}

// rowLayout breaks text into rows, character by character.
type rowLayout struct {
	width, indent int
	block         terminal.InputBlock
	row           strings.Builder
	used          int
}

func (l *rowLayout) open(prefix string) {
	l.row.WriteString(prefix)
	l.used = terminal.Columns(prefix)
}

func (l *rowLayout) close() {
	l.block.Rows = append(l.block.Rows, l.row.String())
	l.block.Widths = append(l.block.Widths, l.used)
	l.row.Reset()
}

func (l *rowLayout) breakRow() {
	l.close()
	l.open(strings.Repeat(" ", l.indent))
}

// mark puts the cursor where the next character will be.
func (l *rowLayout) mark() { l.block.Row, l.block.Col = len(l.block.Rows), l.used }

func (l *rowLayout) write(r rune) {
	text, w := string(r), terminal.RuneWidth(r)
	switch {
	case r == '\n':
		l.breakRow()
		return
	case r == '\t':
		text, w = strings.Repeat(" ", tabWidth), tabWidth
	}
	if l.used+w > l.width {
		cursor := l.block.Row == len(l.block.Rows) && l.block.Col == l.used // the cursor moves with its character
		l.breakRow()
		if cursor {
			l.mark()
		}
	}
	l.row.WriteString(text)
	l.used += w
}

// window keeps only height rows around the cursor.
func window(b *terminal.InputBlock, height int) {
	if len(b.Rows) <= height {
		return
	}
	from := min(max(b.Row-height/2, 0), len(b.Rows)-height)
	b.Rows, b.Widths, b.Row = b.Rows[from:from+height], b.Widths[from:from+height], b.Row-from
}

// hintRows lists the completions in columns.
func (e *lineEditor) hintRows(s *terminal.Screen, width int) []string {
	if len(e.hints) == 0 {
		return nil
	}
	cell := 0
	for _, h := range e.hints {
		cell = max(cell, terminal.Columns(terminal.Visible(h))+2)
	}
	perRow := max(width/cell, 1)
	var rows []string
	limit := max(min(maxHints, s.Height()/2), 1)
	for i := 0; i < len(e.hints); i += perRow {
		if len(rows) == limit {
			rows[limit-1] = fmt.Sprintf("… %d more", len(e.hints)-(limit-1)*perRow)
			break
		}
		var row strings.Builder
		for _, h := range e.hints[i:min(i+perRow, len(e.hints))] {
			h = terminal.Visible(h)
			row.WriteString(h + strings.Repeat(" ", cell-terminal.Columns(h)))
		}
		rows = append(rows, terminal.Fit(strings.TrimRight(row.String(), " "), width))
	}
	return rows
}

package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/fuzzy"
)

// Picker is a list with a search.
type Picker struct {
	Title string
	Rows  []Row
	Empty string // shown instead of rows
	Hint  string // keys other than enter and esc
	// Choose is called with the chosen row, and the picker closes.
	Choose func(r Row)
	// Keys and Acts are more keys for the current row. Keys close the picker.
	Keys, Acts map[string]func(r Row)

	filter edit.Editor
	found  []int // indexes of the rows that match; nil: not searched yet
	at     int
}

// Row is a row of a picker. Its label and note may be any text, which is shown as one line.
type Row struct {
	ID, Label, Note string
	Current         bool
}

// search returns the rows that match. Without a search, the owner determines the current row.
func (p *Picker) search() []int {
	if p.found == nil {
		text, _ := p.filter.Text()
		p.found, p.at = fuzzy.Filter(text, len(p.Rows), func(i int) string { return p.Rows[i].Label }), 0
		if text == "" {
			p.at = max(0, slices.IndexFunc(p.Rows, func(r Row) bool { return r.Current }))
		}
	}
	return p.found
}

// row returns the current row, nil if none matches.
func (p *Picker) row() *Row {
	if found := p.search(); p.at < len(found) {
		return &p.Rows[found[p.at]]
	}
	return nil
}

// Key implements Dialog.
func (p *Picker) Key(k tea.KeyPressMsg) (done bool) {
	n, name, r := len(p.search()), k.String(), p.row()
	f, closes := p.Keys[name]
	if name == "enter" {
		f, closes = p.Choose, true
	} else if !closes {
		f = p.Acts[name]
	}
	if f != nil {
		if r != nil {
			f(*r)
		}
		return r != nil && closes
	}
	switch name {
	case "esc", "ctrl+c":
		return true
	case "up", "ctrl+p":
		p.at = (p.at + n - 1) % max(n, 1)
	case "down", "ctrl+n":
		p.at = (p.at + 1) % max(n, 1)
	case "pgup":
		p.at = max(0, p.at-10)
	case "pgdown":
		p.at = max(0, min(n-1, p.at+10))
	case "home":
		p.at = 0
	case "end":
		p.at = max(0, n-1)
	default:
		p.filter.Type(name, k.Text)
		p.found = nil
	}
	return false
}

// Paste implements Dialog.
func (p *Picker) Paste(text string) {
	p.filter.Insert(strings.Join(strings.Fields(text), " "))
	p.found = nil
}

// View implements Dialog.
func (p *Picker) View(c Canvas) ([]string, *tea.Position) {
	k, width, found := c.Theme, c.Width, p.search()
	input, caret := c.input(&p.filter, "›", 1)
	head := " " + draw.Paint(k.Accent, draw.Paint("1", terminal.OneLine(p.Title))) + "  " + draw.Paint(k.Faint, fmt.Sprintf("%d of %d", len(found), len(p.Rows)))
	out := append([]string{terminal.Fit(head, width)}, input...)
	caret.Y++
	from, to := draw.Window(p.at, len(found), max(1, min(c.Height-4, 14)))
	for i := from; i < to; i++ {
		out = append(out, p.line(k, p.Rows[found[i]], i == p.at, width))
	}
	if len(found) == 0 {
		text := "nothing matches"
		if len(p.Rows) == 0 && p.Empty != "" {
			text = p.Empty
		}
		out = append(out, c.hint("   "+text))
	}
	hint := "enter choose · esc close"
	if p.Hint != "" {
		hint = p.Hint + " · enter · esc close"
	}
	return append(out, c.hint(hint)), &caret
}

func (p *Picker) line(k *draw.Theme, r Row, selected bool, width int) string {
	mark := "  "
	if r.Current {
		mark = "• "
	}
	label, note := mark+terminal.OneLine(r.Label), terminal.OneLine(r.Note)
	if selected {
		return draw.Paint(k.Selected, draw.Pad(draw.Sides("  "+label, note+" ", width-1), width-1))
	}
	return terminal.Fit(draw.Sides("  "+label, draw.Paint(k.Faint, note)+" ", width-1), width)
}

// Remove removes a row.
func (p *Picker) Remove(id string) {
	p.Fill(slices.DeleteFunc(slices.Clone(p.Rows), func(r Row) bool { return r.ID == id }))
}

// Relabel changes the label of a row.
func (p *Picker) Relabel(id, label string) {
	for i := range p.Rows {
		if p.Rows[i].ID == id {
			p.Rows[i].Label = label
		}
	}
}

// Fill replaces the rows. The current row stays current; if it is gone, the next one becomes current.
func (p *Picker) Fill(rows []Row) {
	at, current := p.at, p.row()
	p.Rows, p.found = rows, nil
	found := p.search()
	if current == nil {
		return
	}
	p.at = slices.IndexFunc(found, func(i int) bool { return rows[i].ID == current.ID })
	if p.at < 0 {
		p.at = max(0, min(at, len(found)-1))
	}
}

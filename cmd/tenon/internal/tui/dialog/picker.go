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
	found  []int // indexes of the rows that match
	ready  bool  // found is up to date
	at     int
	armed  string // ID of the row that Confirm was called for
}

// Row is a row of a picker. Its label and note may be any text, which is shown as one line.
type Row struct {
	ID, Label, Note string
	Current         bool
}

func (p *Picker) search() []int {
	if !p.ready {
		text, _ := p.filter.Text()
		p.found, p.ready = fuzzy.Filter(text, len(p.Rows), func(i int) string { return p.Rows[i].Label }), true
		p.at = 0
		if text == "" {
			for i := range p.Rows {
				if p.Rows[i].Current {
					p.at = i
				}
			}
		}
	}
	return p.found
}

func (p *Picker) row() (Row, bool) {
	found := p.search()
	if p.at >= len(found) {
		return Row{}, false
	}
	return p.Rows[found[p.at]], true
}

// Key implements Dialog.
func (p *Picker) Key(k tea.KeyPressMsg) (done bool) {
	n, name := len(p.search()), k.String()
	r, ok := p.row()
	f, closes := p.Keys[name]
	if f == nil {
		f = p.Acts[name]
	}
	if f != nil {
		if ok {
			f(r)
		}
		return ok && closes
	}
	p.armed = ""
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
	case "enter":
		if ok {
			p.Choose(r)
		}
		return ok
	default:
		p.filter.Type(name, k.Text)
		p.ready = false
	}
	return false
}

// Paste implements Dialog.
func (p *Picker) Paste(text string) {
	p.filter.Insert(strings.Join(strings.Fields(text), " "))
	p.ready = false
}

// View implements Dialog.
func (p *Picker) View(c Canvas) ([]string, *tea.Position) {
	k, width, found := c.Theme, c.Width, p.search()
	rows, _, column := p.filter.View(max(4, width-8), 1, c.Method, plain)
	head := " " + draw.Paint(k.Accent, draw.Paint("1", terminal.OneLine(p.Title))) + "  " + draw.Paint(k.Faint, fmt.Sprintf("%d of %d", len(found), len(p.Rows)))
	out := []string{terminal.Fit(head, width), "  " + draw.Paint(k.Accent, "›") + " " + rows[0]}
	at := &tea.Position{X: 4 + column, Y: 1}
	room := max(1, min(c.Height-4, 14))
	from := max(0, min(p.at-room/2, len(found)-room))
	for i := from; i < min(len(found), from+room); i++ {
		out = append(out, p.line(k, p.Rows[found[i]], i == p.at, width))
	}
	if len(found) == 0 {
		text := "nothing matches"
		if len(p.Rows) == 0 && p.Empty != "" {
			text = p.Empty
		}
		out = append(out, "    "+draw.Paint(k.Faint, text))
	}
	hint := "enter choose · esc close"
	if p.Hint != "" {
		hint = p.Hint + " · " + hint
	}
	return append(out, terminal.Fit(" "+draw.Paint(k.Faint, hint), width)), at
}

func (p *Picker) line(k *draw.Theme, r Row, selected bool, width int) string {
	mark := "  "
	if r.Current {
		mark = "• "
	}
	label, note := mark+terminal.OneLine(r.Label), terminal.OneLine(r.Note)
	if p.armed != "" && p.armed == r.ID {
		note = "press ctrl+d again to delete"
	}
	if selected {
		return draw.Paint(k.Selected, draw.Pad(draw.Sides("  "+label, note+" ", width-1), width-1))
	}
	return terminal.Fit(draw.Sides("  "+label, draw.Paint(k.Faint, note)+" ", width-1), width)
}

// Confirm reports whether this is the second consecutive call for a row. After the first one, the picker asks for the second key.
func (p *Picker) Confirm(r Row) bool {
	if p.armed == r.ID {
		p.armed = ""
		return true
	}
	p.armed = r.ID
	return false
}

// Fill replaces the rows. The current row stays current.
func (p *Picker) Fill(rows []Row) {
	current, ok := p.row()
	p.Rows, p.ready = rows, false
	for at, i := range p.search() {
		if ok && p.Rows[i].ID == current.ID {
			p.at = at
		}
	}
}

// Relabel changes the label of a row.
func (p *Picker) Relabel(id, label string) {
	if i := slices.IndexFunc(p.Rows, func(r Row) bool { return r.ID == id }); i >= 0 {
		p.Rows[i].Label = label
	}
}

// Remove removes a row. The next row becomes current.
func (p *Picker) Remove(id string) {
	at := p.at
	p.Rows = slices.DeleteFunc(p.Rows, func(r Row) bool { return r.ID == id })
	p.ready = false
	p.at = min(at, max(0, len(p.search())-1))
}

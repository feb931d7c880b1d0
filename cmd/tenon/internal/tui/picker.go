package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/fuzzy"
)

// picker is a list with a search.
type picker struct {
	title string
	rows  []pickRow
	empty string // shown without rows
	hint  string // keys besides enter and esc
	// choose is called with the chosen row; it closes the picker.
	choose func(m *model, r pickRow) tea.Cmd
	// keys are further keys for the current row. They leave the picker open unless they return true.
	keys map[string]func(m *model, p *picker, r pickRow) (bool, tea.Cmd)

	filter edit.Editor
	found  []int // indexes of the rows that match
	ready  bool  // found is up to date
	at     int
	armed  string // row whose deletion was asked for once
}

// pickRow is a row of a picker.
type pickRow struct {
	id, label, note string
	current         bool
}

func (p *picker) full() bool { return false }

func (p *picker) search() []int {
	if !p.ready {
		text, _ := p.filter.Text()
		p.found, p.ready = fuzzy.Filter(text, len(p.rows), func(i int) string { return p.rows[i].label }), true
		p.at = 0
		if text == "" {
			for i := range p.rows {
				if p.rows[i].current {
					p.at = i
				}
			}
		}
	}
	return p.found
}

func (p *picker) row() (pickRow, bool) {
	found := p.search()
	if p.at >= len(found) {
		return pickRow{}, false
	}
	return p.rows[found[p.at]], true
}

func (p *picker) key(m *model, k tea.KeyPressMsg) (done bool, cmd tea.Cmd) {
	n, name := len(p.search()), k.String()
	if f := p.keys[name]; f != nil {
		if r, ok := p.row(); ok {
			return f(m, p, r)
		}
		return false, nil
	}
	p.armed = ""
	switch name {
	case "esc", "ctrl+c":
		return true, nil
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
		if r, ok := p.row(); ok {
			return true, p.choose(m, r)
		}
	default:
		if !p.filter.Key(name) {
			p.filter.Insert(k.Text)
		}
		p.ready = false
	}
	return false, nil
}

func (p *picker) paste(_ *model, text string) {
	p.filter.Insert(strings.Join(strings.Fields(text), " "))
	p.ready = false
}

func (p *picker) view(m *model, width, height int) ([]string, *tea.Position) {
	k, found := m.look.theme, p.search()
	rows, _, column := p.filter.View(max(4, width-8), func(label string) string { return label })
	head := " " + paint(k.accent, paint("1", p.title)) + "  " + paint(k.faint, fmt.Sprintf("%d of %d", len(found), len(p.rows)))
	out := []string{m.rule(width), fit(head, width), "  " + paint(k.accent, "›") + " " + rows[0]}
	at := &tea.Position{X: 4 + column, Y: 2}
	room := max(1, min(height-5, 14))
	from := max(0, min(p.at-room/2, len(found)-room))
	for i := from; i < min(len(found), from+room); i++ {
		out = append(out, p.line(m, p.rows[found[i]], i == p.at, width))
	}
	if len(found) == 0 {
		text := "nothing matches"
		if len(p.rows) == 0 && p.empty != "" {
			text = p.empty
		}
		out = append(out, "    "+paint(k.faint, text))
	}
	hint := "enter choose · esc close"
	if p.hint != "" {
		hint = p.hint + " · " + hint
	}
	return append(out, fit(" "+paint(k.faint, hint), width)), at
}

func (p *picker) line(m *model, r pickRow, selected bool, width int) string {
	mark := "  "
	if r.current {
		mark = "• "
	}
	note := r.note
	if p.armed != "" && p.armed == r.id {
		note = "press ctrl+d again to delete"
	}
	if selected {
		return paint(m.look.theme.selected, pad(sides("  "+mark+r.label, note+" ", width-1), width-1))
	}
	return fit(sides("  "+mark+r.label, paint(m.look.theme.faint, note)+" ", width-1), width)
}

// line is a dialog that asks for one line of text.
type line struct {
	title string
	input edit.Editor
	done  func(m *model, text string) tea.Cmd
}

func (l *line) full() bool { return false }

func (l *line) key(m *model, k tea.KeyPressMsg) (bool, tea.Cmd) {
	switch name := k.String(); name {
	case "esc", "ctrl+c":
		return true, nil
	case "enter":
		text, _ := l.input.Text()
		if text = strings.TrimSpace(text); text == "" {
			return false, nil
		}
		return true, l.done(m, text)
	default:
		if !l.input.Key(name) {
			l.input.Insert(k.Text)
		}
	}
	return false, nil
}

func (l *line) paste(_ *model, text string) { l.input.Insert(strings.Join(strings.Fields(text), " ")) }

func (l *line) view(m *model, width, _ int) ([]string, *tea.Position) {
	rows, row, column := l.input.View(max(4, width-6), func(label string) string { return label })
	out := []string{m.rule(width), fit(" "+paint("1", l.title), width)}
	for _, r := range rows {
		out = append(out, "  "+paint(m.look.theme.accent, "›")+" "+r)
	}
	return append(out, " "+paint(m.look.theme.faint, "enter save · esc cancel")), &tea.Position{X: 4 + column, Y: 2 + row}
}

// choice is a question with a few answers.
type choice struct {
	title   string
	text    []string
	options []option
	at      int
}

// option is an answer of a choice. The key chooses it without moving there.
type option struct {
	key, label string
	run        func(m *model) tea.Cmd
	stores     bool // it stores the rule that its label names
}

func (c *choice) full() bool { return false }

func (c *choice) key(m *model, k tea.KeyPressMsg) (bool, tea.Cmd) {
	switch name := k.String(); name {
	case "esc", "ctrl+c":
		return true, nil
	case "up", "left":
		c.at = (c.at + len(c.options) - 1) % len(c.options)
	case "down", "right", "tab":
		c.at = (c.at + 1) % len(c.options)
	case "enter":
		return true, c.options[c.at].run(m)
	default:
		for _, o := range c.options {
			if o.key == name {
				return true, o.run(m)
			}
		}
	}
	return false, nil
}

func (c *choice) paste(*model, string) {}

func (c *choice) view(m *model, width, height int) ([]string, *tea.Position) {
	out := []string{m.rule(width), fit(" "+paint(m.look.theme.warn, paint("1", c.title)), width)}
	for _, text := range c.text {
		for _, l := range wrap(text, width-4) {
			if len(out) < height-len(c.options)-1 {
				out = append(out, "   "+l)
			}
		}
	}
	return append(out, optionLines(m, c.options, c.at, width, height-len(out))...), nil
}

// optionLines draws answers, one to a line; in too little room only the current one.
func optionLines(m *model, options []option, at, width, room int) []string {
	k := m.look.theme
	if room < optionRows(options, width) {
		mark, keys := " ", []string(nil)
		if at >= 0 {
			mark = "› "
		}
		for _, o := range options {
			keys = append(keys, o.key)
		}
		return []string{fit(" "+paint(k.selected, mark+options[max(at, 0)].label+" ")+paint(k.faint, " ← → · "+strings.Join(keys, " ")), width)}
	}
	var out []string
	for i, o := range options {
		for row, label := range wrap(o.label, width-9) {
			text, key := "  "+label, ""
			if i == at {
				text = "  " + paint("1", label)
			}
			if row == 0 {
				key = paint(k.faint, o.key) + "  "
				if i == at {
					text = paint(k.accent, "› ") + paint("1", label)
				}
			}
			out = append(out, sides(fit(" "+text, width-6), key, width))
		}
	}
	return out
}

// optionRows returns the number of rows that options take with their whole labels.
func optionRows(options []option, width int) int {
	rows := 0
	for _, o := range options {
		rows += len(wrap(o.label, width-9))
	}
	return rows
}

// conflictQuestion asks whether undo may overwrite files that changed since.
func conflictQuestion(err error, force func(m *model) tea.Cmd) dialog {
	return &choice{
		title: "Overwrite files that changed after the session wrote them?",
		text:  strings.Split(oneLine(err.Error()), "\n"),
		options: []option{
			{key: "n", label: "No, keep them", run: func(*model) tea.Cmd { return nil }},
			{key: "y", label: "Yes, overwrite them", run: force},
		},
	}
}

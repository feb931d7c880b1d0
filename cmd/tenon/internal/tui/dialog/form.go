package dialog

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Form shows the fields of a form together. The field with the caret shows its choices, the others their values.
type Form struct {
	send   func(answers [][]string) tea.Cmd
	fields []formField
	at     int // index of the current field; len(fields): the buttons
	row    int // index of the current choice or button
}

// formField is a field with the user's input.
type formField struct {
	*sdk.Question
	text    edit.Editor
	chosen  []bool // by choice
	problem string
}

// buttons are the labels of the buttons below the fields.
var buttons = []string{"Submit", "Decline"}

// NewForm returns a form filled with the last answers, or the defaults. send passes the answers to the host: an empty list declines the form,
// nil cancels it.
func NewForm(r *sdk.QuestionRequest, send func(answers [][]string) tea.Cmd) *Form {
	f := &Form{send: send}
	for i := range r.Questions {
		q := &r.Questions[i]
		values := q.Form.Answer
		if values == nil {
			values = q.Default
		}
		one := formField{Question: q, problem: q.Form.Problem, chosen: make([]bool, len(q.Options))}
		for k := range q.Options {
			one.chosen[k] = slices.Contains(values, q.Options[k].Label)
		}
		if len(q.Options) == 0 {
			one.text.Set(strings.Join(values, " "))
		}
		f.fields = append(f.fields, one)
	}
	f.focus(max(0, f.invalid()))
	return f
}

// invalid returns the index of the first field with a problem, or -1.
func (f *Form) invalid() int {
	return slices.IndexFunc(f.fields, func(one formField) bool { return one.problem != "" })
}

// focus moves to a field and to its chosen option.
func (f *Form) focus(at int) {
	f.at, f.row = at, 0
	if at < len(f.fields) {
		f.row = max(0, slices.Index(f.fields[at].chosen, true))
	}
}

// rows returns the number of rows of the current field that up and down move through.
func (f *Form) rows() int {
	if f.at == len(f.fields) {
		return len(buttons)
	}
	return max(1, len(f.fields[f.at].Options))
}

// Key implements Dialog.
func (f *Form) Key(k tea.KeyPressMsg) (bool, tea.Cmd) {
	name := k.String()
	switch name {
	case "esc", "ctrl+c":
		return true, f.send(nil)
	case "tab":
		f.focus((f.at + 1) % (len(f.fields) + 1))
	case "shift+tab":
		f.focus((f.at + len(f.fields)) % (len(f.fields) + 1))
	case "up":
		f.move(-1)
	case "down":
		f.move(1)
	case "enter":
		if f.at == len(f.fields) {
			return f.end()
		}
		if one := &f.fields[f.at]; !one.Multiple {
			one.choose(f.row)
		}
		f.focus(f.at + 1)
	default:
		f.edit(name, k.Text)
	}
	return false, nil
}

// move goes to the next or previous choice, and beyond the last or first one to another field.
func (f *Form) move(by int) {
	switch to := f.row + by; {
	case to >= 0 && to < f.rows():
		f.row = to
	case by > 0 && f.at < len(f.fields):
		f.focus(f.at + 1)
		f.row = 0
	case by < 0 && f.at > 0:
		f.focus(f.at - 1)
		f.row = f.rows() - 1
	}
}

// edit passes a key to the current field.
func (f *Form) edit(name, text string) {
	if f.at == len(f.fields) {
		return
	}
	one := &f.fields[f.at]
	one.problem = ""
	switch {
	case len(one.Options) == 0:
		one.text.Type(name, text)
	case name != "space" && name != " ":
	case one.chosen[f.row] && (one.Multiple || one.Optional):
		one.chosen[f.row] = false
	default:
		one.choose(f.row)
	}
}

// choose chooses an option.
func (one *formField) choose(option int) {
	if len(one.chosen) == 0 {
		return
	}
	if !one.Multiple {
		clear(one.chosen)
	}
	one.chosen[option], one.problem = true, ""
}

// answer returns the chosen options, or the text of the field, which may be empty.
func (one *formField) answer() []string {
	var out []string
	for i, on := range one.chosen {
		if on {
			out = append(out, one.Options[i].Label)
		}
	}
	text, _ := one.text.Text()
	if text = strings.TrimSpace(text); len(out) == 0 {
		out = []string{text}
	}
	return out
}

// end submits or declines the form.
func (f *Form) end() (bool, tea.Cmd) {
	if f.row > 0 {
		return true, f.send([][]string{})
	}
	var answers [][]string
	for i := range f.fields {
		one := &f.fields[i]
		answer := one.answer()
		if answer[0] == "" && !one.Optional {
			one.problem = "a value is required"
		}
		answers = append(answers, answer)
	}
	if i := f.invalid(); i >= 0 {
		f.focus(i)
		return false, nil
	}
	return true, f.send(answers)
}

// Paste implements Dialog.
func (f *Form) Paste(text string) {
	if f.at < len(f.fields) && len(f.fields[f.at].Options) == 0 {
		one := &f.fields[f.at]
		one.problem = ""
		one.text.Insert(strings.Join(strings.Fields(text), " "))
	}
}

// View implements Dialog.
func (f *Form) View(c Canvas) ([]string, *tea.Position) {
	k := c.Theme
	var head []string
	for _, l := range draw.Wrap(visible.Prose(f.fields[0].Form.Message), c.Width-2) {
		head = append(head, " "+draw.Paint("1", l))
	}
	head = head[:min(len(head), max(1, c.Height/3))]
	var body []string
	var caret *tea.Position
	from, to := 0, 0 // lines of the current field, from a few lines above its current choice
	for i := range f.fields {
		if i == f.at {
			from = len(body) + max(0, f.row-c.Height/3)
		}
		lines, at := f.field(c, i)
		if at != nil {
			at.Y += len(body)
			caret = at
		}
		body = append(body, lines...)
		if i == f.at {
			to = len(body)
		}
	}
	if f.at == len(f.fields) {
		from, to = len(body), len(body)+1
	}
	body = append(body, f.buttons(c))
	room := max(1, c.Height-len(head)-1)
	top := max(0, min(from, to-room))
	if to <= room {
		top = 0
	}
	body = body[top:min(len(body), top+room)]
	if caret != nil {
		caret.Y += len(head) - top
	}
	hint := " tab next field · space choose · enter continue · esc cancel"
	return append(append(head, body...), terminal.Fit(draw.Paint(k.Faint, hint), c.Width)), caret
}

// field draws a field: its name and value; for the current field also its note and choices.
func (f *Form) field(c Canvas, index int) (lines []string, caret *tea.Position) {
	k, one := c.Theme, &f.fields[index]
	label, current := terminal.OneLine(one.Form.Label), index == f.at
	if !one.Optional {
		label += " *"
	}
	label = " " + marked(c, label, current)
	value := terminal.OneLine(strings.Join(one.answer(), ", "))
	switch {
	case current && len(one.Options) == 0:
		rows, row, column := one.text.View(max(8, c.Width-8), c.Height/3, c.Method, plain)
		lines = append(lines, terminal.Fit(label, c.Width))
		caret = &tea.Position{X: 5 + column, Y: 1 + row}
		lines = append(lines, draw.Indent("     ", rows)...)
	case current:
		lines = append(lines, terminal.Fit(label, c.Width))
		for i := range one.Options {
			lines = append(lines, f.option(c, one, i))
		}
	default:
		lines = append(lines, terminal.Fit(label+draw.Paint(k.Faint, ": ")+value, c.Width))
	}
	if note := terminal.OneLine(one.Form.Note); current && note != "" {
		for _, l := range draw.Wrap(note, c.Width-6) {
			lines = append(lines, "     "+draw.Paint(k.Faint, l))
		}
	}
	if one.problem != "" {
		for _, l := range draw.Wrap("✗ "+terminal.OneLine(one.problem), c.Width-6) {
			lines = append(lines, "     "+draw.Paint(k.Fail, l))
		}
	}
	return lines, caret
}

// option draws a choice of the current field.
func (f *Form) option(c Canvas, one *formField, i int) string {
	box := map[bool]string{true: "(•) ", false: "( ) "}[one.chosen[i]]
	if one.Multiple {
		box = map[bool]string{true: "[x] ", false: "[ ] "}[one.chosen[i]]
	}
	return terminal.Fit("   "+marked(c, box+terminal.OneLine(one.Options[i].Label), i == f.row), c.Width)
}

// buttons draws the buttons below the fields.
func (f *Form) buttons(c Canvas) string {
	var out []string
	for i, b := range buttons {
		if f.at == len(f.fields) && f.row == i && c.Ready {
			out = append(out, draw.Paint(c.Theme.Selected, "› "+b+" "))
		} else {
			out = append(out, "  "+b+" ")
		}
	}
	return terminal.Fit(" "+strings.Join(out, " "), c.Width)
}

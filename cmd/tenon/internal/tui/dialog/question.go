package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Questions asks the questions of the model, or the fields of an MCP server's form, one after another.
type Questions struct {
	request *sdk.QuestionRequest
	send    func(answers [][]string)
	answers [][]string // to the first questions; more than now after the user went back
	now     int        // index of the current question
	one     *sdk.Question
	free    bool // the question accepts text
	skips   bool // the row below the options leaves the field of a form empty
	at      int  // current row: an option, or the text below the options
	chosen  map[int]bool
	text    edit.Editor
	top     int    // first visible line of the question
	problem string // reason why the last enter was refused
}

// NewQuestions asks the questions of a request. send passes the answers to the host; nil dismisses the questions, and an empty list declines a form.
func NewQuestions(r *sdk.QuestionRequest, send func(answers [][]string)) *Questions {
	q := &Questions{request: r, send: send}
	q.begin()
	return q
}

// begin asks the current question. The user's answer is chosen, else the last one to the field of a form, or the default.
func (q *Questions) begin() {
	q.one = &q.request.Questions[q.now]
	one, form := q.one, q.one.Form
	q.free = one.Custom == nil || *one.Custom || len(one.Options) == 0
	q.skips = form != nil && one.Optional && !one.Multiple && !q.free
	answer := one.Default
	switch {
	case q.now < len(q.answers):
		answer = q.answers[q.now]
	case form != nil:
		if q.problem = form.Problem; form.Answer != nil {
			answer = form.Answer
		}
	}
	q.at, q.chosen, q.text, q.top = 0, map[int]bool{}, edit.Editor{}, 0
	if q.skips {
		q.at = len(one.Options)
	}
	for _, text := range slices.Backward(answer) {
		if i := slices.IndexFunc(one.Options, func(o sdk.QuestionOption) bool { return o.Label == text }); i >= 0 {
			q.at, q.chosen[i] = i, true
		} else if q.free && text != "" {
			q.at = len(one.Options)
			q.text.Set(text)
		}
	}
}

// writing reports whether the caret is in the text.
func (q *Questions) writing() bool { return q.free && q.at == len(q.one.Options) }

// Key implements Dialog.
func (q *Questions) Key(k tea.KeyPressMsg) bool {
	one, name := q.one, k.String()
	q.problem = ""
	rows := len(one.Options)
	if q.free || q.skips {
		rows++
	}
	option := -1 // chosen by its number
	if len(name) == 1 && name[0] >= '1' && int(name[0]-'1') < min(9, len(one.Options)) {
		option = int(name[0] - '1')
	}
	switch {
	case name == "esc" || name == "ctrl+c":
		q.send(nil)
		return true
	case name == "ctrl+d" && one.Form != nil:
		q.send([][]string{})
		return true
	case name == "enter":
		return q.enter()
	case name == "shift+tab":
		if q.now > 0 {
			q.now--
			q.begin()
		}
	case name == "up":
		q.at = (q.at + rows - 1) % rows
	case name == "down" || name == "tab":
		q.at = (q.at + 1) % rows
	case name == "pgup":
		q.top -= 5
	case name == "pgdown":
		q.top += 5
	case q.writing():
		q.text.Type(name, k.Text)
	case (name == "space" || name == " ") && one.Multiple:
		q.chosen[q.at] = !q.chosen[q.at]
	case option >= 0:
		if q.at = option; !one.Multiple {
			return q.enter()
		}
		q.chosen[option] = !q.chosen[option]
	case q.free && strings.TrimSpace(k.Text) != "":
		q.Paste(k.Text)
	}
	return false
}

// enter stores the answer to a question and asks the next one.
func (q *Questions) enter() bool {
	one := q.one
	var answer []string
	text, _ := q.text.Text()
	text = strings.TrimSpace(text)
	switch {
	case one.Multiple:
		for i, o := range one.Options {
			if q.chosen[i] {
				answer = append(answer, o.Label)
			}
		}
		if text != "" && q.free {
			answer = append(answer, text)
		}
		switch {
		case len(answer) > 0 || q.writing():
		case !one.Optional:
			answer = []string{one.Options[q.at].Label}
		case one.Form != nil:
			answer = []string{""} // none differs from the default
		}
	case q.writing() && (text != "" || one.Form != nil && one.Optional): // in a form, an empty text differs from the default
		answer = []string{text}
	case q.writing():
	case q.at == len(one.Options):
		answer = []string{""}
	default:
		answer = []string{one.Options[q.at].Label}
	}
	if len(answer) == 0 {
		if !one.Optional && len(one.Default) == 0 {
			q.problem = "this question needs an answer; esc dismisses it"
			return false
		}
		answer = []string{}
	}
	if q.now == len(q.answers) {
		q.answers = append(q.answers, nil)
	}
	q.answers[q.now] = answer
	if q.now++; q.now == len(q.request.Questions) {
		q.send(q.answers)
		return true
	}
	q.begin()
	return false
}

// Paste implements Dialog. The text becomes the user's own answer.
func (q *Questions) Paste(text string) {
	if q.free {
		q.at = len(q.one.Options)
		q.text.Insert(text)
	}
}

// View implements Dialog.
func (q *Questions) View(c Canvas) ([]string, *tea.Position) {
	k, width, one := c.Theme, c.Width, q.one
	head := ""
	if n := len(q.request.Questions); n > 1 {
		head = fmt.Sprintf("%d of %d · ", q.now+1, n)
	}
	text, note := one.Question, ""
	if f := one.Form; f != nil && f.Label != "" {
		text, note = f.Message+"\n"+f.Label, terminal.OneLine(f.Note)
	}
	out := q.ask(c, head+visible.Prose(text))
	if note != "" {
		out = append(out, draw.Indent(" ", draw.PaintAll(k.Faint, draw.Wrap(note, width-2)))...)
	}
	rows, row, column := q.text.View(max(4, width-8), c.Height/3, c.Method, plain)
	foot := q.foot(c)
	room := max(1, c.Height-len(out)-len(rows)-len(foot))
	from := max(0, min(q.at-room/2, len(one.Options)-room))
	for i := from; i < min(len(one.Options), from+room); i++ {
		out = append(out, q.option(c, i))
	}
	if q.skips {
		out = append(out, terminal.Fit("  "+marked(c, "leave it empty", q.at == len(one.Options)), width))
	}
	var at *tea.Position
	if q.free {
		for i, r := range rows {
			mark := "  "
			if i == 0 && q.writing() && c.Ready {
				mark = draw.Paint(k.Accent, "› ")
			}
			if q.text.Empty() && len(one.Options) > 0 && !q.writing() {
				r = draw.Paint(k.Faint, "your own answer")
			}
			out = append(out, "  "+mark+r)
		}
		if q.writing() {
			at = &tea.Position{X: 4 + column, Y: len(out) - len(rows) + row}
		}
	}
	return append(out, foot...), at
}

// foot draws the keys, or the problem in at most a third of the height.
func (q *Questions) foot(c Canvas) []string {
	one := q.one
	if q.problem != "" {
		lines := draw.PaintAll(c.Theme.Fail, draw.Wrap(terminal.OneLine(q.problem), c.Width-2))
		return draw.Indent(" ", lines[:min(len(lines), max(1, c.Height/3))])
	}
	hint := "enter answer · esc dismiss"
	if one.Form != nil {
		hint = "enter answer · shift+tab back · ctrl+d decline · esc cancel"
	}
	if one.Multiple {
		hint = "space choose · " + hint
	}
	return []string{terminal.Fit(" "+draw.Paint(c.Theme.Faint, hint), c.Width)}
}

// ask draws the text of the question in at most half the height.
func (q *Questions) ask(c Canvas, text string) []string {
	lines, room := draw.Wrap(text, c.Width-2), max(2, c.Height/2)
	all := len(lines)
	if all > room {
		room--
		q.top = max(0, min(q.top, all-room))
		lines = lines[q.top : q.top+room]
	}
	out := draw.Indent(" ", draw.PaintAll("1", lines))
	if all > room {
		out = append(out, " "+draw.Paint(c.Theme.Faint, fmt.Sprintf("lines %d-%d of %d · pgup pgdn", q.top+1, q.top+room, all)))
	}
	return out
}

func (q *Questions) option(c Canvas, i int) string {
	k, one := c.Theme, q.one
	o := one.Options[i]
	box := fmt.Sprintf("%d. ", i+1)
	if one.Multiple {
		box = "[ ] "
		if q.chosen[i] {
			box = "[x] "
		}
	}
	label := marked(c, box+terminal.OneLine(o.Label), i == q.at)
	if slices.Contains(one.Default, o.Label) {
		label += draw.Paint(k.Faint, " (default)")
	}
	if o.Description != "" {
		label += "  " + draw.Paint(k.Faint, terminal.OneLine(o.Description))
	}
	return terminal.Fit("  "+label, c.Width)
}

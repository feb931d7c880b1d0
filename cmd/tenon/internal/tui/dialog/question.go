package dialog

import (
	"fmt"
	"slices"
	"strconv"
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
	answers [][]string // to the first questions; after the user went back, also to later ones than the current one
	now     int        // index of the current question

	// the current question
	one     *sdk.Question
	options []sdk.QuestionOption // the last one of an optional field may have no label: it leaves the field empty
	free    bool                 // the question accepts text, in a row below the options
	at      int                  // current row
	chosen  []bool               // options
	text    edit.Editor
	scroll  scroller // of the question
	problem string   // reason why the last enter was refused
}

// NewQuestions asks the questions of a request. send passes the answers to the host; nil dismisses the questions, and an empty list declines a form.
func NewQuestions(r *sdk.QuestionRequest, send func(answers [][]string)) *Questions {
	q := &Questions{request: r, send: send}
	q.begin()
	return q
}

// begin asks the current question. It preselects the user's answer, else the last answer to the form field, or the default.
func (q *Questions) begin() {
	one := &q.request.Questions[q.now]
	answer, form := one.Default, one.Form
	*q = Questions{request: q.request, send: q.send, answers: q.answers, now: q.now, one: one, options: one.Options}
	q.free = one.Custom == nil || *one.Custom || len(one.Options) == 0
	if form != nil && one.Optional && !one.Multiple && !q.free {
		q.at = len(one.Options)
		q.options = append(slices.Clip(one.Options), sdk.QuestionOption{})
	}
	switch {
	case q.now < len(q.answers):
		answer = q.answers[q.now]
	case form != nil:
		if q.problem = form.Problem; form.Answer != nil {
			answer = form.Answer
		}
	}
	q.chosen = make([]bool, len(q.options))
	for _, text := range slices.Backward(answer) {
		if i := slices.IndexFunc(q.options, func(o sdk.QuestionOption) bool { return o.Label == text }); i >= 0 {
			q.at, q.chosen[i] = i, true
		} else if q.free && text != "" {
			q.at = len(q.options)
			q.text.Set(text)
		}
	}
}

// writing reports whether the caret is in the text.
func (q *Questions) writing() bool { return q.at == len(q.options) }

// Key implements Dialog.
func (q *Questions) Key(k tea.KeyPressMsg) bool {
	one, name, rows := q.one, k.String(), len(q.options)
	if q.free {
		rows++
	}
	q.problem = ""
	number, _ := strconv.Atoi(name) // of an option
	switch {
	case name == "esc" || name == "ctrl+c":
		q.send(nil)
		return true
	case name == "ctrl+d" && one.Form != nil:
		q.send([][]string{})
		return true
	case name == "enter":
		return q.enter()
	case name == "shift+tab" && q.now > 0:
		q.now--
		q.begin()
	case name == "up":
		q.at = (q.at + rows - 1) % rows
	case name == "down" || name == "tab":
		q.at = (q.at + 1) % rows
	case q.scroll.key(name):
	case q.writing():
		q.text.Type(name, k.Text)
	case (name == "space" || name == " ") && one.Multiple:
		q.chosen[q.at] = !q.chosen[q.at]
	case number >= 1 && number <= len(one.Options):
		if q.at = number - 1; !one.Multiple {
			return q.enter()
		}
		q.chosen[q.at] = !q.chosen[q.at]
	case q.free && strings.TrimSpace(k.Text) != "":
		q.Paste(k.Text)
	}
	return false
}

// enter stores the answer to a question and asks the next one.
func (q *Questions) enter() bool {
	answer, ok := q.answer()
	if !ok {
		q.problem = "this question needs an answer; esc dismisses it"
		return false
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

// answer returns the chosen options and the text; ok is false if the question needs an answer and has none.
func (q *Questions) answer() (answer []string, ok bool) {
	one := q.one
	text, _ := q.text.Text()
	text = strings.TrimSpace(text)
	if !one.Multiple {
		clear(q.chosen)
	}
	if !q.writing() && (!one.Multiple || !one.Optional && text == "" && !slices.Contains(q.chosen, true)) {
		q.chosen[q.at] = true
	}
	for i, o := range q.options {
		if q.chosen[i] {
			answer = append(answer, o.Label)
		}
	}
	if text != "" && (one.Multiple || q.writing()) {
		answer = append(answer, text)
	}
	switch {
	case len(answer) > 0:
		return answer, true
	case one.Form != nil && one.Optional:
		return []string{""}, true // an empty list would mean the default
	}
	return []string{}, one.Optional || len(one.Default) > 0
}

// Paste implements Dialog. The text becomes the user's own answer.
func (q *Questions) Paste(text string) {
	if q.free {
		q.at = len(q.options)
		q.text.Insert(text)
	}
}

// View implements Dialog.
func (q *Questions) View(c Canvas) ([]string, *tea.Position) {
	out, foot := q.head(c), q.foot(c)
	var rows []string
	var at *tea.Position
	if q.free {
		mark := " "
		if q.writing() && c.Ready {
			mark = "›"
		}
		var caret tea.Position
		rows, caret = c.input(&q.text, mark, min(c.Height/3, c.Height-len(out)-len(foot)-1))
		if q.writing() {
			at = &caret
		} else if q.text.Empty() {
			rows = []string{"    " + draw.Paint(c.Theme.Faint, "your own answer")}
		}
	}
	room := max(1, c.Height-len(out)-len(rows)-len(foot))
	from, to := draw.Window(q.at, len(q.options), room)
	for i := from; i < to; i++ {
		out = append(out, terminal.Fit(q.option(c, i), c.Width))
	}
	if at != nil {
		at.Y += len(out)
	}
	return append(append(out, rows...), foot...), at
}

// head draws the question and its note in at most half the height.
func (q *Questions) head(c Canvas) []string {
	text, note := q.one.Question, ""
	if f := q.one.Form; f != nil && f.Label != "" {
		text, note = f.Message+"\n"+f.Label, terminal.OneLine(f.Note)
	}
	if n := len(q.request.Questions); n > 1 {
		text = fmt.Sprintf("%d of %d · %s", q.now+1, n, text)
	}
	all := draw.PaintAll("1", draw.Wrap(visible.Prose(text), c.Width-2))
	if note != "" {
		all = append(all, draw.PaintAll(c.Theme.Faint, draw.Wrap(note, c.Width-2))...)
	}
	room := max(2, c.Height/2)
	if len(all) > room {
		room--
	}
	lines, place := q.scroll.view(all, room)
	if place != "" {
		lines = append(slices.Clip(lines), draw.Paint(c.Theme.Faint, place))
	}
	return draw.Indent(" ", lines)
}

// foot draws the keys below the whole current option if its line is cut, or the problem, in at most a third of the height.
func (q *Questions) foot(c Canvas) []string {
	wrapped := func(text string, room int) []string {
		lines := draw.Wrap(text, c.Width-2)
		return draw.Indent(" ", lines[:min(len(lines), max(1, room))])
	}
	if q.problem != "" {
		return draw.PaintAll(c.Theme.Fail, wrapped(terminal.OneLine(q.problem), c.Height/3))
	}
	hint := "enter answer · esc dismiss"
	if q.one.Form != nil {
		hint = "enter answer · shift+tab back · ctrl+d decline · esc cancel"
	}
	if q.one.Multiple {
		hint = "space choose · " + hint
	}
	out := []string{c.hint(hint)}
	if !q.writing() && terminal.Columns(q.option(c, q.at)) > c.Width {
		o := q.options[q.at]
		out = append(wrapped(strings.TrimSpace(terminal.OneLine(o.Label)+"\n"+terminal.OneLine(o.Description)), c.Height/3-1), out...)
	}
	return out
}

// option draws an option, in one line of any length.
func (q *Questions) option(c Canvas, i int) string {
	o, box := q.options[i], fmt.Sprintf("%d. ", i+1)
	if q.one.Multiple {
		box = map[bool]string{false: "[ ] ", true: "[x] "}[q.chosen[i]]
	}
	text := box + terminal.OneLine(o.Label)
	if i == len(q.one.Options) {
		text = "leave it empty"
	}
	label := c.marked(text, i == q.at)
	if slices.Contains(q.one.Default, o.Label) {
		label += draw.Paint(c.Theme.Faint, " (default)")
	}
	if o.Description != "" {
		label += "  " + draw.Paint(c.Theme.Faint, terminal.OneLine(o.Description))
	}
	return "  " + label
}

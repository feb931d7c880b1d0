package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// questions asks the model's questions, or the fields of an MCP server's form, one after another.
type questions struct {
	request *sdk.QuestionRequest
	answers [][]string
	at      int // row: an option, or behind them the text
	chosen  map[int]bool
	text    edit.Editor
}

func newQuestions(r *sdk.QuestionRequest) *questions {
	return &questions{request: r, chosen: map[int]bool{}}
}

func (q *questions) id() string { return q.request.ID }
func (q *questions) full() bool { return false }

func (q *questions) question() *sdk.Question { return &q.request.Questions[len(q.answers)] }

// free reports whether the question takes text.
func (q *questions) free() bool {
	one := q.question()
	return one.Custom == nil || *one.Custom || len(one.Options) == 0
}

// writing reports whether the caret is in the text.
func (q *questions) writing() bool { return q.free() && q.at == len(q.question().Options) }

func (q *questions) key(m *model, k tea.KeyPressMsg) (bool, tea.Cmd) {
	one, name := q.question(), k.String()
	rows := len(one.Options)
	if q.free() {
		rows++
	}
	switch name {
	case "esc", "ctrl+c":
		return true, q.send(m, nil)
	case "up", "shift+tab":
		q.at = (q.at + rows - 1) % rows
		return false, nil
	case "down", "tab":
		q.at = (q.at + 1) % rows
		return false, nil
	case "enter":
		return q.enter(m)
	}
	switch {
	case q.writing():
		if !q.text.Key(name) {
			q.text.Insert(k.Text)
		}
	case (name == "space" || name == " ") && one.Multiple:
		q.chosen[q.at] = !q.chosen[q.at]
	case len(name) == 1 && name[0] >= '1' && name[0] <= '9' && int(name[0]-'1') < len(one.Options):
		if q.at = int(name[0] - '1'); one.Multiple {
			q.chosen[q.at] = !q.chosen[q.at]
			return false, nil
		}
		return q.enter(m)
	}
	return false, nil
}

// enter takes the answer to a question, and the next one is asked.
func (q *questions) enter(m *model) (bool, tea.Cmd) {
	one := q.question()
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
		if text != "" && q.free() {
			answer = append(answer, text)
		}
		if len(answer) == 0 && !q.writing() {
			answer = []string{one.Options[q.at].Label}
		}
	case q.writing():
		if text != "" {
			answer = []string{text}
		}
	default:
		answer = []string{one.Options[q.at].Label}
	}
	if len(answer) == 0 {
		if !one.Optional && len(one.Default) == 0 {
			m.problem("this question needs an answer; esc dismisses it")
			return false, nil
		}
		answer = []string{}
	}
	q.answers = append(q.answers, answer)
	if len(q.answers) == len(q.request.Questions) {
		return true, q.send(m, q.answers)
	}
	q.at, q.chosen, q.text = 0, map[int]bool{}, edit.Editor{}
	return false, nil
}

func (q *questions) send(m *model, answers [][]string) tea.Cmd {
	return m.do(func(context.Context) (tea.Msg, error) { return nil, m.host.ReplyQuestion(q.request.ID, answers) })
}

func (q *questions) paste(_ *model, text string) {
	if q.writing() {
		q.text.Insert(text)
	}
}

func (q *questions) view(m *model, width, height int) ([]string, *tea.Position) {
	k, one := m.look.theme, q.question()
	head := ""
	if n := len(q.request.Questions); n > 1 {
		head = fmt.Sprintf("%d of %d · ", len(q.answers)+1, n)
	}
	out := []string{m.rule(width)}
	for _, l := range wrap(head+visible.Prose(one.Question), width-2) {
		out = append(out, " "+paint("1", l))
	}
	if len(one.Default) > 0 {
		out = append(out, fit(" "+paint(k.faint, "empty means "+oneLine(strings.Join(one.Default, ", "))), width))
	}
	room := max(1, height-len(out)-2)
	from := max(0, min(q.at-room/2, len(one.Options)-room))
	for i := from; i < min(len(one.Options), from+room); i++ {
		out = append(out, q.option(m, i, width))
	}
	hint := "enter answer · esc dismiss"
	if one.Multiple {
		hint = "space choose · " + hint
	}
	var at *tea.Position
	if q.free() {
		rows, row, column := q.text.View(max(4, width-8), func(label string) string { return label })
		for i, r := range rows {
			mark := "  "
			if i == 0 && q.writing() && m.calm() {
				mark = paint(k.accent, "› ")
			}
			if q.text.Empty() && len(one.Options) > 0 && !q.writing() {
				r = paint(k.faint, "your own answer")
			}
			out = append(out, "  "+mark+r)
		}
		if q.writing() {
			at = &tea.Position{X: 4 + column, Y: len(out) - len(rows) + row}
		}
	}
	return append(out, " "+paint(k.faint, hint)), at
}

func (q *questions) option(m *model, i, width int) string {
	k, one := m.look.theme, q.question()
	o := one.Options[i]
	box := fmt.Sprintf("%d. ", i+1)
	if one.Multiple {
		box = "[ ] "
		if q.chosen[i] {
			box = "[x] "
		}
	}
	label := box + oneLine(o.Label)
	mark := "  "
	if i == q.at && m.calm() {
		mark, label = paint(k.accent, "› "), paint("1", label)
	}
	if slices.Contains(one.Default, o.Label) {
		label += paint(k.faint, " (default)")
	}
	if o.Description != "" {
		label += "  " + paint(k.faint, oneLine(o.Description))
	}
	return fit("  "+mark+label, width)
}

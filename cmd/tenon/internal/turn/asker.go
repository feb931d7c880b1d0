package turn

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/sdk"
)

// answerHost receives the user's answers. Its errors mean that a request was withdrawn.
type answerHost interface {
	ReplyPermission(id string, reply sdk.Reply, message string) error
	AllowInSession(id string) error
	ReplyQuestion(id string, answers [][]string) error
}

// asker asks the user questions on the terminal, one after another. It is used from one goroutine.
type asker struct {
	s         *terminal.Screen
	keys      *terminal.Keyboard
	host      answerHost
	directory string // base of relative paths in questions

	queue   []*ask
	current *ask
}

// ask is a question to the user.
type ask struct {
	id     string
	show   func()
	prompt func() string // returns the text before the answer
	// take handles a line from the user. While it returns false, the question is not done, and the prompt is shown again.
	take func(line string) (done bool)
	// refuse answers the question at the end of input.
	refuse func()
}

// asking reports whether a question is on the screen; never without an asker.
func (a *asker) asking() bool { return a != nil && a.current != nil }

// event queues new questions and drops answered ones.
func (a *asker) event(e *sdk.Event) {
	switch p := e.Properties.(type) {
	case *sdk.PermissionRequest:
		a.queue = append(a.queue, a.permission(p))
	case *sdk.QuestionRequest:
		a.queue = append(a.queue, a.questions(p))
	case *sdk.PermissionReplied:
		a.drop(p.RequestID)
	case *sdk.QuestionReplied:
		a.drop(p.RequestID)
	}
	a.next()
}

// drop removes a question that was answered elsewhere.
func (a *asker) drop(id string) {
	if a.asking() && a.current.id == id {
		a.current = nil
		a.s.Line(a.s.Paint(terminal.Dim, "(answer no longer needed)"))
	}
	a.queue = slices.DeleteFunc(a.queue, func(q *ask) bool { return q.id == id })
}

// line writes a line that breaks at spaces.
func (a *asker) line(text string) { a.s.Line(a.s.Wrapped(text)) }

// next asks the next question if none is on the screen.
func (a *asker) next() {
	for a.current == nil && len(a.queue) > 0 {
		q := a.queue[0]
		a.queue = a.queue[1:]
		if a.keys.Ended {
			q.refuse()
			continue
		}
		a.current = q
		a.keys.Drop() // input from before the question must not answer it
		a.s.BottomLines(nil)
		q.show()
		a.s.Ask(q.prompt())
		a.keys.Want()
	}
}

// input handles typed input. It drops lines while no question is open: they were probably meant for a withdrawn question.
func (a *asker) input(p terminal.Piece) {
	a.keys.Took(p)
	for line, ok := a.keys.Line(); ok; line, ok = a.keys.Line() {
		a.take(strings.TrimSpace(line))
	}
	switch {
	case !a.asking():
	case a.keys.Ended:
		a.current.refuse()
		a.current = nil
		a.next()
	default:
		a.keys.Want()
	}
}

// take handles a line from the user.
func (a *asker) take(line string) {
	if !a.asking() {
		return
	}
	a.s.Answered()
	if !a.current.take(line) {
		a.s.Ask(a.current.prompt())
		return
	}
	a.current = nil
	a.next()
}

// permission asks the user for permission.
func (a *asker) permission(r *sdk.PermissionRequest) *ask {
	asked := view.Asks(r, a.directory)
	explains := false // the next line is the reason for the rejection
	reply := func(reply sdk.Reply, message string) bool {
		_ = a.host.ReplyPermission(r.ID, reply, message)
		return true
	}
	take := func(line string) bool {
		if explains {
			explains = false
			return line != "" && reply(sdk.ReplyReject, line)
		}
		answer := strings.ToLower(line)
		switch answer {
		case "y", "yes", "o", "once":
			return reply(sdk.ReplyOnce, "")
		case "s", "session":
			if asked.Always != "" {
				_ = a.host.AllowInSession(r.ID)
			}
			return asked.Always != ""
		case "a", "always":
			return asked.Always != "" && reply(sdk.ReplyAlways, "")
		case "n", "no", "r", "reject":
			return reply(sdk.ReplyReject, "")
		}
		explains = answer == "m" || answer == "message"
		return false
	}
	prompt := func() string {
		if explains {
			return "  what should the model do instead? "
		}
		return a.options(asked.Always)
	}
	return &ask{id: r.ID, show: func() { a.show(&asked) }, prompt: prompt, take: take, refuse: func() { reply(sdk.ReplyReject, "") }}
}

// show prints the whole command or diff, because the answer allows all of it.
func (a *asker) show(asked *view.Asked) {
	question := a.s.Paint(terminal.Yellow, "? ") + a.s.Paint(terminal.Bold, asked.Question)
	a.line(question)
	for _, note := range asked.Notes {
		a.line("  " + a.s.Paint(terminal.Dim, note))
	}
	var lines []string
	if asked.Diff != "" {
		style := a.s.Style()
		lines = style.Diff(asked.Diff)
	} else if asked.Body != "" {
		lines = strings.Split(strings.TrimRight(asked.Body, "\n"), "\n")
	}
	rows := 0
	for _, line := range lines {
		a.s.Line("    " + line)
		rows += 1 + terminal.Columns(line)/usualWidth
	}
	if rows > maxRows {
		a.line(question + " The text above is long: scroll up to read all of it.")
	}
}

// Below a text of more than maxRows rows, the question is repeated: a small screen shows only the end of the text, which may look like another
// question about a harmless command.
const maxRows, usualWidth = 12, 80

// options lists the answers to a permission request. always is the rule that some of them store; empty: none.
func (a *asker) options(always string) string {
	options := []string{"[y] yes"}
	if always != "" {
		options = append(options, "[s] this session", "[a] always in this project: "+strings.ReplaceAll(always, "\n", " "))
	}
	options = append(options, "[n] no", "[m] no, and say why")
	text := "  " + strings.Join(options, "  ") + ": "
	if a.s.Rich && terminal.Columns(text) >= a.s.Width() {
		text = "  " + strings.Join(options, "\n  ") + ": "
	}
	return text
}

// cancelWord cancels questions that accept an empty answer, and declineWord declines a form, as the answer No.
const cancelWord, declineWord = "/cancel", "/decline"

// questions asks the user the model's questions, one after another.
func (a *asker) questions(r *sdk.QuestionRequest) *ask {
	var answers [][]string
	reply := func(answers [][]string) bool {
		_ = a.host.ReplyQuestion(r.ID, answers)
		return true
	}
	now := func() *sdk.Question { return &r.Questions[len(answers)] }
	show := func() {
		a.line(a.s.Paint(terminal.Yellow, "? ") + a.s.Paint(terminal.Bold, terminal.Prose(now().Question)))
		for i, o := range now().Options {
			line := fmt.Sprintf("  %d. %s", i+1, terminal.OneLine(o.Label))
			if o.Description != "" {
				line += a.s.Paint(terminal.Dim, " · "+terminal.OneLine(o.Description))
			}
			a.line(line)
		}
	}
	take := func(line string) bool {
		q := now()
		answer, ok := choose(q, line)
		switch {
		case line == cancelWord, line == "" && !q.Optional && len(q.Default) == 0:
			return reply(nil)
		case line == declineWord && q.Form != nil:
			return reply([][]string{})
		case line == "":
			answer = []string{}
		case !ok:
			return false
		}
		if answers = append(answers, answer); len(answers) == len(r.Questions) {
			return reply(answers)
		}
		show()
		return false
	}
	return &ask{id: r.ID, show: show, prompt: func() string { return wanted(now()) }, take: take, refuse: func() { reply(nil) }}
}

// wanted describes the expected answer, and the meaning of an empty line.
func wanted(q *sdk.Question) string {
	want, empty, end := "number", "may be left empty", "; "+cancelWord+" ends"
	if q.Multiple {
		want = "numbers, such as 1,3"
	}
	switch {
	case len(q.Options) == 0:
		want = "answer"
	case custom(q):
		want += ", or your own answer"
	}
	switch {
	case len(q.Default) > 0:
		empty = "empty: " + terminal.OneLine(strings.Join(q.Default, ", "))
	case !q.Optional:
		empty, end = "empty: no answer", ""
	}
	if q.Form != nil && q.Form.URL == "" {
		end = "; " + declineWord + " declines the form" + end
	}
	return "  " + want + " (" + empty + end + "): "
}

func custom(q *sdk.Question) bool { return q.Custom == nil || *q.Custom }

// choose parses an answer: numbers of options, or free text if allowed.
func choose(q *sdk.Question, text string) (answer []string, ok bool) {
	for _, field := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 || n > len(q.Options) {
			answer = nil
			break
		}
		if label := q.Options[n-1].Label; !slices.Contains(answer, label) {
			answer = append(answer, label)
		}
	}
	if len(answer) == 0 {
		return []string{text}, custom(q)
	}
	return answer, len(answer) == 1 || len(answer) > 1 && q.Multiple
}

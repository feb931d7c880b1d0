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

// answerHost receives the user's answers.
type answerHost interface {
	ReplyPermission(id string, reply sdk.Reply, message string) error
	AllowInSession(id string) error
	ReplyQuestion(id string, answers [][]string) error
}

// typed is a line from the user. eof means the end of input.
type typed struct {
	text string
	eof  bool
}

// asker asks the user questions on the terminal, one after another. It is used from one goroutine.
type asker struct {
	s         *terminal.Screen
	keys      *terminal.Keyboard
	host      answerHost
	directory string // base of relative paths in questions

	queue   []ask
	current ask
}

// ask is a question to the user, an *askPermission or *askQuestions.
type ask interface {
	id() string
	show(a *asker)
	// take handles an answer and reports whether the question is done.
	take(a *asker, t typed) bool
}

// asking reports whether a question is on the screen; never without an asker.
func (a *asker) asking() bool { return a != nil && a.current != nil }

// event queues new questions and drops answered ones.
func (a *asker) event(e *sdk.Event) {
	switch p := e.Properties.(type) {
	case *sdk.PermissionRequest:
		a.queue = append(a.queue, &askPermission{request: p, asked: view.Asks(p, a.directory)})
	case *sdk.QuestionRequest:
		a.queue = append(a.queue, &askQuestions{request: p})
	case *sdk.PermissionReplied:
		a.drop(p.RequestID)
	case *sdk.QuestionReplied:
		a.drop(p.RequestID)
	}
	a.next()
}

// drop removes a question that was answered elsewhere.
func (a *asker) drop(id string) {
	if a.current != nil && a.current.id() == id {
		a.current = nil
		a.s.Line(a.s.Paint(terminal.Dim, "(answer no longer needed)"))
	}
	a.queue = slices.DeleteFunc(a.queue, func(q ask) bool { return q.id() == id })
}

// line writes a line that breaks at spaces.
func (a *asker) line(text string) { a.s.Line(a.s.Wrapped(text)) }

// next asks the next question if none is on the screen.
func (a *asker) next() {
	for a.current == nil && len(a.queue) > 0 {
		a.current, a.queue = a.queue[0], a.queue[1:]
		if a.keys.Ended {
			a.current.take(a, typed{eof: true})
			a.current = nil
			continue
		}
		a.keys.Drop() // input from before the question must not answer it
		a.s.BottomLines(nil)
		a.current.show(a)
		a.keys.Want()
	}
}

// input handles typed input. It drops lines that no question waits for: they were probably meant for a withdrawn question.
func (a *asker) input(p terminal.Piece) {
	a.keys.Took(p)
	for {
		line, ok := a.keys.Line()
		switch {
		case ok:
			a.take(typed{text: strings.TrimSpace(line)})
		case a.keys.Ended:
			a.take(typed{eof: true})
			return
		default:
			if a.asking() {
				a.keys.Want()
			}
			return
		}
	}
}

// take handles a line from the user.
func (a *asker) take(t typed) {
	if a.current == nil {
		return
	}
	if !t.eof {
		a.s.Answered()
	}
	if a.current.take(a, t) {
		a.current = nil
		a.next()
	}
}

// askPermission asks the user for permission.
type askPermission struct {
	request *sdk.PermissionRequest
	asked   view.Asked
	message bool // the next line is the reason for the rejection
}

func (q *askPermission) id() string { return q.request.ID }

// show prints the whole command or diff, because the answer allows all of it.
func (q *askPermission) show(a *asker) {
	a.line(a.s.Paint(terminal.Yellow, "? ") + a.s.Paint(terminal.Bold, q.asked.Question))
	for _, note := range q.asked.Notes {
		a.line("  " + a.s.Paint(terminal.Dim, note))
	}
	var lines []string
	if q.asked.Diff != "" {
		style := a.s.Style()
		lines = style.Diff(q.asked.Diff)
	} else if q.asked.Body != "" {
		lines = strings.Split(strings.TrimRight(q.asked.Body, "\n"), "\n")
	}
	for _, line := range lines {
		a.s.Line("    " + line)
	}
	q.prompt(a)
}

func (q *askPermission) prompt(a *asker) {
	options := []string{"[y] yes"}
	if q.asked.Always != "" {
		options = append(options, "[s] this session", "[a] always in this project: "+strings.ReplaceAll(q.asked.Always, "\n", " "))
	}
	options = append(options, "[n] no", "[m] no, and say why")
	text := "  " + strings.Join(options, "  ") + ": "
	if a.s.Rich && terminal.Columns(text) >= a.s.Width() {
		text = "  " + strings.Join(options, "\n  ") + ": "
	}
	a.s.Ask(text)
}

func (q *askPermission) take(a *asker, t typed) bool {
	reply := func(r sdk.Reply, message string) bool {
		// An error means that the request was withdrawn.
		_ = a.host.ReplyPermission(q.request.ID, r, message)
		return true
	}
	switch {
	case t.eof:
		return reply(sdk.ReplyReject, "")
	case q.message && t.text != "":
		return reply(sdk.ReplyReject, t.text)
	case q.message:
		q.message = false
		q.prompt(a)
		return false
	}
	switch strings.ToLower(t.text) {
	case "y", "yes", "o", "once":
		return reply(sdk.ReplyOnce, "")
	case "s", "session":
		if q.asked.Always != "" {
			_ = a.host.AllowInSession(q.request.ID) // as for reply
			return true
		}
	case "a", "always":
		if q.asked.Always != "" {
			return reply(sdk.ReplyAlways, "")
		}
	case "n", "no", "r", "reject":
		return reply(sdk.ReplyReject, "")
	case "m", "message":
		q.message = true
		a.s.Ask("  what should the model do instead? ")
		return false
	}
	q.prompt(a)
	return false
}

// askQuestions asks the user the model's questions, one after another.
type askQuestions struct {
	request *sdk.QuestionRequest
	answers [][]string
}

func (q *askQuestions) id() string { return q.request.ID }

func (q *askQuestions) show(a *asker) {
	question := &q.request.Questions[len(q.answers)]
	a.line(a.s.Paint(terminal.Yellow, "? ") + a.s.Paint(terminal.Bold, terminal.Prose(question.Question)))
	for i, o := range question.Options {
		line := fmt.Sprintf("  %d. %s", i+1, terminal.OneLine(o.Label))
		if o.Description != "" {
			line += a.s.Paint(terminal.Dim, " · "+terminal.OneLine(o.Description))
		}
		a.line(line)
	}
	q.prompt(a, question)
}

func (q *askQuestions) prompt(a *asker, question *sdk.Question) {
	want := "number"
	if question.Multiple {
		want = "numbers, such as 1,3"
	}
	switch {
	case len(question.Options) == 0:
		want = "answer"
	case custom(question):
		want += ", or your own answer"
	}
	a.s.Ask("  " + want + " (" + empty(question) + "): ")
}

// cancelWord cancels questions that accept an empty answer.
const cancelWord = "/cancel"

// empty describes the meaning of an empty line.
func empty(q *sdk.Question) string {
	switch {
	case len(q.Default) > 0:
		return "empty: " + terminal.OneLine(strings.Join(q.Default, ", ")) + "; " + cancelWord + " ends"
	case q.Optional:
		return "may be left empty; " + cancelWord + " ends"
	}
	return "empty: no answer"
}

func custom(q *sdk.Question) bool { return q.Custom == nil || *q.Custom }

func (q *askQuestions) take(a *asker, t typed) bool {
	question := &q.request.Questions[len(q.answers)]
	left := t.text == "" && (question.Optional || len(question.Default) > 0)
	if t.eof || t.text == cancelWord || t.text == "" && !left {
		_ = a.host.ReplyQuestion(q.request.ID, nil) // fails if the question was withdrawn
		return true
	}
	answer, ok := choose(question, t.text)
	if left {
		answer, ok = []string{}, true
	}
	if !ok {
		q.prompt(a, question)
		return false
	}
	q.answers = append(q.answers, answer)
	if len(q.answers) < len(q.request.Questions) {
		q.show(a)
		return false
	}
	_ = a.host.ReplyQuestion(q.request.ID, q.answers) // fails if the question was withdrawn
	return true
}

// choose parses an answer: numbers of options, or free text if allowed.
func choose(q *sdk.Question, text string) ([]string, bool) {
	var labels []string
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	for _, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 || n > len(q.Options) {
			labels = nil
			break
		}
		labels = append(labels, q.Options[n-1].Label)
	}
	switch {
	case len(labels) == 1, len(labels) > 1 && q.Multiple:
		return labels, true
	case custom(q) && len(labels) == 0:
		return []string{text}, true
	}
	return nil, false
}

package dialog

import (
	"net/url"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/sdk"
)

// Choice is a question with a few answers, and a preview of its subject.
type Choice struct {
	asked   view.Asked
	cancel  func()
	show    func(Dialog)
	all     []Option
	options []Option // the options on the screen
	at      int
	preview scroller
	why     *Line // asks for the reason of a rejection, instead of the answers; may be nil
}

// Option is an answer of a Choice. Its key chooses it directly.
type Option struct {
	Key, Label string
	Run        func()

	stores bool // the answer stores the rule in its label
}

// NewChoice asks a question. cancel is called when the user closes it without an answer; show opens another dialog.
func NewChoice(asked view.Asked, options []Option, cancel func(), show func(Dialog)) *Choice {
	return &Choice{asked: asked, all: options, options: options, cancel: cancel, show: show}
}

// NewPermission asks whether a call may run. reply passes the answer to the host, with a message to the model if it is sdk.ReplyReject;
// allowInSession allows the call for the rest of the session.
func NewPermission(asked view.Asked, reply func(answer sdk.Reply, message string), allowInSession func(), show func(Dialog)) *Choice {
	answer := func(r sdk.Reply) func() { return func() { reply(r, "") } }
	var q *Choice
	explain := func() {
		q.why = &Line{
			Title: asked.Question, Label: "What should the model do instead?", Hint: "enter send · esc back",
			Done: func(reason string) { reply(sdk.ReplyReject, reason) },
		}
	}
	options := []Option{{Key: "y", Label: "Yes, once", Run: answer(sdk.ReplyOnce)}}
	if rule := terminal.OneLine(asked.Always); rule != "" {
		options = append(options,
			Option{Key: "s", Label: "Yes, in this session: " + rule, Run: allowInSession, stores: true},
			Option{Key: "a", Label: "Always in this project: " + rule, Run: answer(sdk.ReplyAlways), stores: true})
	}
	options = append(options,
		Option{Key: "n", Label: "No", Run: answer(sdk.ReplyReject)},
		Option{Key: "m", Label: "No, and say why", Run: explain})
	q = NewChoice(asked, options, answer(sdk.ReplyReject), show)
	return q
}

// NewLink asks whether to open the address in the only field of a form. send passes the answer to the host, nil if the user cancels; browse
// opens a browser.
func NewLink(r *sdk.QuestionRequest, send func(answers [][]string), browse func(), show func(Dialog)) *Choice {
	field := r.Questions[0].Form
	host := ""
	if u, err := url.Parse(field.URL); err == nil {
		host = terminal.OneLine(u.Host)
	}
	asked := view.Asked{Question: "Open an address of " + host + " in your browser?", Body: terminal.OneLine(field.URL), Notes: []string{terminal.OneLine(field.Message)}}
	reply := func(label string) { send([][]string{{label}}) }
	open := func() {
		browse()
		reply("Yes")
	}
	return NewChoice(asked, []Option{
		{Key: "o", Label: "Yes, open it", Run: open},
		{Key: "y", Label: "Yes, I have opened it", Run: func() { reply("Yes") }},
		{Key: "n", Label: "No", Run: func() { reply("No") }},
	}, func() { send(nil) }, show)
}

// keyed returns the index of the option on the screen with a key, or -1.
func (q *Choice) keyed(name string) int {
	return slices.IndexFunc(q.options, func(o Option) bool { return o.Key == name })
}

// Meant reports whether a key may be an answer. Any other letter is the beginning of a text that was meant for the prompt.
func (q *Choice) Meant(k tea.KeyPressMsg) bool {
	return k.Text == "" || q.Explains() || q.keyed(k.String()) >= 0
}

// Explains reports whether the user writes the reason of a rejection.
func (q *Choice) Explains() bool { return q.why != nil }

// Key implements Dialog.
func (q *Choice) Key(k tea.KeyPressMsg) bool {
	name, n := k.String(), len(q.options)
	if q.Explains() {
		if name == "esc" || name == "ctrl+c" {
			q.why = nil
			return false
		}
		return q.why.Key(k)
	}
	chosen := q.keyed(name)
	switch name {
	case "up", "left":
		q.at = (q.at + n - 1) % n
	case "down", "right", "tab":
		q.at = (q.at + 1) % n
	case "ctrl+f":
		q.show(q.FullScreen())
	case "ctrl+c", "esc":
		q.cancel()
		return true
	case "enter":
		chosen = q.at
	default:
		q.preview.key(name)
	}
	if chosen < 0 {
		return false
	}
	q.options[chosen].Run()
	return !q.Explains()
}

// Paste implements Dialog.
func (q *Choice) Paste(text string) {
	if q.Explains() {
		q.why.Paste(text)
	}
}

// View implements Dialog.
func (q *Choice) View(c Canvas) ([]string, *tea.Position) {
	if q.Explains() {
		q.why.Lines = q.body(c.Theme, c.Width-4, false)
		return q.why.View(c)
	}
	out, cut := q.head(c)
	options := q.offer(c, c.Height-len(out)-3)
	room := max(1, c.Height-len(out)-len(options)-1)
	lines, place := q.preview.view(q.body(c.Theme, c.Width-4, cut), room)
	for _, line := range lines {
		out = append(out, terminal.Fit("   "+line, c.Width))
	}
	if place != "" {
		out = append(out, c.hint(place+" · ctrl+f full screen"))
	} else if c.Height > 13 {
		out = append(out, "")
	}
	return append(out, options...), nil
}

// head draws the question and its notes, each in at most a third of the height; cut reports whether some of them are missing.
func (q *Choice) head(c Canvas) (lines []string, cut bool) {
	maxLines := max(2, c.Height/3)
	question := draw.Wrap(q.asked.Question, c.Width-2)
	if cut = len(question) > maxLines; cut {
		question = append(question[:maxLines-1:maxLines-1], "… (all of it below)")
	}
	var notes []string
	for _, note := range q.asked.Notes {
		notes = append(notes, draw.Wrap(note, c.Width-2)...)
	}
	if room := max(0, min(maxLines, c.Height-len(question)-3)); len(notes) > room {
		if cut, notes = true, notes[:room]; room > 0 {
			notes[room-1] = "… (all of it below)"
		}
	}
	question = draw.PaintAll(c.Theme.Warn, draw.PaintAll("1", question))
	return draw.Indent(" ", append(question, draw.PaintAll(c.Theme.Faint, notes)...)), cut
}

// body returns the whole command, diff or arguments. If the head is cut, the question and notes follow in full.
func (q *Choice) body(k *draw.Theme, width int, cut bool) []string {
	var out []string
	switch {
	case q.asked.Diff != "":
		out = draw.WrapDiff(k.Text.Change(q.asked.Diff), width)
	case q.asked.Body != "":
		out = draw.Wrap(strings.TrimRight(q.asked.Body, "\n"), width)
	}
	if cut {
		out = append(out, draw.Wrap(q.text(), width)...)
	}
	return out
}

// text returns the question with its notes.
func (q *Choice) text() string {
	return strings.Join(append([]string{q.asked.Question}, q.asked.Notes...), "\n")
}

// FullScreen shows the whole question with its command or diff.
func (q *Choice) FullScreen() *Pager {
	return &Pager{Title: q.asked.Question, Head: q.text(), Diff: q.asked.Diff, Draw: func(k *draw.Theme, width int) []string {
		return draw.Indent("  ", q.body(k, width-4, true))
	}}
}

// offer draws the options in at most room lines. If the rule that an option stores does not fit in full, it omits such options. If there is still
// too little room, it draws only the current option and the keys.
func (q *Choice) offer(c Canvas, room int) []string {
	current := q.options[q.at].Key
	q.options, q.at = q.all, slices.IndexFunc(q.all, func(o Option) bool { return o.Key == current })
	lines := q.optionLines(c)
	if len(lines) <= room {
		return lines
	}
	q.options = slices.DeleteFunc(slices.Clone(q.all), func(o Option) bool { return o.stores })
	q.at = max(0, q.keyed(current))
	if lines = q.optionLines(c); len(lines) <= room {
		return lines
	}
	mark, keys := " ", " ← → ·"
	if c.Ready {
		mark = "› "
	}
	for _, o := range q.options {
		keys += " " + o.Key
	}
	return []string{terminal.Fit(" "+draw.Paint(c.Theme.Selected, mark+q.options[q.at].Key+"  "+q.options[q.at].Label+" ")+draw.Paint(c.Theme.Faint, keys), c.Width)}
}

// optionLines draws the options below each other, after their keys.
func (q *Choice) optionLines(c Canvas) []string {
	var out []string
	for i, o := range q.options {
		head, look := c.marked(o.Key, i == q.at), ""
		if i == q.at && c.Ready {
			look = "1"
		}
		for _, label := range draw.PaintAll(look, draw.Wrap(o.Label, c.Width-7)) {
			out = append(out, terminal.Fit(" "+head+"  "+label, c.Width))
			head = "   "
		}
	}
	return out
}

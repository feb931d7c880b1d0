package dialog

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/sdk"
)

// Choice is a question with a few answers, and a preview of what it is about.
type Choice struct {
	asked    view.Asked
	cancel   func()
	show     func(Dialog)
	all      []Option
	options  []Option // those on the screen
	at       int
	top      int // first visible line of the preview
	reason   *Line
	reject   func(reason string)
	rejected bool // with a reason
}

// Decision is the user's answer to a permission request.
type Decision struct {
	Reply   sdk.Reply
	Session bool   // allow it for the rest of the session; Reply is empty
	Message string // message to the model, with sdk.ReplyReject
}

// Keys of the options that store the rule in their label.
const keySession, keyAlways = "s", "a"

// NewChoice asks a question. cancel is called when the user closes it without an answer; show opens another dialog.
func NewChoice(asked view.Asked, options []Option, cancel func(), show func(Dialog)) *Choice {
	return &Choice{asked: asked, all: options, options: options, cancel: cancel, show: show}
}

// NewPermission asks whether a call may run. send passes the decision to the host.
func NewPermission(asked view.Asked, send func(Decision), show func(Dialog)) *Choice {
	q := NewChoice(asked, nil, func() { send(Decision{Reply: sdk.ReplyReject}) }, show)
	q.reject = func(reason string) { send(Decision{Reply: sdk.ReplyReject, Message: reason}) }
	reply := func(d Decision) func() { return func() { send(d) } }
	q.all = append(q.all, Option{Key: "y", Label: "Yes, once", Run: reply(Decision{Reply: sdk.ReplyOnce})})
	if rule := terminal.OneLine(asked.Always); rule != "" {
		q.all = append(q.all,
			Option{Key: keySession, Label: "Yes, in this session: " + rule, Run: reply(Decision{Session: true})},
			Option{Key: keyAlways, Label: "Always in this project: " + rule, Run: reply(Decision{Reply: sdk.ReplyAlways})})
	}
	q.all = append(q.all,
		Option{Key: "n", Label: "No", Run: q.cancel},
		Option{Key: "m", Label: "No, and say why", Run: q.explain})
	q.options = q.all
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

// explain opens the input for the reason of a rejection.
func (q *Choice) explain() {
	q.reason = &Line{Title: "What should the model do instead?", Hint: "enter send · esc back", Done: func(text string) {
		q.reject(text)
		q.rejected = true
	}}
}

// Meant reports whether a key may be an answer. Any other letter is the beginning of a text that was meant for the prompt.
func (q *Choice) Meant(k tea.KeyPressMsg) bool {
	return q.reason != nil || k.Text == "" || slices.ContainsFunc(q.options, func(o Option) bool { return o.Key == k.String() })
}

// Key implements Dialog.
func (q *Choice) Key(k tea.KeyPressMsg) bool {
	if q.reason != nil {
		if q.reason.Key(k) {
			q.reason = nil
		}
		return q.rejected
	}
	name := k.String()
	chosen := slices.IndexFunc(q.options, func(o Option) bool { return o.Key == name })
	switch n := len(q.options); name {
	case "pgup":
		q.top = max(0, q.top-5)
	case "pgdown":
		q.top += 5
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
	}
	if chosen < 0 {
		return false
	}
	q.options[chosen].Run()
	return q.reason == nil
}

// Paste implements Dialog.
func (q *Choice) Paste(text string) {
	if q.reason != nil {
		q.reason.Input.Insert(text)
	}
}

// preview returns the whole command, diff or arguments. If the head is cut, the question and notes follow in full.
func (q *Choice) preview(k *draw.Theme, width int, cut bool) []string {
	var out []string
	switch {
	case q.asked.Diff != "":
		out = draw.WrapDiff(k.Text.Diff(q.asked.Diff), width)
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

// head draws the question and its notes, each in at most a third of the height; cut reports whether some of them are missing.
func (q *Choice) head(k *draw.Theme, width, height int) (lines []string, cut bool) {
	most := max(2, height/3)
	question := draw.Wrap(q.asked.Question, width-2)
	if cut = len(question) > most; cut {
		question = append(question[:most-1:most-1], "… (all of it below)")
	}
	var notes []string
	for _, note := range q.asked.Notes {
		notes = append(notes, draw.Wrap(note, width-2)...)
	}
	if room := max(0, min(most, height-len(question)-3)); len(notes) > room {
		cut, notes = true, notes[:room]
	}
	for i, l := range question {
		question[i] = draw.Paint(k.Warn, draw.Paint("1", l))
	}
	return draw.Indent(" ", append(question, draw.PaintAll(k.Faint, notes)...)), cut
}

// offer omits the options that store a rule if the whole rule does not fit on the screen.
func (q *Choice) offer(width, room int) {
	chosen := q.options[q.at].Key
	q.options = q.all
	if optionRows(q.all, width) > room {
		q.options = slices.DeleteFunc(slices.Clone(q.all), func(o Option) bool { return o.Key == keySession || o.Key == keyAlways })
	}
	q.at = max(0, slices.IndexFunc(q.options, func(o Option) bool { return o.Key == chosen }))
}

// View implements Dialog.
func (q *Choice) View(c Canvas) ([]string, *tea.Position) {
	k, width := c.Theme, c.Width
	out, cut := q.head(k, width, c.Height)
	tail, at := q.answers(c, c.Height-len(out)-3)
	preview := q.preview(k, width-4, cut)
	room := max(1, c.Height-len(out)-len(tail)-1)
	q.top = max(0, min(q.top, len(preview)-room))
	for i := q.top; i < min(len(preview), q.top+room); i++ {
		out = append(out, terminal.Fit("   "+preview[i], width))
	}
	if len(preview) > room {
		out = append(out, " "+draw.Paint(k.Faint, fmt.Sprintf("lines %d-%d of %d · pgup pgdn · ctrl+f full screen", q.top+1, q.top+room, len(preview))))
	} else if c.Height > 13 {
		out = append(out, "")
	}
	if at != nil {
		at.Y += len(out)
	}
	return append(out, tail...), at
}

// answers draws the options in at most room lines, or the input for the reason.
func (q *Choice) answers(c Canvas, room int) ([]string, *tea.Position) {
	if q.reason != nil {
		return q.reason.View(c)
	}
	q.offer(c.Width, room)
	return q.optionLines(c, room), nil
}

// FullScreen shows the whole question with its command or diff.
func (q *Choice) FullScreen() *Pager {
	return &Pager{Title: q.asked.Question, Head: q.text(), Diff: q.asked.Diff, Draw: func(k *draw.Theme, width int) []string {
		return draw.Indent("  ", q.preview(k, width-4, true))
	}}
}

// Option is an answer of a Choice. Its key chooses it directly.
type Option struct {
	Key, Label string
	Run        func()
}

// optionLines draws the options below each other, or only the current one if there is too little room. None is marked before keys answer: the mark
// would suggest that they do.
func (q *Choice) optionLines(c Canvas, room int) []string {
	k, width := c.Theme, c.Width
	if room < optionRows(q.options, width) {
		mark, keys := " ", []string(nil)
		if c.Ready {
			mark = "› "
		}
		for _, o := range q.options {
			keys = append(keys, o.Key)
		}
		return []string{terminal.Fit(" "+draw.Paint(k.Selected, mark+q.options[q.at].Label+" ")+draw.Paint(k.Faint, " ← → · "+strings.Join(keys, " ")), width)}
	}
	var out []string
	for i, o := range q.options {
		for row, label := range draw.Wrap(o.Label, width-9) {
			text, key := marked(c, label, i == q.at), draw.Paint(k.Faint, o.Key)+"  "
			if row > 0 {
				text, key = strings.Replace(text, "›", " ", 1), ""
			}
			out = append(out, draw.Sides(terminal.Fit(" "+text, width-6), key, width))
		}
	}
	return out
}

// optionRows returns the number of rows needed for the whole labels of options.
func optionRows(options []Option, width int) int {
	rows := 0
	for i := range options {
		rows += len(draw.Wrap(options[i].Label, width-9))
	}
	return rows
}

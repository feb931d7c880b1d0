package dialog

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/sdk"
)

// Permission asks whether a call may run, or a server may send the user to an address.
type Permission struct {
	asked   view.Asked
	cancel  func() tea.Cmd
	show    func(Dialog)
	all     []Option
	options []Option // those of all that are on the screen
	at      int
	top     int // of the preview
	reason  *edit.Editor
	reject  func(reason string) tea.Cmd
}

// Decision is the user's answer to a permission request.
type Decision struct {
	Reply   sdk.Reply
	Session bool   // allows it for the rest of the session; Reply is empty
	Message string // to the model, with sdk.ReplyReject
}

// Keys of options that store the rule that their label names.
const keySession, keyAlways = "s", "a"

// NewPermission asks about a request. send passes the decision to the host, show opens another dialog.
func NewPermission(asked view.Asked, send func(Decision) tea.Cmd, show func(Dialog)) *Permission {
	p := &Permission{asked: asked, show: show}
	p.cancel = func() tea.Cmd { return send(Decision{Reply: sdk.ReplyReject}) }
	p.reject = func(reason string) tea.Cmd { return send(Decision{Reply: sdk.ReplyReject, Message: reason}) }
	reply := func(d Decision) func() tea.Cmd { return func() tea.Cmd { return send(d) } }
	p.all = append(p.all, Option{Key: "y", Label: "Yes, once", Run: reply(Decision{Reply: sdk.ReplyOnce})})
	if rule := terminal.OneLine(asked.Always); rule != "" {
		p.all = append(p.all,
			Option{Key: keySession, Label: "Yes, in this session: " + rule, Run: reply(Decision{Session: true})},
			Option{Key: keyAlways, Label: "Always in this project: " + rule, Run: reply(Decision{Reply: sdk.ReplyAlways})})
	}
	p.all = append(p.all,
		Option{Key: "n", Label: "No", Run: p.cancel},
		Option{Key: "m", Label: "No, and say why", Run: p.explain})
	p.options = p.all
	return p
}

// NewLink asks whether the user opens the address of a form's only field. send passes the answer to the host, nil if the user cancels; browse
// opens a browser.
func NewLink(r *sdk.QuestionRequest, send func(answers [][]string) tea.Cmd, browse func() tea.Cmd, show func(Dialog)) *Permission {
	field := r.Questions[0].Form
	host := ""
	if u, err := url.Parse(field.URL); err == nil {
		host = terminal.OneLine(u.Host)
	}
	asked := view.Asked{Question: "Open an address of " + host + " in your browser?", Body: terminal.OneLine(field.URL), Notes: []string{terminal.OneLine(field.Message)}}
	p := &Permission{asked: asked, show: show, cancel: func() tea.Cmd { return send(nil) }}
	reply := func(label string) tea.Cmd { return send([][]string{{label}}) }
	p.all = []Option{
		{Key: "o", Label: "Yes, open it", Run: func() tea.Cmd { return tea.Batch(browse(), reply("Yes")) }},
		{Key: "y", Label: "Yes, I have opened it", Run: func() tea.Cmd { return reply("Yes") }},
		{Key: "n", Label: "No", Run: func() tea.Cmd { return reply("No") }},
	}
	p.options = p.all
	return p
}

// explain opens the input for the reason of a rejection.
func (p *Permission) explain() tea.Cmd {
	p.reason = &edit.Editor{}
	return nil
}

// Meant reports whether a key may be an answer. Any other letter is the beginning of a text that was meant for the prompt.
func (p *Permission) Meant(k tea.KeyPressMsg) bool {
	return p.reason != nil || k.Text == "" || slices.ContainsFunc(p.options, func(o Option) bool { return o.Key == k.String() })
}

// Key implements Dialog.
func (p *Permission) Key(k tea.KeyPressMsg) (bool, tea.Cmd) {
	if p.reason != nil {
		return p.reasonKey(k)
	}
	switch name := k.String(); name {
	case "pgup":
		p.top = max(0, p.top-5)
	case "pgdown":
		p.top += 5
	case "ctrl+f":
		p.show(p.FullScreen())
	case "ctrl+c", "esc":
		return true, p.cancel()
	default:
		if i := optionKey(name, p.options, &p.at); i >= 0 {
			cmd := p.options[i].Run()
			return p.reason == nil, cmd
		}
	}
	return false, nil
}

func (p *Permission) reasonKey(k tea.KeyPressMsg) (bool, tea.Cmd) {
	switch name := k.String(); name {
	case "esc", "ctrl+c":
		p.reason = nil
	case "enter":
		text, _ := p.reason.Text()
		if text = strings.TrimSpace(text); text != "" {
			return true, p.reject(text)
		}
	default:
		p.reason.Type(name, k.Text)
	}
	return false, nil
}

// Paste implements Dialog.
func (p *Permission) Paste(text string) {
	if p.reason != nil {
		p.reason.Insert(text)
	}
}

// preview returns the whole command or diff, else the arguments, and after them the question and notes if those above are cut.
func (p *Permission) preview(k *draw.Theme, width int, cut bool) []string {
	var out []string
	switch {
	case p.asked.Diff != "":
		out = draw.WrapDiff(k.Text.Diff(p.asked.Diff), width)
	case p.asked.Body != "":
		out = draw.Wrap(strings.TrimRight(p.asked.Body, "\n"), width)
	}
	if cut {
		out = append(out, draw.Wrap(p.text(), width)...)
	}
	return out
}

// text returns the question with its notes.
func (p *Permission) text() string {
	return strings.Join(append([]string{p.asked.Question}, p.asked.Notes...), "\n")
}

// head draws the question and its notes, each in at most a third of the height. cut means that this is not all of them.
func (p *Permission) head(k *draw.Theme, width, height int) (lines []string, cut bool) {
	most := max(2, height/3)
	question := draw.Wrap(p.asked.Question, width-2)
	if cut = len(question) > most; cut {
		question = append(question[:most-1:most-1], "… (all of it below)")
	}
	var notes []string
	for _, note := range p.asked.Notes {
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

// offer leaves out the options that store a rule if not all of it can be shown.
func (p *Permission) offer(width, room int) {
	chosen := p.options[p.at].Key
	p.options = p.all
	if optionRows(p.all, width) > room {
		p.options = slices.DeleteFunc(slices.Clone(p.all), func(o Option) bool { return o.Key == keySession || o.Key == keyAlways })
	}
	p.at = max(0, slices.IndexFunc(p.options, func(o Option) bool { return o.Key == chosen }))
}

// View implements Dialog.
func (p *Permission) View(c Canvas) ([]string, *tea.Position) {
	k, width := c.Theme, c.Width
	out, cut := p.head(k, width, c.Height)
	tail, at := p.answers(c, c.Height-len(out)-3)
	preview := p.preview(k, width-4, cut)
	room := max(1, c.Height-len(out)-len(tail)-1)
	p.top = max(0, min(p.top, len(preview)-room))
	for i := p.top; i < min(len(preview), p.top+room); i++ {
		out = append(out, draw.Fit("   "+preview[i], width))
	}
	if len(preview) > room {
		out = append(out, " "+draw.Paint(k.Faint, fmt.Sprintf("lines %d-%d of %d · pgup pgdn · ctrl+f full screen", p.top+1, p.top+room, len(preview))))
	} else if c.Height > 13 {
		out = append(out, "")
	}
	if at != nil {
		at.Y += len(out)
	}
	return append(out, tail...), at
}

// answers draws the options in at most room lines, or the input for the reason.
func (p *Permission) answers(c Canvas, room int) ([]string, *tea.Position) {
	if p.reason != nil {
		return inputLines(c, "What should the model do instead?", p.reason, "enter send · esc back")
	}
	p.offer(c.Width, room)
	at := p.at
	if !c.Ready {
		at = -1 // the mark shows that keys answer
	}
	return optionLines(c.Theme, p.options, at, c.Width, room), nil
}

// FullScreen shows the whole question with its command or diff.
func (p *Permission) FullScreen() *Pager {
	return &Pager{Title: p.asked.Question, Head: p.text(), Diff: p.asked.Diff, Draw: func(k *draw.Theme, width int) []string {
		return draw.Indent("  ", p.preview(k, width-4, true))
	}}
}

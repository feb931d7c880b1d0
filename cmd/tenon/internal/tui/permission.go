package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/sdk"
)

// ask is a question of the host. It stays on the screen until it is answered, here or elsewhere.
type ask interface {
	dialog
	id() string
}

// askEvent queues questions and removes answered ones.
func (m *model) askEvent(e *sdk.Event) {
	switch p := e.Properties.(type) {
	case *sdk.PermissionRequest:
		if m.threads[p.SessionID] != nil {
			m.asks = append(m.asks, m.newPermission(p))
		}
	case *sdk.QuestionRequest:
		if m.threads[p.SessionID] != nil {
			m.asks = append(m.asks, newQuestions(p))
		}
	case *sdk.PermissionReplied:
		m.answered(p.RequestID)
	case *sdk.QuestionReplied:
		m.answered(p.RequestID)
	}
}

func (m *model) answered(id string) {
	for i, a := range m.asks {
		if a.id() == id {
			m.asks = append(m.asks[:i:i], m.asks[i+1:]...)
			return
		}
	}
}

// faced notes when a question comes to the top, and has the screen drawn again when keys answer it.
func (m *model) faced() tea.Cmd {
	id := ""
	if a, ok := m.top().(ask); ok {
		id = a.id()
	}
	if id == m.front {
		return nil
	}
	m.front = id
	return m.startle()
}

// startle ignores keys for a moment.
func (m *model) startle() tea.Cmd {
	m.frontAt = m.now()
	return tea.Tick(startled, func(time.Time) tea.Msg { return calmMsg{} })
}

// calm reports whether keys answer the question on the screen.
func (m *model) calm() bool { return m.now().Sub(m.frontAt) >= startled }

// askKey gives a key to the question on the screen. Keys that were meant for the prompt or another question do not answer it.
func (m *model) askKey(k tea.KeyPressMsg) tea.Cmd {
	if !m.calm() {
		return m.startle()
	}
	a := m.asks[0]
	switch k.String() {
	case "ctrl+x":
		m.leader = true
		return nil
	case "shift+tab":
		return m.nextMode()
	case "ctrl+o":
		m.thread().unfold(!m.thread().open)
		return nil
	}
	done, cmd := a.key(m, k)
	if done {
		m.answered(a.id())
	}
	return cmd
}

// permission asks whether a call may run.
type permission struct {
	request *sdk.PermissionRequest
	asked   view.Asked
	all     []option
	options []option // those of all that are on the screen
	at      int
	top     int  // of the preview
	cut     bool // question and notes are not all above the preview: it has them too
	reason  *edit.Editor
}

func (m *model) newPermission(r *sdk.PermissionRequest) *permission {
	p := &permission{request: r, asked: view.Asks(r, m.o.directory)}
	if t := m.threads[r.SessionID]; t.info.ParentID != "" {
		p.asked.Notes = append([]string{"requested in the subagent's session " + oneLine(t.info.Title)}, p.asked.Notes...)
	}
	p.all = append(p.all, option{key: "y", label: "Yes, once", run: p.reply(sdk.ReplyOnce)})
	if rule := oneLine(p.asked.Always); rule != "" {
		p.all = append(p.all,
			option{key: "s", label: "Yes, in this session: " + rule, run: p.inSession, stores: true},
			option{key: "a", label: "Always in this project: " + rule, run: p.reply(sdk.ReplyAlways), stores: true})
	}
	p.all = append(p.all, option{key: "n", label: "No", run: p.reply(sdk.ReplyReject)}, option{key: "m", label: "No, and say why", run: p.explain})
	p.options = p.all
	return p
}

func (p *permission) id() string { return p.request.ID }
func (p *permission) full() bool { return false }

func (p *permission) reply(r sdk.Reply) func(*model) tea.Cmd {
	return func(m *model) tea.Cmd {
		return m.do(func(context.Context) (tea.Msg, error) { return nil, m.host.ReplyPermission(p.request.ID, r, "") })
	}
}

func (p *permission) inSession(m *model) tea.Cmd {
	return m.do(func(context.Context) (tea.Msg, error) { return nil, m.host.AllowInSession(p.request.ID) })
}

// explain opens the input for the reason of a rejection.
func (p *permission) explain(*model) tea.Cmd {
	p.reason = &edit.Editor{}
	return nil
}

func (p *permission) key(m *model, k tea.KeyPressMsg) (bool, tea.Cmd) {
	name := k.String()
	if p.reason != nil {
		return p.reasonKey(m, k)
	}
	switch name {
	case "up", "left":
		p.at = (p.at + len(p.options) - 1) % len(p.options)
	case "down", "right", "tab":
		p.at = (p.at + 1) % len(p.options)
	case "enter":
		return p.pick(m, p.at)
	case "pgup":
		p.top = max(0, p.top-5)
	case "pgdown":
		p.top += 5
	case "ctrl+f":
		return false, m.open(p.fullScreen())
	case "ctrl+c", "esc":
		return true, p.reply(sdk.ReplyReject)(m)
	default:
		for i := range p.options {
			if p.options[i].key == name {
				return p.pick(m, i)
			}
		}
	}
	return false, nil
}

func (p *permission) pick(m *model, at int) (bool, tea.Cmd) {
	cmd := p.options[at].run(m)
	return p.reason == nil, cmd
}

func (p *permission) reasonKey(m *model, k tea.KeyPressMsg) (bool, tea.Cmd) {
	switch name := k.String(); name {
	case "esc", "ctrl+c":
		p.reason = nil
	case "enter":
		text, _ := p.reason.Text()
		if text = strings.TrimSpace(text); text == "" {
			return false, nil
		}
		return true, m.do(func(context.Context) (tea.Msg, error) {
			return nil, m.host.ReplyPermission(p.request.ID, sdk.ReplyReject, text)
		})
	default:
		if !p.reason.Key(name) {
			p.reason.Insert(k.Text)
		}
	}
	return false, nil
}

func (p *permission) paste(_ *model, text string) {
	if p.reason != nil {
		p.reason.Insert(text)
	}
}

// preview returns the whole command or diff, else the arguments, and after them what the screen has no room for.
func (p *permission) preview(m *model, width int) []string {
	var out []string
	switch {
	case p.asked.Diff != "":
		out = wrapDiff(m.look.theme.text.Diff(p.asked.Diff), width)
	case p.asked.Body != "":
		out = wrap(strings.TrimRight(p.asked.Body, "\n"), width)
	}
	if p.cut {
		out = append(out, wrap(p.text(), width)...)
	}
	return out
}

// text returns the question with its notes.
func (p *permission) text() string {
	return strings.Join(append([]string{p.asked.Question}, p.asked.Notes...), "\n")
}

// head draws the question and its notes, each in at most a third of the height.
func (p *permission) head(m *model, width, height int) []string {
	k, most := m.look.theme, max(2, height/3)
	question := wrap(p.asked.Question, width-2)
	if p.cut = len(question) > most; p.cut {
		question = append(question[:most-1:most-1], "… (all of it below)")
	}
	var notes []string
	for _, note := range p.asked.Notes {
		notes = append(notes, wrap(note, width-2)...)
	}
	if room := max(0, min(most, height-len(question)-4)); len(notes) > room {
		p.cut, notes = true, notes[:room]
	}
	for i, l := range question {
		question[i] = paint(k.warn, paint("1", l))
	}
	return indent(" ", append(question, paintAll(k.faint, notes)...))
}

// offer leaves out the options that store a rule if not all of it can be shown.
func (p *permission) offer(width, room int) {
	chosen := p.options[p.at].key
	p.options = p.all
	if optionRows(p.all, width) > room {
		p.options = slices.DeleteFunc(slices.Clone(p.all), func(o option) bool { return o.stores })
	}
	p.at = max(0, slices.IndexFunc(p.options, func(o option) bool { return o.key == chosen }))
}

func (p *permission) view(m *model, width, height int) ([]string, *tea.Position) {
	k := m.look.theme
	out := append([]string{m.rule(width)}, p.head(m, width, height)...)
	tail, at := p.answers(m, width, height-len(out)-3)
	preview := p.preview(m, width-4)
	room := max(1, height-len(out)-len(tail)-1)
	p.top = max(0, min(p.top, len(preview)-room))
	for i := p.top; i < min(len(preview), p.top+room); i++ {
		out = append(out, fit("   "+preview[i], width))
	}
	if len(preview) > room {
		out = append(out, " "+paint(k.faint, fmt.Sprintf("lines %d-%d of %d · pgup pgdn · ctrl+f full screen", p.top+1, p.top+room, len(preview))))
	} else if height > 14 {
		out = append(out, "")
	}
	if at != nil {
		at.Y += len(out)
	}
	return append(out, tail...), at
}

// answers draws the options, or the input for the reason.
func (p *permission) answers(m *model, width, room int) ([]string, *tea.Position) {
	if p.reason == nil {
		p.offer(width, room)
		at := p.at
		if !m.calm() {
			at = -1 // the mark shows that keys answer
		}
		return optionLines(m, p.options, at, width, room), nil
	}
	rows, row, column := p.reason.View(max(4, width-6), func(label string) string { return label })
	out := []string{" What should the model do instead?"}
	for _, r := range rows {
		out = append(out, "  "+paint(m.look.theme.accent, "›")+" "+r)
	}
	return append(out, " "+paint(m.look.theme.faint, "enter send · esc back")), &tea.Position{X: 4 + column, Y: 1 + row}
}

// fullScreen shows the whole question with its command or diff.
func (p *permission) fullScreen() dialog {
	whole := *p
	whole.cut = true
	return &pager{title: p.asked.Question, head: p.text(), diff: p.asked.Diff, draw: func(m *model, width int) []string { return indent("  ", whole.preview(m, width-4)) }}
}

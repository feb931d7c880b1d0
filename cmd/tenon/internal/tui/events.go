package tui

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/inspect"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/transcript"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/sdk"
)

// longTurn is the duration of a turn from which its end is announced even in a focused terminal. Questions are announced if no key was pressed
// for as long.
const longTurn = 30 * time.Second

// event handles an event of the host. Events of sessions outside this conversation have no effect.
func (m *model) event(e *sdk.Event) {
	switch p := e.Properties.(type) {
	case *sdk.SessionInfo:
		m.sessionEvent(e.Type, p)
	case *sdk.SessionStatusInfo:
		m.status(p)
	case *sdk.SessionErrorInfo:
		if p.Error != nil && p.Error.Name != sdk.ErrorAborted {
			m.threadOf(p.SessionID).Failed(p.Error)
		}
	case *sdk.MessageInfo:
		m.threadOf(p.SessionID).Message(p.Info)
	case *sdk.PartInfo:
		m.threadOf(p.SessionID).Part(p.Part)
	case *sdk.PartDelta:
		m.threadOf(p.SessionID).Delta(p)
	case *sdk.MessageRef:
		m.threadOf(p.SessionID).RemoveMessage(p.MessageID)
	case *sdk.Object:
		m.templateCall(*p)
	case *sdk.TodoInfo:
		m.threadOf(p.SessionID).Todos = p.Todos
	case *sdk.PluginNotice:
		m.notice(p)
	case *sdk.SessionRef:
		if e.Type == sdk.EventSessionCompacted {
			m.threadOf(p.SessionID).Notice(transcript.Faint, "the conversation was summarized; older messages stay visible here, but the model sees only the summary")
		}
	default:
		m.askEvent(e)
	}
}

// templateCall shows a shell command of the user, or of a command's template, while it runs: a prompt contains only its output.
func (m *model) templateCall(e sdk.Object) {
	text := func(key string) string {
		s, _ := e[key].(string)
		return s
	}
	if text("template") == "" {
		return
	}
	part := &sdk.ToolPart{PartHead: sdk.PartHead{ID: text("callID"), MessageID: text("messageID")}, Tool: text("tool")}
	part.State.Status, _ = e["status"].(sdk.ToolStatus)
	part.State.Input, _ = e["input"].(json.RawMessage)
	part.State.Metadata, _ = e["metadata"].(sdk.Object)
	if t := m.threadOf(text("sessionID")); part.State.Open() {
		t.Part(part)
	} else {
		t.RemoveMessage(part.MessageID)
	}
}

// sessionEvent tracks the sessions of the conversation: the root and its subagents.
func (m *model) sessionEvent(typ string, p *sdk.SessionInfo) {
	t := m.threads[p.Info.ID]
	switch {
	case t != nil:
		undone := (t.Info.Revert == nil) != (p.Info.Revert == nil) || t.Info.Revert != nil && *t.Info.Revert != *p.Info.Revert
		t.Info = p.Info
		if undone && typ == sdk.EventSessionUpdated && !t.Busy() { // a turn deletes undone messages, which are not on the screen
			m.load(p.Info.ID)
		}
	case p.Info.ParentID == "" || m.threads[p.Info.ParentID] == nil || typ == sdk.EventSessionDeleted:
	case typ == sdk.EventSessionCreated:
		m.threads[p.Info.ID] = transcript.New(&p.Info, &m.look)
	default: // a subagent from before the start is resumed
		m.loadChild(p.Info.ID, p.Info.ParentID)
	}
}

// status handles the beginning and the end of turns.
func (m *model) status(p *sdk.SessionStatusInfo) {
	t := m.threads[p.SessionID]
	if t == nil {
		return
	}
	was := t.Busy()
	t.Status = p.Status
	switch {
	case !was && t.Busy():
		if t.Info.ID == m.root {
			m.spent() // discards the usage of turns that ended while another session was shown
		}
		if t.Begin(m.now()); !m.ticking {
			m.tick()
		}
	case was && !t.Busy() && t.Info.ID == m.root:
		m.turnEnded(t)
	}
}

// turnEnded shows the figures of a turn, and announces the end of a long one.
func (m *model) turnEnded(t *transcript.Thread) {
	took := m.now().Sub(t.Begun)
	tokens, cost := m.spent()
	t.End(took, tokens, cost)
	m.loadBranch()
	m.loadFiles()
	if m.blurred || took >= longTurn {
		m.notify("is done after " + view.Duration(took.Round(time.Second)))
	}
}

// notify sends a desktop notification about the conversation through the terminal.
func (m *model) notify(text string) {
	m.start(tea.Raw(ansi.Notify("tenon: "+terminal.OneLine(m.main().Info.Title)+" "+text) + "\a"))
}

// loadChild reads the session of a subagent, unless events have delivered it from its start.
func (m *model) loadChild(session, parent string) {
	if m.threads[session] == nil {
		m.threads[session] = transcript.New(&sdk.Session{ID: session, ParentID: parent}, &m.look)
		m.load(session)
	}
}

// enter shows the session of the latest subagent.
func (m *model) enter() {
	list := m.thread().Children()
	if len(list) == 0 {
		m.say("this session has no subagents")
		return
	}
	m.showChild(list[len(list)-1], m.shown)
}

func (m *model) showChild(session, parent string) {
	m.loadChild(session, parent)
	m.shown = session
}

// leave shows the parent session.
func (m *model) leave() { m.shown = m.above().Info.ID }

// above returns the parent of a subagent's session, and the root for the root. In a copy of a session, subagents of the original belong to it.
func (m *model) above() *transcript.Thread {
	parent := m.threads[m.thread().Info.ParentID]
	if parent == nil || parent.Info.ParentID == "" {
		return m.main()
	}
	return parent
}

// sibling shows another subagent of the same session.
func (m *model) sibling(by int) {
	parent := m.above()
	list := parent.Children()
	if i := slices.Index(list, m.shown); i >= 0 {
		m.showChild(list[(i+by+len(list))%len(list)], parent.Info.ID)
	}
}

// title returns the title of the terminal window. It shows whether the conversation works or asks, for users of several windows.
func (m *model) title() string {
	title := "tenon"
	if session := terminal.OneLine(m.main().Info.Title); session != "" {
		title += " · " + view.Clip(session, 60)
	}
	switch {
	case len(m.asks) > 0:
		return "? " + title
	case m.main().Busy():
		return "● " + title
	}
	return title
}

// askEvent queues questions and removes answered ones.
func (m *model) askEvent(e *sdk.Event) {
	switch p := e.Properties.(type) {
	case *sdk.PermissionRequest:
		if m.threads[p.SessionID] != nil {
			m.ask(asked{m.permission(p), p.ID, p.SessionID})
		}
	case *sdk.QuestionRequest:
		if m.threads[p.SessionID] != nil {
			m.ask(asked{m.questions(p), p.ID, p.SessionID})
		}
	case *sdk.PermissionReplied:
		m.answered(p.RequestID)
	case *sdk.QuestionReplied:
		m.answered(p.RequestID)
	}
}

// ask queues a question, and notifies a user who is away of the first one.
func (m *model) ask(a asked) {
	if m.asks = append(m.asks, a); len(m.asks) == 1 && (m.blurred || m.now().Sub(m.pressed) >= longTurn) {
		m.notify("waits for your answer")
	}
}

// asker returns the title of the session that asks the visible question; empty for the current session and its subagents.
func (m *model) asker() string {
	if len(m.dialogs) > 0 || len(m.asks) == 0 {
		return ""
	}
	t := m.rootOf(m.asks[0].session)
	if t == nil || t.Info.ID == m.root {
		return ""
	}
	return terminal.OneLine(t.Info.Title)
}

// rootOf returns the session above all subagents, or nil if it is unknown.
func (m *model) rootOf(session string) *transcript.Thread {
	t := m.threads[session]
	for t != nil && t.Info.ParentID != "" {
		t = m.threads[t.Info.ParentID]
	}
	return t
}

// spent returns the tokens and cost of the conversation since its last call, with those of subagents.
func (m *model) spent() (tokens sdk.Tokens, cost sdk.USD) {
	for id, t := range m.threads {
		if m.rootOf(id) == m.main() {
			used, price := t.Spent()
			tokens, cost = tokens.Add(used), cost+price
		}
	}
	return tokens, cost
}

// usage returns the usage of the conversation since its beginning, with that of its subagents, and their number.
func (m *model) usage() (u inspect.Usage, subagents int) {
	u.Add(0, m.main().Info.Tokens, m.main().Info.Cost)
	add := func(s *sdk.Session) {
		u.Add(0, s.Tokens, s.Cost)
		subagents++
	}
	for id, t := range m.threads {
		if t != m.main() && m.rootOf(id) == m.main() {
			add(&t.Info)
		}
	}
	for i := range m.main().Subagents {
		if s := &m.main().Subagents[i]; m.threads[s.ID] == nil {
			add(s)
		}
	}
	return u, subagents
}

func (m *model) answered(id string) {
	m.asks = slices.DeleteFunc(m.asks, func(a asked) bool { return a.id == id })
}

// faced detects a new visible question, and schedules a redraw for the moment from which keys answer it.
func (m *model) faced() {
	front := m.top()
	if _, choice := front.(*dialog.Choice); len(m.dialogs) > 0 && !choice {
		if m.calm() {
			return // the user opened the view, and has already seen the question
		}
		front = nil
	}
	if front != m.front {
		m.front = front
		m.startle()
	}
}

// startle makes the visible question ignore keys for a moment.
func (m *model) startle() {
	m.frontAt = m.now()
	m.start(tea.Tick(startled, func(time.Time) tea.Msg { return redraw{} }))
}

// calm reports whether keys answer the visible question.
func (m *model) calm() bool { return m.now().Sub(m.frontAt) >= startled }

// fits reports whether a key (or a paste, as its text) is meant for the topmost dialog. Keys meant for the prompt or another question must not
// answer a question.
func (m *model) fits(k tea.KeyPressMsg) bool {
	q, choice := m.top().(*dialog.Choice)
	return (m.front == nil || m.calm()) && (!choice || q.Meant(k))
}

func (m *model) permission(r *sdk.PermissionRequest) dialog.Dialog {
	asked := view.Asks(r, m.o.directory)
	if t := m.threads[r.SessionID]; t.Info.ParentID != "" {
		asked.Notes = append([]string{"requested in the subagent's session " + terminal.OneLine(t.Info.Title)}, asked.Notes...)
	}
	reply := func(answer sdk.Reply, message string) {
		m.do(func(context.Context) (then, error) { return nil, m.host.ReplyPermission(r.ID, answer, message) })
	}
	allowInSession := func() {
		m.do(func(context.Context) (then, error) { return nil, m.host.AllowInSession(r.ID) })
	}
	return dialog.NewPermission(asked, reply, allowInSession, m.open)
}

// questions shows questions of the model, or the form of an MCP server.
func (m *model) questions(r *sdk.QuestionRequest) dialog.Dialog {
	send := func(answers [][]string) {
		m.do(func(context.Context) (then, error) { return nil, m.host.ReplyQuestion(r.ID, answers) })
	}
	if form := r.Questions[0].Form; form != nil && form.URL != "" && len(r.Questions) == 1 {
		return dialog.NewLink(r, send, func() { m.browse(form.URL) }, m.open)
	}
	return dialog.NewQuestions(r, send)
}

// browse opens an address in the user's browser.
func (m *model) browse(address string) {
	m.do(func(context.Context) (then, error) {
		opened, err := m.o.browse(address)
		if err == nil && !opened {
			return m.note("no browser on this machine; open the address on another one: " + terminal.OneLine(address)), nil
		}
		return nil, err
	})
}

// conflictQuestion asks whether undo may overwrite changes of others.
func (m *model) conflictQuestion(err error, force func()) dialog.Dialog {
	keep := func() {}
	return dialog.NewChoice(view.Asked{
		Question: "Overwrite changes that are not from this session?", Body: terminal.OneLine(err.Error()),
	}, []dialog.Option{
		{Key: "n", Label: "No, keep them", Run: keep},
		{Key: "y", Label: "Yes, overwrite them", Run: force},
	}, keep, m.open)
}

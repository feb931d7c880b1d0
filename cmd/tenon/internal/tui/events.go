package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/frontend"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/sdk"
)

// longTurn is the time from which the end of a turn is announced although the terminal has the focus.
const longTurn = 30 * time.Second

// event takes an event of the host. Events of sessions that are not the user's are dropped.
func (m *model) event(e *sdk.Event) tea.Cmd {
	switch p := e.Properties.(type) {
	case *sdk.SessionInfo:
		return m.sessionEvent(e.Type, p)
	case *sdk.SessionStatusInfo:
		return m.status(p)
	case *sdk.SessionErrorInfo:
		if t := m.threads[p.SessionID]; t != nil && p.Error != nil && p.Error.Name != sdk.ErrorAborted {
			t.notice(m, failLook, problemText(p.Error))
		}
	case *sdk.MessageInfo:
		if t := m.threads[p.SessionID]; t != nil {
			t.message(p.Info)
			if p.Info.Role() == sdk.RoleUser {
				return m.loadWaiting()
			}
		}
	case *sdk.PartInfo:
		if t := m.threads[p.SessionID]; t != nil {
			t.part(m, p.Part)
			m.parentChanged(t)
		}
	case *sdk.PartDelta:
		if t := m.threads[p.SessionID]; t != nil {
			t.delta(p)
		}
	case *sdk.MessageRef:
		if t := m.threads[p.SessionID]; t != nil {
			t.remove(func(i *item) bool { return i.message == p.MessageID })
		}
	case *sdk.PartRef:
		if t := m.threads[p.SessionID]; t != nil {
			t.remove(func(i *item) bool { return i.id == p.PartID })
		}
	case *sdk.TodoInfo:
		if t := m.threads[p.SessionID]; t != nil {
			t.todos = p.Todos
		}
	case *sdk.PluginNotice:
		m.main().notice(m, warnLook, noticeText(p))
	case *sdk.SessionRef:
		if t := m.threads[p.SessionID]; t != nil && e.Type == sdk.EventSessionCompacted {
			t.notice(m, faintLook, "the conversation was summarized; older messages stay here, the model sees the summary")
		}
	default:
		m.askEvent(e)
	}
	return nil
}

func noticeText(p *sdk.PluginNotice) string {
	text := oneLine(p.Message)
	if p.Plugin == "" {
		return text
	}
	head := "plugin " + oneLine(p.Plugin)
	if p.Hook != "" {
		head += ", " + oneLine(p.Hook)
	}
	if p.Quarantined {
		text += "; it is quarantined"
	}
	return head + ": " + text
}

// sessionEvent keeps the sessions of the conversation: the root's and those of its subagents.
func (m *model) sessionEvent(typ string, p *sdk.SessionInfo) tea.Cmd {
	t := m.threads[p.Info.ID]
	switch {
	case t != nil:
		undone := (t.info.Revert == nil) != (p.Info.Revert == nil) || t.info.Revert != nil && *t.info.Revert != *p.Info.Revert
		t.info = p.Info
		if undone && typ == sdk.EventSessionUpdated {
			return m.load(p.Info.ID)
		}
	case typ == sdk.EventSessionCreated && p.Info.ParentID != "" && m.threads[p.Info.ParentID] != nil:
		m.threads[p.Info.ID] = newThread(&p.Info)
	}
	return nil
}

// status follows the turns.
func (m *model) status(p *sdk.SessionStatusInfo) tea.Cmd {
	t := m.threads[p.SessionID]
	if t == nil {
		return nil
	}
	was := t.busy()
	t.status = p.Status
	switch {
	case !was && t.busy():
		t.begun, t.spent, t.cost = m.now(), sdk.Tokens{}, 0
		return m.nextTick()
	case was && !t.busy():
		return m.turnEnded(t)
	}
	return nil
}

// turnEnded shows the figures of a turn, and announces the end of a long one.
func (m *model) turnEnded(t *thread) tea.Cmd {
	took := m.now().Sub(t.begun)
	if t.info.ID != m.root {
		return nil
	}
	if t.spent.Sum() > 0 && t.last != nil {
		t.add("", turnItem(&m.look, oneLine(t.last.Agent), oneLine(t.last.ModelID), took, t.spent, t.cost))
	}
	cmds := []tea.Cmd{m.loadWaiting(), m.loadBranch(), m.loadFiles()}
	if m.blurred || took >= longTurn {
		title := "tenon: " + oneLine(t.info.Title)
		cmds = append(cmds, tea.Raw(ansi.Notify(title+" is done after "+view.Duration(took.Round(time.Second)))+"\a"))
	}
	return tea.Batch(cmds...)
}

// filled shows a session that was loaded.
func (m *model) filled(h *frontend.History) tea.Cmd {
	t := m.threads[h.Session.ID]
	if t == nil {
		t = newThread(h.Session)
		m.threads[h.Session.ID] = t
	}
	t.fill(m, h)
	if m.marked >= 0 {
		m.marked = -1
	}
	return nil
}

// parentChanged redraws the card of the task that runs a subagent.
func (m *model) parentChanged(t *thread) {
	parent := m.threads[t.info.ParentID]
	if t.info.ParentID == "" || parent == nil {
		return
	}
	for _, i := range parent.list.Items {
		if tool, ok := i.(*toolItem); ok && tool.part.State.Metadata["sessionId"] == t.info.ID {
			tool.change()
		}
	}
}

// childText describes what a subagent's session does.
func (m *model) childText(session string) string {
	t := m.threads[session]
	if t == nil {
		return ""
	}
	calls, last := 0, ""
	for _, i := range t.list.Items {
		if tool, ok := i.(*toolItem); ok {
			calls++
			last = oneLine(tool.part.Tool) + " " + view.Subject(&tool.part.State, m.look.directory)
		}
	}
	if calls == 0 {
		return "working"
	}
	return fmt.Sprintf("%s · %s", view.Plural(calls, "tool call"), last)
}

// problemText returns an error of a turn.
func problemText(e *sdk.NamedError) string {
	text := oneLine(e.Error())
	if text == "" {
		text = e.Name
	}
	return "error: " + text
}

// children returns the sessions of the subagents of a session, in the order of their IDs, which is that of their creation.
func (m *model) children(parent string) []string {
	var out []string
	for id, t := range m.threads {
		if id != "" && t.info.ParentID == parent {
			out = append(out, id)
		}
	}
	sortByCreation(out, m.threads)
	return out
}

// enter shows a subagent's session: the latest below the shown one.
func (m *model) enter() {
	list := m.children(m.shown)
	if len(list) == 0 || m.shown == "" {
		m.say("this session has no subagents")
		return
	}
	m.show(list[len(list)-1])
}

// leave shows the session above.
func (m *model) leave() {
	if parent := m.thread().info.ParentID; parent != "" && m.threads[parent] != nil {
		m.show(parent)
	}
}

// sibling shows another subagent of the same session.
func (m *model) sibling(by int) {
	parent := m.thread().info.ParentID
	if parent == "" {
		return
	}
	list := m.children(parent)
	for i, id := range list {
		if id == m.shown {
			m.show(list[(i+by+len(list))%len(list)])
			return
		}
	}
}

func (m *model) show(session string) {
	m.thread().setMark(m.marked, false)
	m.shown, m.marked = session, -1
}

// title is the title of the terminal's window.
func (m *model) title() string {
	title := strings.TrimSpace(oneLine(m.main().info.Title))
	if title == "" {
		return "tenon"
	}
	return "tenon · " + view.Clip(title, 60)
}

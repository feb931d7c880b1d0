package tui

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/sdk"
)

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
	t := m.threads[m.asks[0].session]
	for t != nil && t.Info.ParentID != "" {
		t = m.threads[t.Info.ParentID]
	}
	if t == nil || t.Info.ID == m.root {
		return ""
	}
	return terminal.OneLine(t.Info.Title)
}

func (m *model) answered(id string) {
	m.asks = slices.DeleteFunc(m.asks, func(a asked) bool { return a.id == id })
}

// faced notices a new visible question, and schedules a redraw for when keys begin to answer it.
func (m *model) faced() {
	front := m.top()
	if _, choice := front.(*dialog.Choice); len(m.dialogs) > 0 && !choice {
		front = nil // the user opened it
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
	send := func(d dialog.Decision) {
		m.do(func(context.Context) (then, error) {
			if d.Session {
				return nil, m.host.AllowInSession(r.ID)
			}
			return nil, m.host.ReplyPermission(r.ID, d.Reply, d.Message)
		})
	}
	return dialog.NewPermission(asked, send, m.open)
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

// conflictQuestion asks whether undo may overwrite files that changed since.
func (m *model) conflictQuestion(err error, force func()) dialog.Dialog {
	keep := func() {}
	return dialog.NewChoice(view.Asked{
		Question: "Overwrite files that changed after the session wrote them?", Body: terminal.OneLine(err.Error()),
	}, []dialog.Option{
		{Key: "n", Label: "No, keep them", Run: keep},
		{Key: "y", Label: "Yes, overwrite them", Run: force},
	}, keep, m.open)
}

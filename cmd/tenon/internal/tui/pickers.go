package tui

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/settings"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
)

// palette lists all commands with their keys.
func (m *model) palette() dialog.Dialog {
	toComplete := func(c *command) bool { return c == nil || c.run == nil || c.args == "title" }
	p := &dialog.Picker{Title: "Commands", Choose: func(r dialog.Row) tea.Cmd {
		if c := find(commands(), r.ID); !toComplete(c) {
			return m.execute(c, "")
		}
		return m.replace(&host.PromptInput{Command: r.ID})
	}}
	for _, c := range m.commandList() {
		note := keysOf(&c)
		if toComplete(&c) {
			note = "…"
		}
		p.Rows = append(p.Rows, dialog.Row{ID: c.name, Label: c.name + " · " + c.short, Note: note})
	}
	return p
}

// keysOf returns the keys of a command.
func keysOf(c *command) string {
	var out []string
	if c.keys != "" {
		out = append(out, c.keys)
	}
	if c.leader != "" {
		out = append(out, "ctrl+x "+c.leader)
	}
	return strings.Join(out, ", ")
}

// chooseModel opens the picker of models, which searches for the argument, or chooses the one that is named with its provider.
func (m *model) chooseModel(args string) tea.Cmd {
	if strings.Contains(args, "/") {
		m.modelName, m.effort = args, ""
		m.say("the next prompt uses " + args)
		return nil
	}
	p := &dialog.Picker{Title: "Model", Empty: "no usable provider; tenon models --all lists the keys to set", Choose: func(r dialog.Row) tea.Cmd {
		m.modelName, m.effort = r.ID, ""
		return nil
	}}
	p.Paste(args)
	m.listModels(p)
	return tea.Batch(m.open(p), m.do(func(ctx context.Context) (then, error) { // configured servers may list more models
		list, err := m.host.ListModels(ctx, host.ModelListOptions{Configured: true})
		return set(func() {
			m.inventory.models = list
			m.listModels(p)
			if err != nil && ctx.Err() == nil {
				m.problem("not listed by the server: " + m.o.clean(err.Error()))
			}
		}), nil
	}))
}

// listModels fills a picker with the models.
func (m *model) listModels(p *dialog.Picker) {
	current, _ := m.modelOf()
	var rows []dialog.Row
	for i := range m.inventory.models {
		info := &m.inventory.models[i].Model
		name := info.Ref().String()
		note := "from the server"
		if !m.inventory.models[i].Served {
			note = view.Limit(info.Limit.Context) + " context"
		}
		rows = append(rows, dialog.Row{ID: name, Label: name, Note: note, Current: name == current})
	}
	p.Fill(rows)
}

func (m *model) agentPicker() dialog.Dialog {
	p := &dialog.Picker{Title: "Agent", Choose: func(r dialog.Row) tea.Cmd {
		m.agent, m.mode = r.ID, modeAsk
		return m.acceptEdits()
	}}
	for _, a := range m.primaries() {
		p.Rows = append(p.Rows, dialog.Row{ID: a.Name, Label: a.Name, Note: view.Clip(terminal.OneLine(a.Description), 60), Current: a.Name == m.agentName()})
	}
	return p
}

// efforts returns the reasoning efforts of the model.
func (m *model) efforts() []string {
	current, _ := m.modelOf()
	order := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	return slices.SortedFunc(maps.Keys(m.modelNamed(current).Variants), func(a, b string) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a), slices.Index(order, b)), strings.Compare(a, b))
	})
}

func (m *model) effortPicker() dialog.Dialog {
	_, current := m.modelOf()
	p := &dialog.Picker{Title: "Reasoning effort", Empty: "this model has only one reasoning effort", Choose: func(r dialog.Row) tea.Cmd {
		m.effort = r.ID
		return nil
	}}
	for _, name := range m.efforts() {
		p.Rows = append(p.Rows, dialog.Row{ID: name, Label: name, Current: name == current})
	}
	return p
}

func (m *model) themePicker() dialog.Dialog {
	p := &dialog.Picker{Title: "Theme", Choose: func(r dialog.Row) tea.Cmd {
		save := m.keep(func(s *settings.Settings) { s.Theme = r.ID })
		m.setTheme()
		return save
	}}
	for _, t := range draw.Themes(m.dark) {
		p.Rows = append(p.Rows, dialog.Row{ID: t.Name, Label: t.Name, Current: t.Name == m.look.Theme.Name})
	}
	return p
}

// keep applies a change of the settings and stores it.
func (m *model) keep(change func(*settings.Settings)) tea.Cmd {
	change(&m.settings)
	return m.do(func(ctx context.Context) (then, error) { return nil, settings.Change(ctx, m.o.settingsFile, change) })
}

// openSessions lists the sessions of the project.
func (m *model) openSessions() tea.Cmd {
	return m.do(func(ctx context.Context) (then, error) {
		all, err := m.host.Sessions(ctx)
		return func() tea.Cmd { return m.open(m.sessionPicker(all)) }, err
	})
}

func (m *model) sessionPicker(all []store.Listed) dialog.Dialog {
	p := &dialog.Picker{
		Title: "Sessions", Empty: "no sessions here yet", Hint: "ctrl+r rename · ctrl+d delete · ctrl+f fork · ctrl+t pin",
		Choose: func(r dialog.Row) tea.Cmd { return m.switchTo(r.ID) },
	}
	for i := range all {
		s := &all[i]
		p.Rows = append(p.Rows, dialog.Row{ID: s.ID, Label: cmp.Or(s.Title, s.ID), Note: view.Ago(s.Updated, m.now()), Current: s.ID == m.root})
	}
	p.Rows = m.pinnedFirst(p.Rows)
	p.Keys = map[string]func(dialog.Row) (bool, tea.Cmd){
		"ctrl+r": func(r dialog.Row) (bool, tea.Cmd) {
			ask := &dialog.Line{Title: "Rename the session", Done: func(title string) tea.Cmd {
				return m.do(func(ctx context.Context) (then, error) {
					return set(func() { p.Relabel(r.ID, title) }), m.host.SetTitle(ctx, r.ID, title)
				})
			}}
			ask.Input.Set(r.Label)
			return false, m.open(ask)
		},
		"ctrl+d": func(r dialog.Row) (bool, tea.Cmd) {
			if !p.Confirm(r) {
				return false, nil
			}
			return false, m.do(func(ctx context.Context) (then, error) {
				return func() tea.Cmd { return m.deleted(p, r.ID) }, m.host.DeleteSession(ctx, r.ID)
			})
		},
		"ctrl+t": func(r dialog.Row) (bool, tea.Cmd) {
			keep := m.pin(r.ID, !slices.Contains(m.settings.Pinned, r.ID))
			p.Fill(m.pinnedFirst(p.Rows))
			return false, keep
		},
		"ctrl+f": func(r dialog.Row) (bool, tea.Cmd) {
			return true, m.forkOf(r.ID, "")
		},
	}
	return p
}

// pinnedNote begins the notes of pinned sessions.
const pinnedNote = "pinned · "

// pinnedFirst marks the pinned sessions and moves them to the top.
func (m *model) pinnedFirst(rows []dialog.Row) []dialog.Row {
	var first, rest []dialog.Row
	for _, r := range rows {
		r.Note = strings.TrimPrefix(r.Note, pinnedNote)
		if slices.Contains(m.settings.Pinned, r.ID) {
			r.Note = pinnedNote + r.Note
			first = append(first, r)
		} else {
			rest = append(rest, r)
		}
	}
	return append(first, rest...)
}

// pin pins a session, or removes the pin.
func (m *model) pin(session string, on bool) tea.Cmd {
	return m.keep(func(s *settings.Settings) {
		s.Pinned = slices.DeleteFunc(slices.Clone(s.Pinned), func(id string) bool { return id == session })
		if on {
			s.Pinned = append(s.Pinned, session)
		}
	})
}

// deleted removes a deleted session from the screen.
func (m *model) deleted(p *dialog.Picker, session string) tea.Cmd {
	p.Remove(session)
	var forget tea.Cmd
	if slices.Contains(m.settings.Pinned, session) {
		forget = m.pin(session, false)
	}
	if session == m.root {
		forget = tea.Batch(forget, m.switchTo(""))
	}
	delete(m.threads, session)
	return forget
}

// openTimeline lists the prompts of the session.
func (m *model) openTimeline() tea.Cmd {
	p := &dialog.Picker{
		Title: "Timeline", Empty: "no prompts yet", Hint: "ctrl+u undo from here on · ctrl+f fork before it",
		Choose: func(r dialog.Row) tea.Cmd {
			m.main().Show(r.ID)
			return nil
		},
		Keys: map[string]func(dialog.Row) (bool, tea.Cmd){
			"ctrl+u": func(r dialog.Row) (bool, tea.Cmd) { return true, m.revert(host.RevertOptions{MessageID: r.ID}) },
			"ctrl+f": func(r dialog.Row) (bool, tea.Cmd) { return true, m.forkOf(m.root, r.ID) },
		},
	}
	prompts := m.main().Prompts()
	for i := range prompts {
		p.Rows = append(p.Rows, dialog.Row{ID: prompts[i].ID, Label: view.Clip(terminal.OneLine(prompts[i].Text), 200), Current: i == len(prompts)-1})
	}
	return m.open(p)
}

// openQueue lists the waiting prompts.
func (m *model) openQueue() tea.Cmd {
	waiting := m.waiting()
	p := &dialog.Picker{
		Title: "Waiting prompts", Empty: "no prompts are waiting", Hint: "ctrl+d remove",
		Choose: func(r dialog.Row) tea.Cmd {
			i := slices.IndexFunc(waiting, func(w host.Waiting) bool { return w.ID == r.ID })
			return m.editWaiting(waiting[i])
		},
	}
	for _, w := range waiting {
		p.Rows = append(p.Rows, dialog.Row{ID: w.ID, Label: view.Clip(terminal.OneLine(waitingText(&w)), 200)})
	}
	p.Keys = map[string]func(dialog.Row) (bool, tea.Cmd){
		"ctrl+d": func(r dialog.Row) (bool, tea.Cmd) {
			session := m.root
			return false, m.do(func(context.Context) (then, error) {
				return set(func() { p.Remove(r.ID) }), m.host.Withdraw(session, r.ID)
			})
		},
	}
	return m.open(p)
}

func waitingText(w *host.Waiting) string {
	switch {
	case w.Input.Shell:
		return "!" + w.Input.Text
	case w.Input.Command != "":
		return fmt.Sprintf("/%s %s", w.Input.Command, w.Input.Text)
	}
	return w.Input.Text
}

// historyPicker searches earlier prompts.
func (m *model) historyPicker() dialog.Dialog {
	p := &dialog.Picker{Title: "Earlier prompts", Empty: "no prompts yet", Choose: func(r dialog.Row) tea.Cmd {
		return m.replace(&host.PromptInput{Text: r.ID})
	}}
	entries := m.history.File.Entries()
	for i := len(entries) - 1; i >= 0; i-- {
		p.Rows = append(p.Rows, dialog.Row{ID: entries[i], Label: entries[i]})
	}
	return p
}

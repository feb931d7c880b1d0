package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/list"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// palette lists all commands with their keys.
func (m *model) palette() dialog {
	p := &picker{title: "Commands", choose: func(m *model, r pickRow) tea.Cmd {
		if strings.HasSuffix(r.note, "…") { // it needs an argument
			m.input.Set("/" + r.id + " ")
			return nil
		}
		cmd, _ := m.runCommand(r.id, "")
		return cmd
	}}
	for _, c := range commands() {
		note := keysOf(&c)
		if c.args == "title" {
			note = "…"
		}
		p.rows = append(p.rows, pickRow{id: c.name, label: c.name + " · " + c.short, note: note})
	}
	for i := range m.inventory.commands {
		c := &m.inventory.commands[i]
		p.rows = append(p.rows, pickRow{id: c.Name, label: oneLine(c.Name + " · " + c.Description), note: "…"})
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

// chooseModel opens the picker of models, or chooses the one that is named.
func (m *model) chooseModel(args string) tea.Cmd {
	if args != "" {
		m.modelName, m.effort = args, ""
		m.say("the next prompt uses " + oneLine(args))
		return nil
	}
	current, _ := m.modelOf()
	p := &picker{title: "Model", empty: "no provider can be used; tenon models --all lists what is missing", choose: func(m *model, r pickRow) tea.Cmd {
		m.modelName, m.effort = r.id, ""
		return nil
	}}
	for i := range m.inventory.models {
		info := &m.inventory.models[i].Model
		name := info.Ref().String()
		note := view.Limit(info.Limit.Context) + " context"
		p.rows = append(p.rows, pickRow{id: name, label: oneLine(name), note: note, current: name == current})
	}
	return tea.Batch(m.loadInventory(), m.open(p))
}

// chooseAgent opens the picker of agents, or chooses the one that is named.
func (m *model) chooseAgent(args string) tea.Cmd {
	choose := func(m *model, r pickRow) tea.Cmd {
		m.agent, m.mode = r.id, modeAsk
		return m.acceptEdits()
	}
	p := &picker{title: "Agent", choose: choose}
	for _, a := range m.primaries() {
		p.rows = append(p.rows, pickRow{id: a.Name, label: oneLine(a.Name), note: view.Clip(oneLine(a.Description), 60), current: a.Name == m.agentName()})
		if a.Name == args {
			return choose(m, pickRow{id: args})
		}
	}
	if args != "" {
		m.problem("agent " + oneLine(args) + " not found; /agent lists them")
		return nil
	}
	return m.open(p)
}

// efforts returns the reasoning efforts of the model.
func (m *model) efforts() []string {
	current, _ := m.modelOf()
	order := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	var out []string
	for i := range m.inventory.models {
		if info := &m.inventory.models[i].Model; info.Ref().String() == current {
			for name := range info.Variants {
				out = append(out, name)
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a), slices.Index(order, b)), strings.Compare(a, b))
	})
	return out
}

func (m *model) effortPicker() dialog {
	_, current := m.modelOf()
	p := &picker{title: "Reasoning effort", empty: "this model has one effort only", choose: func(m *model, r pickRow) tea.Cmd {
		m.modelName, _ = m.modelOf()
		m.effort = r.id
		return nil
	}}
	for _, name := range m.efforts() {
		p.rows = append(p.rows, pickRow{id: name, label: oneLine(name), current: name == current})
	}
	return p
}

func (m *model) chooseEffort(args string) tea.Cmd {
	if args == "" {
		return m.open(m.effortPicker())
	}
	if !slices.Contains(m.efforts(), args) {
		m.problem("this model has no effort " + oneLine(args) + "; ctrl+t lists them")
		return nil
	}
	m.modelName, _ = m.modelOf()
	m.effort = args
	return nil
}

// chooseTheme opens the picker of themes, or chooses the one that is named.
func (m *model) chooseTheme(args string) tea.Cmd {
	p := &picker{title: "Theme", choose: func(m *model, r pickRow) tea.Cmd {
		m.setTheme(r.id)
		return m.keepSettings()
	}}
	for _, t := range themes(m.dark) {
		p.rows = append(p.rows, pickRow{id: t.name, label: t.name, current: t.name == m.look.theme.name})
		if t.name == args {
			return p.choose(m, pickRow{id: args})
		}
	}
	if args != "" {
		m.problem("theme " + oneLine(args) + " not found; /theme lists them")
		return nil
	}
	return m.open(p)
}

// keepSettings stores what the user chose on the screen.
func (m *model) keepSettings() tea.Cmd {
	chosen := settings{Theme: m.look.theme.name, NoMouse: !m.mouse}
	return m.do(func(context.Context) (tea.Msg, error) { return nil, m.o.keep(chosen) })
}

// openSessions lists the sessions of the project.
func (m *model) openSessions() tea.Cmd {
	return m.do(func(ctx context.Context) (tea.Msg, error) {
		all, err := m.host.Sessions(ctx)
		if err != nil {
			return nil, err
		}
		return sessionsMsg(all), nil
	})
}

// sessionsMsg lists the sessions of the project.
type sessionsMsg []store.Listed

func (m *model) sessionPicker(all []store.Listed) dialog {
	p := &picker{
		title: "Sessions", empty: "no sessions here yet", hint: "ctrl+r rename · ctrl+d delete · ctrl+f fork",
		choose: func(m *model, r pickRow) tea.Cmd { return m.switchTo(r.id) },
	}
	for i := range all {
		s := &all[i]
		p.rows = append(p.rows, pickRow{id: s.ID, label: oneLine(cmp.Or(s.Title, s.ID)), note: view.Ago(s.Updated, m.now()), current: s.ID == m.root})
	}
	p.keys = map[string]func(*model, *picker, pickRow) (bool, tea.Cmd){
		"ctrl+r": func(m *model, p *picker, r pickRow) (bool, tea.Cmd) {
			ask := &line{title: "Rename the session", done: func(m *model, title string) tea.Cmd {
				return m.do(func(ctx context.Context) (tea.Msg, error) {
					return renamedMsg{p, r.id, title}, m.host.SetTitle(ctx, r.id, title)
				})
			}}
			ask.input.Set(r.label)
			return false, m.open(ask)
		},
		"ctrl+d": func(m *model, p *picker, r pickRow) (bool, tea.Cmd) {
			if p.armed != r.id {
				p.armed = r.id
				return false, nil
			}
			p.armed = ""
			return false, m.do(func(ctx context.Context) (tea.Msg, error) {
				return deletedMsg{p, r.id}, m.host.DeleteSession(ctx, r.id)
			})
		},
		"ctrl+f": func(m *model, _ *picker, r pickRow) (bool, tea.Cmd) {
			return true, m.do(func(ctx context.Context) (tea.Msg, error) {
				s, err := m.host.Fork(ctx, r.id, "")
				if err != nil {
					return nil, err
				}
				return forkedMsg{s.ID}, nil
			})
		},
	}
	return p
}

// Changes that a picker of sessions shows.
type (
	renamedMsg struct {
		picker      *picker
		id, newName string
	}
	deletedMsg struct {
		picker *picker
		id     string
	}
)

func (m *model) sessionChanged(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case sessionsMsg:
		return m.open(m.sessionPicker(msg))
	case renamedMsg:
		for i := range msg.picker.rows {
			if msg.picker.rows[i].id == msg.id {
				msg.picker.rows[i].label = oneLine(msg.newName)
			}
		}
	case deletedMsg:
		at := msg.picker.at
		msg.picker.rows = slices.DeleteFunc(msg.picker.rows, func(r pickRow) bool { return r.id == msg.id })
		msg.picker.ready = false
		msg.picker.at = min(at, max(0, len(msg.picker.search())-1))
		delete(m.threads, msg.id)
		if msg.id == m.root {
			return m.switchTo("")
		}
	}
	return nil
}

// openTimeline lists the prompts of the session.
func (m *model) openTimeline() tea.Cmd {
	if !m.needSession() {
		return nil
	}
	p := &picker{
		title: "Timeline", empty: "no prompts yet", hint: "ctrl+u undo from here on · ctrl+f fork before it",
		choose: func(m *model, r pickRow) tea.Cmd {
			t := m.main()
			for i, item := range t.list.Items {
				if base := baseOf(item); base != nil && base.id == r.id {
					t.list.Show(i)
				}
			}
			return nil
		},
		keys: map[string]func(*model, *picker, pickRow) (bool, tea.Cmd){
			"ctrl+u": func(m *model, _ *picker, r pickRow) (bool, tea.Cmd) { return true, m.undo(r.id, false) },
			"ctrl+f": func(m *model, _ *picker, r pickRow) (bool, tea.Cmd) { return true, m.fork(r.id) },
		},
	}
	p.rows = m.prompts()
	for i := range p.rows {
		p.rows[i].label = view.Clip(oneLine(p.rows[i].label), 200)
	}
	if n := len(p.rows); n > 0 {
		p.rows[n-1].current = true
	}
	return m.open(p)
}

// prompts returns the prompts of the session, each with its text as the label.
func (m *model) prompts() []pickRow {
	var out []pickRow
	t := m.main()
	for _, item := range t.list.Items {
		if base := baseOf(item); base != nil && t.roles[base.id] == sdk.RoleUser {
			out = append(out, pickRow{id: base.id, label: promptOf(item)})
		}
	}
	return out
}

// promptOf returns the text that the user typed.
func promptOf(i list.Item) string {
	switch i := i.(type) {
	case *userParts:
		return view.TypedText(i.parts)
	case *item:
		return i.source
	}
	return ""
}

// openQueue lists the prompts that wait.
func (m *model) openQueue() tea.Cmd {
	find := func(m *model, id string) (host.Waiting, bool) {
		for _, w := range m.waiting {
			if w.ID == id && id != "" {
				return w, true
			}
		}
		return host.Waiting{}, false
	}
	p := &picker{
		title: "Prompts that wait", empty: "no prompt waits", hint: "ctrl+d remove",
		choose: func(m *model, r pickRow) tea.Cmd {
			if w, ok := find(m, r.id); ok {
				return m.editWaiting(w)
			}
			return nil
		},
	}
	for _, w := range m.waiting {
		p.rows = append(p.rows, pickRow{id: w.ID, label: view.Clip(oneLine(waitingText(&w)), 200)})
	}
	p.keys = map[string]func(*model, *picker, pickRow) (bool, tea.Cmd){
		"ctrl+d": func(m *model, p *picker, r pickRow) (bool, tea.Cmd) {
			session := m.root
			p.rows = slices.DeleteFunc(p.rows, func(o pickRow) bool { return o.id == r.id })
			p.ready = false
			return false, tea.Sequence(m.do(func(context.Context) (tea.Msg, error) {
				return nil, m.host.Withdraw(session, r.id)
			}), m.loadWaiting())
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
func (m *model) historyPicker() dialog {
	p := &picker{title: "Earlier prompts", empty: "no prompts yet", choose: func(m *model, r pickRow) tea.Cmd {
		m.input.Set(r.id)
		return nil
	}}
	entries := m.history.past.Entries()
	for i := len(entries) - 1; i >= 0; i-- {
		p.rows = append(p.rows, pickRow{id: entries[i], label: view.Clip(oneLine(entries[i]), 300)})
	}
	return p
}

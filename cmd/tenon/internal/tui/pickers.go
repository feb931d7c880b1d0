package tui

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/settings"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/transcript"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// palette lists all commands with their keys.
func (m *model) palette() dialog.Dialog {
	toComplete := func(c *command) bool { return c == nil || c.run == nil || c.args == "title" }
	return &dialog.Picker{
		Title: "Commands",
		Choose: func(r dialog.Row) {
			if c := find(commands(), r.ID); toComplete(c) {
				m.replace(&host.PromptInput{Command: r.ID})
			} else {
				m.execute(c, "")
			}
		},
		Rows: cli.Mapped(m.commandList(), func(c *command) dialog.Row {
			note := keysOf(c)
			if toComplete(c) {
				note = "…"
			}
			return dialog.Row{ID: c.name, Label: c.name + " · " + c.short, Note: note}
		}),
	}
}

// keysOf returns the keys of a command.
func keysOf(c *command) string {
	keys := c.keys
	if c.leader != "" {
		keys += ", ctrl+x " + c.leader
	}
	return strings.TrimPrefix(keys, ", ")
}

// chooseModel opens the picker of models, which searches for the argument, or chooses the one that is named with its provider.
func (m *model) chooseModel(args string) {
	if strings.Contains(args, "/") {
		m.useModel(args)
		return
	}
	p := &dialog.Picker{Title: "Model", Empty: "no usable provider; tenon models --all lists the keys to set", Choose: func(r dialog.Row) { m.useModel(r.ID) }}
	p.Paste(args)
	m.listModels(p)
	m.open(p)
	m.do(func(ctx context.Context) (then, error) { // configured servers may list more models
		list, err := m.host.ListModels(ctx, host.ModelListOptions{Configured: true})
		return func() {
			m.inventory.models = list
			m.listModels(p)
			if err != nil && ctx.Err() == nil {
				m.problem("not listed by the server: " + m.o.clean(err.Error()))
			}
		}, nil
	})
}

// useModel sets the model of the next prompts, until the user exits.
func (m *model) useModel(name string) {
	m.modelName, m.effort = name, ""
	m.say("until you exit; to keep it: tenon config set model " + name)
}

// listModels fills a picker with the models.
func (m *model) listModels(p *dialog.Picker) {
	current, _ := m.modelOf()
	p.Fill(cli.Mapped(m.inventory.models, func(info *host.ModelInfo) dialog.Row {
		name, note := info.Model.Ref().String(), "from the server"
		if !info.Served {
			note = view.Limit(info.Model.Limit.Context) + " context"
		}
		return dialog.Row{ID: name, Label: name, Note: note, Current: name == current}
	}))
}

func (m *model) chooseAgent() {
	m.open(&dialog.Picker{
		Title: "Agent",
		Choose: func(r dialog.Row) {
			m.agent, m.mode = r.ID, modeAsk
			m.acceptEdits()
		},
		Rows: cli.Mapped(m.primaries(), func(a *sdk.Agent) dialog.Row {
			return dialog.Row{ID: a.Name, Label: a.Name, Note: view.Clip(terminal.OneLine(a.Description), 60), Current: a.Name == m.agentName()}
		}),
	})
}

// efforts returns the reasoning efforts of the model.
func (m *model) efforts() []string {
	current, _ := m.modelOf()
	order := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	return slices.SortedFunc(maps.Keys(m.modelNamed(current).Variants), func(a, b string) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a), slices.Index(order, b)), strings.Compare(a, b))
	})
}

func (m *model) chooseEffort() {
	_, current := m.modelOf()
	m.open(&dialog.Picker{
		Title: "Reasoning effort", Empty: "this model has only one reasoning effort",
		Choose: func(r dialog.Row) { m.effort = r.ID },
		Rows: cli.Mapped(m.efforts(), func(name *string) dialog.Row {
			return dialog.Row{ID: *name, Label: *name, Current: *name == current}
		}),
	})
}

func (m *model) chooseTheme() {
	m.open(&dialog.Picker{
		Title: "Theme",
		Choose: func(r dialog.Row) {
			m.keep(func(s *settings.Settings) { s.Theme = r.ID })
			m.setTheme()
		},
		Rows: cli.Mapped(draw.Themes(m.dark), func(t *draw.Theme) dialog.Row {
			return dialog.Row{ID: t.Name, Label: t.Name, Current: t.Name == m.look.Theme.Name}
		}),
	})
}

// keep applies a change of the settings and stores it.
func (m *model) keep(change func(*settings.Settings)) {
	change(&m.settings)
	m.do(func(ctx context.Context) (then, error) { return nil, settings.Change(ctx, m.o.settingsFile, change) })
}

// openSessions lists the sessions of the project.
func (m *model) openSessions() {
	fetch(m, m.host.Sessions, func(all []store.Listed) { m.open(m.sessionPicker(all)) })
}

func (m *model) sessionPicker(all []store.Listed) dialog.Dialog {
	p := &dialog.Picker{
		Title: "Sessions", Empty: "no sessions here yet", Hint: "ctrl+r rename · ctrl+d delete · ctrl+f fork · ctrl+t pin",
		Choose: func(r dialog.Row) { m.switchTo(r.ID) },
		Rows: m.pinnedFirst(cli.Mapped(all, func(s *store.Listed) dialog.Row {
			return dialog.Row{ID: s.ID, Label: cmp.Or(s.Title, s.ID), Note: view.Ago(s.Updated, m.now()), Current: s.ID == m.root}
		})),
	}
	p.Keys = map[string]func(dialog.Row){"ctrl+f": func(r dialog.Row) { m.forkOf(r.ID, "") }}
	toDelete := "" // the session that the second ctrl+d deletes
	p.Acts = map[string]func(dialog.Row){
		"ctrl+r": func(r dialog.Row) {
			ask := &dialog.Line{Title: "Rename the session", Done: func(title string) {
				title = strings.Join(strings.Fields(title), " ")
				m.do(func(ctx context.Context) (then, error) {
					return func() { p.Relabel(r.ID, title) }, m.host.SetTitle(ctx, r.ID, title)
				})
			}}
			ask.Input.Set(r.Label)
			m.open(ask)
		},
		"ctrl+d": func(r dialog.Row) {
			if m.armed == "" || toDelete != r.ID {
				m.armed, toDelete = "ctrl+d", r.ID
				m.say("press ctrl+d again to delete " + terminal.OneLine(r.Label))
				return
			}
			m.armed = ""
			m.do(func(ctx context.Context) (then, error) {
				return func() { m.deleted(p, r.ID) }, m.host.DeleteSession(ctx, r.ID)
			})
		},
		"ctrl+t": func(r dialog.Row) {
			m.pin(r.ID, !slices.Contains(m.settings.Pinned, r.ID))
			p.Fill(m.pinnedFirst(p.Rows))
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
func (m *model) pin(session string, on bool) {
	m.keep(func(s *settings.Settings) {
		s.Pinned = slices.DeleteFunc(slices.Clone(s.Pinned), func(id string) bool { return id == session })
		if on {
			s.Pinned = append(s.Pinned, session)
		}
	})
}

// deleted removes a deleted session from the screen.
func (m *model) deleted(p *dialog.Picker, session string) {
	p.Remove(session)
	if slices.Contains(m.settings.Pinned, session) {
		m.pin(session, false)
	}
	if session == m.root {
		m.switchTo("")
	}
	delete(m.threads, session)
}

// openTimeline lists the prompts of the session.
func (m *model) openTimeline() {
	prompts := m.main().Prompts()
	m.open(&dialog.Picker{
		Title: "Timeline", Empty: "no prompts yet", Hint: "ctrl+u undo from here on · ctrl+f fork before it",
		Choose: func(r dialog.Row) { m.main().Show(r.ID) },
		Keys: map[string]func(dialog.Row){
			"ctrl+u": func(r dialog.Row) { m.revert(host.RevertOptions{MessageID: r.ID}) },
			"ctrl+f": func(r dialog.Row) { m.forkOf(m.root, r.ID) },
		},
		Rows: cli.Mapped(prompts, func(p *transcript.Prompt) dialog.Row {
			return dialog.Row{ID: p.ID, Label: view.Clip(terminal.OneLine(p.Text), 200), Current: p == &prompts[len(prompts)-1]}
		}),
	})
}

const (
	// foundAt is the number of lines above a line that was found.
	foundAt = 3
	// maxSearched is the number of lines after which a search leaves out earlier items, so that the user does not wait for it.
	maxSearched = 50_000
)

// find searches the lines of the shown session, the last ones first.
func (m *model) find(text string) {
	l := &m.thread().List
	p := &dialog.Picker{Title: "Find", Choose: func(r dialog.Row) {
		var item, line int
		_, _ = fmt.Sscan(r.ID, &item, &line)
		l.Show(item, line)
		l.Scroll(-foundAt)
	}}
	for at, item := range slices.Backward(l.Items) {
		if len(p.Rows) >= maxSearched {
			p.Title = "Find in the latest lines"
			break
		}
		for n, line := range slices.Backward(item.Lines(m.width)) {
			if label := strings.Trim(terminal.StripSGR(line), " │┃"); label != "" {
				p.Rows = append(p.Rows, dialog.Row{ID: fmt.Sprint(at, " ", n), Label: label})
			}
		}
	}
	p.Paste(text)
	m.open(p)
}

// openQueue lists the waiting prompts.
func (m *model) openQueue() {
	waiting := m.waiting()
	p := &dialog.Picker{
		Title: "Waiting prompts", Empty: "no prompts are waiting", Hint: "ctrl+d remove",
		Choose: func(r dialog.Row) {
			i := slices.IndexFunc(waiting, func(w host.Waiting) bool { return w.ID == r.ID })
			m.editWaiting(waiting[i])
		},
		Rows: cli.Mapped(waiting, func(w *host.Waiting) dialog.Row {
			return dialog.Row{ID: w.ID, Label: view.Clip(terminal.OneLine(typed(&w.Input)), 200)}
		}),
	}
	p.Acts = map[string]func(dialog.Row){"ctrl+d": func(r dialog.Row) {
		session := m.root
		m.do(func(context.Context) (then, error) {
			return func() { p.Remove(r.ID) }, m.host.Withdraw(session, r.ID)
		})
	}}
	m.open(p)
}

// historyPicker searches earlier prompts.
func (m *model) historyPicker() dialog.Dialog {
	p := &dialog.Picker{Title: "Earlier prompts", Empty: "no prompts yet", Choose: func(r dialog.Row) {
		m.replace(&host.PromptInput{Text: r.ID})
	}}
	for _, text := range slices.Backward(m.history.Entries) {
		p.Rows = append(p.Rows, dialog.Row{ID: text, Label: text})
	}
	return p
}

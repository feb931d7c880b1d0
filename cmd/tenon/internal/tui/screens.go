package tui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/inspect"
	"github.com/tenonhq/tenon/cmd/tenon/internal/sessions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// helpSection lists the keys of a part of the screen, each with its effect.
type helpSection struct {
	title string
	keys  [][2]string
}

func helpSections() []helpSection {
	return []helpSection{
		{"Prompt", [][2]string{
			{"enter", "send; while a turn runs, the prompt waits and reaches the model with its next step"},
			{"alt+enter, ctrl+j, \\ enter", "new line"},
			{"@", "attach a file or directory, or call a subagent"},
			{"/", "commands"},
			{"!", "run a shell command; the model sees it with the next prompt"},
			{"up, down", "waiting prompts, then earlier ones; ctrl+r searches"},
			{"ctrl+v", "attach the image in the clipboard"},
			{"ctrl+s", "put the prompt aside, or restore it"},
			{"ctrl+c", "clear the prompt, interrupt the turn, or twice: exit"},
			{"ctrl+a, ctrl+e, alt+b, alt+f", "start and end of the line, words"},
			{"ctrl+w, ctrl+u, ctrl+k, ctrl+y", "delete a word, to the start, to the end; insert it again"},
		}},
		{"Session", [][2]string{
			{"esc", "interrupt the turn; twice without a turn: timeline"},
			{"shift+tab", "mode: ask, accept edits, plan"},
			{"tab", "next agent; after a command, suggestions for its argument"},
			{"ctrl+t", "reasoning effort"},
			{"ctrl+p", "all commands"},
			{"pgup, pgdn, ctrl+alt+u, ctrl+alt+d", "scroll; ctrl+g first, ctrl+alt+g last"},
			{"ctrl+o", "show or hide details of tools and reasoning (a click: of one card)"},
			{"ctrl+x ↓, ↑, ←, →", "subagent's session, back, its neighbors"},
			{"ctrl+z", "return to the shell; fg continues"},
		}},
		{"Permission", [][2]string{
			{"y", "yes, once"},
			{"s", "yes, for the rest of this session"},
			{"a", "always in this project; the line shows the rule"},
			{"n, esc", "no: the turn ends"},
			{"m", "no, and say what to do instead: the turn continues"},
			{"up, down, enter", "move and choose"},
			{"pgup, pgdn, ctrl+f", "see all of a long command or diff"},
		}},
		{"Lists", [][2]string{
			{"type", "search"},
			{"up, down, enter, esc", "move, choose, close"},
			{"ctrl+r, ctrl+d, ctrl+f, ctrl+t", "sessions: rename, delete, fork, pin"},
			{"ctrl+u, ctrl+f", "timeline: undo from a prompt on, fork before it"},
		}},
		{"Full-screen text", [][2]string{
			{"] [", "next and previous hunk or section"},
			{"v", "diff in one or two columns"},
			{"esc, q", "close"},
		}},
	}
}

func (m *model) helpScreen() dialog.Dialog {
	return &dialog.Pager{Title: "Help", Section: func(line string) bool { return line != "" && line[0] != ' ' }, Draw: func(k *draw.Theme, width int) []string {
		var out []string
		row := func(key, text string) {
			left := "  " + draw.Pad(key, min(32, width/2)) + " "
			for i, l := range draw.Wrap(text, width-terminal.Columns(left)) {
				if i > 0 {
					left = strings.Repeat(" ", terminal.Columns(left))
				}
				out = append(out, draw.Paint(k.Accent, left)+l)
			}
		}
		for _, s := range helpSections() {
			out = append(out, draw.Paint("1", s.title))
			for _, key := range s.keys {
				row(key[0], key[1])
			}
			out = append(out, "")
		}
		out = append(out, draw.Paint("1", "Commands"))
		for _, c := range m.commandList() {
			text := c.short
			if keys := keysOf(&c); keys != "" {
				text += " (" + keys + ")"
			}
			row(strings.TrimSpace("/"+c.name+" "+c.args), text)
		}
		return out
	}}
}

// statusScreen shows the settings of the next prompt and the cost of the session.
func (m *model) statusScreen() dialog.Dialog {
	return &dialog.Pager{Title: "Status", Draw: func(k *draw.Theme, width int) []string {
		t := m.main()
		name, effort := m.modelOf()
		out := []string{""}
		row := func(key, text string) {
			if text != "" {
				out = append(out, terminal.Fit("  "+draw.Pad(key, 12)+text, width))
			}
		}
		row("session", terminal.OneLine(t.Info.Title))
		row("", t.Info.ID)
		row("directory", terminal.OneLine(m.o.directory))
		row("branch", m.branch)
		row("model", terminal.OneLine(name))
		row("effort", terminal.OneLine(effort))
		row("agent", terminal.OneLine(m.agentName()))
		row("mode", m.mode.String())
		used, limit := m.context()
		if limit > 0 {
			row("context", fmt.Sprintf("%s of %s tokens (%d%%); /compact frees some", view.Count(used), view.Count(limit), used*100/limit))
		} else if used > 0 {
			row("context", view.Count(used)+" tokens")
		}
		out = append(out, "")
		usage := func(name string, u sdk.Tokens, cost sdk.USD) {
			row(name, fmt.Sprintf("%s in · %s cached · %s out · %s reasoning · %s", view.Limit(u.Input+u.Cache.Write), view.Limit(u.Cache.Read),
				view.Limit(u.Output), view.Limit(u.Reasoning), view.Money(cost)))
		}
		usage("tokens", t.Info.Tokens, t.Info.Cost)
		for _, id := range t.Children() {
			if child := m.threads[id]; child != nil { // nil: not read yet
				usage("subagent", child.Info.Tokens, child.Info.Cost)
			}
		}
		return out
	}}
}

func (m *model) logScreen() dialog.Dialog {
	return &dialog.Pager{Title: "Log", Draw: func(k *draw.Theme, width int) []string {
		if len(m.log) == 0 {
			return []string{"", "  no warnings"}
		}
		var out []string
		for _, l := range m.log {
			out = append(out, draw.Indent(" ", draw.Wrap(visible.Text(l), width-2))...)
		}
		return out
	}}
}

// openLedger shows the changes that plugins made to each request of the shown session.
func (m *model) openLedger() tea.Cmd {
	session := m.shown
	return m.do(func(ctx context.Context) (then, error) {
		all, err := m.host.Ledger(ctx, session)
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		for i := range all {
			inspect.ExplainRequest(&terminal.Screen{Color: true}, &b, &all[i])
		}
		if b.Len() == 0 {
			return m.note("no hook was called in this session"), nil
		}
		lines := strings.Split(strings.TrimRight(m.o.clean(b.String()), "\n"), "\n")
		return m.opens(&dialog.Pager{
			Title: "Changes by plugins",
			Section: func(line string) bool {
				return strings.HasPrefix(line, " step ") || strings.HasPrefix(line, " outside ")
			},
			Draw: func(*draw.Theme, int) []string { return draw.Indent(" ", lines) },
		}), nil
	})
}

// openDiff shows the file changes of the session.
func (m *model) openDiff() tea.Cmd {
	session := m.root
	return m.do(func(ctx context.Context) (then, error) {
		diff, list, err := changes(ctx, m, session)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return m.note("the session changed no files"), nil
		}
		return m.opens(&dialog.Pager{Title: "Changes in " + view.Plural(len(list), "file"), Diff: diff}), nil
	})
}

// changes returns the file changes of a session, and a unified diff of them.
func changes(ctx context.Context, m *model, session string) (diff string, list []host.FileChange, err error) {
	list, err = m.host.SessionChanges(ctx, session)
	var b strings.Builder
	for i := range list {
		b.WriteString(sessions.Unified(&list[i]))
	}
	return b.String(), list, err
}

package tui

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/inspect"
	"github.com/tenonhq/tenon/cmd/tenon/internal/sessions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/internal/linediff"
	"github.com/tenonhq/tenon/internal/visible"
)

// keyHelp lists the keys: the name of a part of the screen, and below it lines with a key, a tab, and its effect.
//
//go:embed help.txt
var keyHelp string

func (m *model) helpScreen() dialog.Dialog {
	return &dialog.Pager{Title: "Help", Section: func(line string) bool { return line != "" && line[0] != ' ' }, Draw: func(k *draw.Theme, width int) []string {
		var out []string
		row := func(key, text string) {
			left := "  " + draw.Pad(key, min(34, width/2)) + " "
			for i, l := range draw.Wrap(text, width-terminal.Columns(left)) {
				if i > 0 {
					left = strings.Repeat(" ", terminal.Columns(left))
				}
				out = append(out, draw.Paint(k.Accent, left)+l)
			}
		}
		for line := range strings.SplitSeq(keyHelp, "\n") {
			if key, effect, ok := strings.Cut(line, "\t"); ok {
				row(key, effect)
			} else {
				out = append(out, draw.Paint("1", line))
			}
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
		mode := m.mode.String()
		if m.o.auto {
			mode = strings.TrimPrefix(mode+" · auto", modeAsk.String()+" · ")
		}
		row("mode", mode)
		used, limit := m.context()
		if limit > 0 {
			row("context", fmt.Sprintf("%s of %s tokens (%d%%); /compact frees some", view.Count(used), view.Count(limit), used*100/limit))
		} else if used > 0 {
			row("context", view.Count(used)+" tokens")
		}
		row("tool calls", t.Calls())
		out = append(out, "")
		u, subagents := m.usage()
		row("tokens", view.Usage(u.Tokens, u.Cost))
		if subagents > 0 {
			row("", "with "+view.Plural(subagents, "subagent"))
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
func (m *model) openLedger() {
	session := m.shown
	fetch(m, func(ctx context.Context) ([]inspect.Explained, error) { return m.host.Ledger(ctx, session) }, func(all []inspect.Explained) {
		var b strings.Builder
		inspect.ExplainRequests(&terminal.Screen{Color: true}, &b, all)
		if b.Len() == 0 {
			m.say("no hook was called in this session")
			return
		}
		lines := strings.Split(strings.TrimRight(m.o.clean(b.String()), "\n"), "\n")
		m.open(&dialog.Pager{
			Title: "Changes by plugins",
			Section: func(line string) bool {
				return strings.HasPrefix(line, " step ") || strings.HasPrefix(line, " outside ")
			},
			Draw: func(*draw.Theme, int) []string { return draw.Indent(" ", lines) },
		})
	})
}

// openDiff shows the file changes of the session.
func (m *model) openDiff() {
	session := m.root
	m.do(func(ctx context.Context) (then, error) {
		diff, list, err := changes(ctx, m, session)
		if len(list) == 0 {
			return m.note("the session changed no files"), err
		}
		return m.opens(&dialog.Pager{Title: "Changes in " + view.Plural(len(list), "file"), Diff: diff.Text}), err
	})
}

// changes returns the file changes of a session, and a unified diff of them.
func changes(ctx context.Context, m *model, session string) (diff linediff.Diff, list []host.FileChange, err error) {
	list, err = m.host.SessionChanges(ctx, session)
	var b strings.Builder
	for i := range list {
		d := sessions.Compare(&list[i])
		b.WriteString(d.Text)
		diff.Additions += d.Additions
		diff.Deletions += d.Deletions
	}
	diff.Text = b.String()
	return diff, list, err
}

package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// smallHeight is the height of the screen below which the task list and the waiting prompts take one line each. The task list
	// also takes one line while a dialog is open.
	smallHeight = 20
	// maxTodos and maxWaiting are the maximum numbers of shown tasks and waiting prompts.
	maxTodos, maxWaiting = 6, 3
)

// View implements tea.Model.
func (m *model) View() tea.View {
	v := tea.View{AltScreen: true, ReportFocus: true, WindowTitle: m.title()}
	v.KeyboardEnhancements.ReportAlternateKeys = true // see dialog.Usual
	if !m.settings.NoMouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if m.width < 4 || m.height < 4 {
		v.Content = terminal.Fit("enlarge the window", m.width)
		return v
	}
	lines, at := m.screen()
	v.Content = strings.Join(lines, "\n")
	if m.method == ansi.WcWidth {
		v.Content = draw.Separate(v.Content)
	}
	if at != nil {
		v.Cursor = tea.NewCursor(at.X, at.Y)
		v.Cursor.Blink = false
		v.Cursor.Shape = tea.CursorBar
	}
	return v
}

// screen returns the lines of the screen and the position of the caret.
func (m *model) screen() ([]string, *tea.Position) {
	top := m.top()
	if pager, ok := top.(*dialog.Pager); ok {
		return pager.View(m.canvas(m.height))
	}
	bottom, at := m.bottom(top)
	room := max(0, m.height-len(bottom))
	lines := m.transcript(room)
	lines = append(append(lines, make([]string, max(0, room-len(lines)))...), bottom...)
	over := len(lines) - m.height // lines that do not fit are cut off at the top
	if at != nil {
		at.Y = max(0, at.Y+room-over)
	}
	return lines[over:], at
}

// top returns the dialog or question that receives keys, or nil.
func (m *model) top() dialog.Dialog {
	if n := len(m.dialogs); n > 0 {
		return m.dialogs[n-1]
	}
	if len(m.asks) > 0 {
		return m.asks[0].Dialog
	}
	return nil
}

// transcript draws the session in at most height lines.
func (m *model) transcript(height int) []string {
	t := m.thread()
	var head []string
	if t.Info.ParentID != "" {
		head = []string{draw.Paint(m.look.Theme.Warn, terminal.Fit(" subagent's session: "+terminal.OneLine(t.Info.Title)+" · ctrl+x ↑ returns", m.width))}
	}
	if len(t.List.Items) == 0 && t.Info.ID == "" {
		return m.welcome(height)
	}
	return append(head, t.List.View(m.width, max(0, height-len(head)))...)
}

// welcome fills the screen before the first prompt.
func (m *model) welcome(height int) []string {
	k := m.look.Theme
	name, _ := m.modelOf()
	name = cmp.Or(name, "looking for a model")
	text := []string{
		draw.Paint(k.Accent, draw.Paint("1", "tenon")) + " " + draw.Paint(k.Faint, m.o.version), "",
		draw.Paint(k.Faint, "model      ") + terminal.OneLine(name),
	}
	if name == m.fallback && m.reason != "" {
		reason := draw.Wrap(terminal.OneLine(m.reason), m.width-len("  model      "))
		text = append(text, draw.PaintAll(k.Faint, draw.Indent("           ", reason))...)
	}
	text = append(text,
		draw.Paint(k.Faint, "directory  ")+terminal.OneLine(m.o.shortDir), "",
		"Ask for a change, a review or an explanation.",
		draw.Paint(k.Faint, "@ files   / commands   ! shell   ? help"),
		draw.Paint(k.Faint, "/connect signs in to a provider   /model chooses a model"),
	)
	if height < len(text)+1 {
		text = text[:min(1, height)]
	}
	out := make([]string, max(0, (height-len(text))/3))
	for _, l := range text {
		out = append(out, terminal.Fit("  "+l, m.width))
	}
	return out[:min(len(out), height)]
}

// canvas returns the canvas of a dialog with this height.
func (m *model) canvas(height int) dialog.Canvas {
	return dialog.Canvas{Theme: m.look.Theme, Width: m.width, Height: height, Method: m.method, Ready: m.calm()}
}

// modeLook returns the look of the mode.
func (m *model) modeLook() string {
	k := m.look.Theme
	if m.o.auto {
		return k.Warn
	}
	return [...]string{modeAsk: k.Faint, modeEdits: k.Warn, modePlan: k.Accent}[m.mode]
}

// rule is the line above the input.
func (m *model) rule() string { return draw.Paint(m.modeLook(), strings.Repeat("─", m.width)) }

// bottom draws the part of the screen below the transcript.
func (m *model) bottom(top dialog.Dialog) (lines []string, at *tea.Position) {
	lines = append(m.todoLines(), m.waitingLines()...)
	lines = append(lines, m.workLine()...)
	if m.toast.text != "" {
		look := m.look.Theme.Faint
		if m.toast.bad {
			look = m.look.Theme.Fail
		}
		text := draw.PaintAll(look, draw.Wrap(terminal.OneLine(m.toast.text), m.width-2))
		lines = append(lines, draw.Indent(" ", text[:min(len(text), max(0, m.height/2-len(lines)))])...)
	}
	if top != nil {
		lines = append(lines, m.rule())
		if title := m.asker(); title != "" {
			lines = append(lines, terminal.Fit(draw.Paint(m.look.Theme.Warn, " Another session asks: "+title), m.width))
		}
		shown, caret := top.View(m.canvas(max(6, m.height-len(lines)+1-min(6, m.height/4)) - 1))
		if caret != nil {
			caret.Y += len(lines)
		}
		return append(lines, shown...), caret
	}
	input, at := m.inputLines()
	lines = append(lines, m.menu.view(m, m.width, m.height-len(lines)-len(input)-1)...)
	if at != nil {
		at.Y += len(lines)
	}
	lines = append(lines, input...)
	return append(lines, m.footer()), at
}

// inputLines draws the prompt with the line above it.
func (m *model) inputLines() ([]string, *tea.Position) {
	k := m.look.Theme
	out := []string{m.rule()}
	if m.thread().Info.ParentID != "" {
		return append(out, " "+draw.Paint(k.Faint, "read only")), nil
	}
	chip := func(label string) string { return draw.Paint(k.Accent, label) }
	rows, row, column := m.input.View(m.width-3, min(m.height/3, 12), m.method, chip)
	if m.input.Empty() {
		hint := "Ask anything"
		if m.main().Busy() {
			hint = "Write the next prompt; it waits for its turn"
		}
		if !m.stash.Empty() {
			hint += " · ctrl+s restores your draft"
		}
		rows[0] = draw.Paint(k.Faint, hint)
	}
	mark := draw.Paint(k.User, "›")
	if text := m.input.Before(); strings.HasPrefix(text, "!") {
		mark = draw.Paint(k.Warn, "›")
	}
	for _, r := range rows {
		out = append(out, terminal.Fit(mark+" "+r, m.width))
		mark = " "
	}
	return out, &tea.Position{X: 2 + column, Y: 1 + row}
}

// workLine describes the current activity.
func (m *model) workLine() []string {
	t, k := m.thread(), m.look.Theme
	left, hint, down := "", "esc interrupts", "esc"
	if t.Info.ParentID != "" {
		hint = "esc returns"
	}
	if t.Busy() || t.Info.ParentID != "" {
		down = "ctrl+alt+g"
	}
	switch {
	case t.Status.Type == sdk.StatusRetry: // the transcript shows the reason
		wait := max(time.Second, time.UnixMilli(t.Status.Next).Sub(m.now()).Round(time.Second))
		left = draw.Paint(k.Warn, fmt.Sprintf("● attempt %d failed · next in %s · %s", t.Status.Attempt, view.Duration(wait), hint))
	case t.Busy() && len(m.asks) > 0:
		left = draw.Paint(k.Warn, "● waiting for your answer")
	case t.Busy():
		left = draw.Paint(k.Accent, "● ") + draw.Paint(k.Faint, "working · "+view.Duration(max(time.Second, m.now().Sub(t.Begun).Truncate(time.Second)))+" · "+hint)
	}
	right := ""
	if !t.List.Following() {
		right = "↓ more below "
		if m.top() == nil { // else the key is not for the transcript
			right += "(" + down + ") "
		}
		right = draw.Paint(k.Accent, right)
	}
	if left == "" && right == "" {
		return nil
	}
	return []string{draw.Sides(" "+terminal.Fit(left, m.width-2), right, m.width)}
}

// todoLines draws the task list while it has open entries.
func (m *model) todoLines() []string {
	t, k := m.thread(), m.look.Theme
	isOpen := func(todo sdk.Todo) bool { return todo.Status != "completed" && todo.Status != "cancelled" }
	current := slices.IndexFunc(t.Todos, isOpen)
	if current < 0 {
		return nil
	}
	if i := slices.IndexFunc(t.Todos, func(todo sdk.Todo) bool { return todo.Status == "in_progress" }); i >= 0 {
		current = i
	}
	done := slices.DeleteFunc(slices.Clone(t.Todos), isOpen)
	head := fmt.Sprintf("tasks %d/%d", len(done), len(t.Todos))
	if m.height < smallHeight || m.top() != nil {
		return []string{terminal.Fit(" "+draw.Paint(k.Faint, head)+" "+terminal.OneLine(t.Todos[current].Content), m.width)}
	}
	from := max(0, min(current-1, len(t.Todos)-maxTodos))
	out := []string{" " + draw.Paint(k.Faint, head)}
	marks := map[string][2]string{"completed": {k.Ok, "✓ "}, "in_progress": {k.Accent, "▸ "}, "cancelled": {k.Faint, "✗ "}}
	for _, todo := range t.Todos[from:min(len(t.Todos), from+maxTodos)] {
		text := terminal.OneLine(todo.Content)
		if !isOpen(todo) {
			text = draw.Paint(k.Faint, text)
		}
		mark := cmp.Or(marks[todo.Status], [2]string{k.Faint, "○ "})
		out = append(out, terminal.Fit("  "+draw.Paint(mark[0], mark[1])+text, m.width))
	}
	return out
}

// waitingLines draws the waiting prompts.
func (m *model) waitingLines() []string {
	k, waiting := m.look.Theme, m.waiting()
	var out []string
	for i := range waiting {
		if i == maxWaiting || i > 0 && m.height < smallHeight {
			out = append(out, draw.Paint(k.Faint, fmt.Sprintf("   and %d more (ctrl+x w)", len(waiting)-i)))
			break
		}
		out = append(out, draw.Sides(terminal.Fit(" "+draw.Paint(k.Accent, "waits ")+view.Clip(terminal.OneLine(typed(&waiting[i].Input)), 300), m.width-9), draw.Paint(k.Faint, "↑ edits "), m.width))
	}
	return out
}

// context returns the number of context tokens that the latest step used, and the model's limit; 0 if unknown, as after a summary.
func (m *model) context() (used, limit int64) {
	last := m.main().Last
	if last == nil || m.main().Shrunk {
		return 0, 0
	}
	return last.Tokens.Sum(), m.modelNamed(last.ProviderID + "/" + last.ModelID).Limit.Context
}

// footer shows agent, model, context, cost, branch and directory. A narrow window omits the last ones.
func (m *model) footer() string {
	k := m.look.Theme
	name, effort := m.modelOf()
	if i := strings.IndexByte(name, '/'); i >= 0 && m.width < 100 {
		name = name[i+1:]
	}
	label := m.agentName()
	if m.mode == modeEdits {
		label += " · accept edits"
	}
	if m.o.auto {
		label += " · auto"
	}
	left := " " + draw.Paint(m.modeLook(), terminal.OneLine(label)) + draw.Paint(k.Faint, " · "+strings.TrimSpace(terminal.OneLine(name+" "+effort)))
	if m.leader {
		left = " " + draw.Paint(k.Accent, "ctrl+x …") + draw.Paint(k.Faint, " ? lists the keys")
	}
	var right []string
	if used, limit := m.context(); limit > 0 {
		right = append(right, fmt.Sprintf("%s (%d%%)", view.Count(used), used*100/limit))
	} else if used > 0 {
		right = append(right, view.Count(used))
	}
	if u, _ := m.usage(); u.Cost > 0 {
		right = append(right, view.Money(u.Cost))
	}
	if m.branch != "" {
		right = append(right, m.branch)
	}
	right = append(right, terminal.OneLine(m.o.shortDir))
	for len(right) > 0 {
		text := strings.Join(right, " · ")
		if terminal.Columns(left)+terminal.Columns(text)+3 <= m.width {
			return draw.Sides(left, draw.Paint(k.Faint, text)+" ", m.width)
		}
		right = right[:len(right)-1]
	}
	return terminal.Fit(left, m.width)
}

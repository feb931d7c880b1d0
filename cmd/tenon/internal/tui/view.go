package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
)

const (
	// smallHeight is the height below which lists beside the transcript take one line.
	smallHeight = 20
	// maxTodos and maxWaiting are the shown rows of the task list and of waiting prompts.
	maxTodos, maxWaiting = 6, 3
)

// View implements tea.Model.
func (m *model) View() tea.View {
	v := tea.View{AltScreen: true, ReportFocus: true, WindowTitle: m.title()}
	if m.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if m.width < 4 || m.height < 4 {
		return v
	}
	lines, at := m.screen()
	v.Content = strings.Join(lines, "\n")
	if at != nil {
		v.Cursor = tea.NewCursor(at.X, at.Y)
		v.Cursor.Blink = false
		v.Cursor.Shape = tea.CursorBar
	}
	return v
}

// screen returns the lines of the screen and the place of the caret.
func (m *model) screen() ([]string, *tea.Position) {
	top := m.top()
	if top != nil && top.full() {
		return top.view(m, m.width, m.height)
	}
	bottom, at := m.bottom(top)
	room := max(0, m.height-len(bottom))
	lines := m.transcript(room)
	for len(lines) < room {
		lines = append(lines, "")
	}
	if at != nil {
		at.Y += room
	}
	if len(bottom) > m.height {
		bottom = bottom[len(bottom)-m.height:]
	}
	return append(lines, bottom...), at
}

// top returns what sees keys first: a dialog, a question of the host, or nil.
func (m *model) top() dialog {
	if n := len(m.dialogs); n > 0 {
		return m.dialogs[n-1]
	}
	if len(m.asks) > 0 {
		return m.asks[0]
	}
	return nil
}

// transcript draws the session in at most height lines.
func (m *model) transcript(height int) []string {
	t := m.thread()
	var head []string
	if t.info.ParentID != "" {
		head = []string{paint(m.look.theme.warn, fit(" subagent's session: "+oneLine(t.info.Title)+" · ctrl+x ↑ returns", m.width))}
	}
	if len(t.list.Items) == 0 && t.info.ID == "" {
		return m.welcome(height)
	}
	return append(head, t.list.View(m.width, max(0, height-len(head)))...)
}

// listTop returns the row of the screen where the list begins.
func (m *model) listTop() int {
	if m.thread().info.ParentID != "" {
		return 1
	}
	return 0
}

// welcome fills the screen before the first prompt.
func (m *model) welcome(height int) []string {
	k := m.look.theme
	name, _ := m.modelOf()
	if name == "" {
		name = "looking for a model"
	}
	text := []string{
		paint(k.accent, paint("1", "tenon")) + " " + paint(k.faint, m.o.version), "",
		paint(k.faint, "model      ") + oneLine(name),
		paint(k.faint, "directory  ") + oneLine(m.o.shortDir), "",
		"Ask for a change, a review or an explanation.",
		paint(k.faint, "@ files   / commands   ! shell   ? help"),
	}
	if height < len(text)+1 {
		text = text[:min(1, height)]
	}
	var out []string
	for range max(0, (height-len(text))/3) {
		out = append(out, "")
	}
	for _, l := range text {
		out = append(out, fit("  "+l, m.width))
	}
	return out[:min(len(out), height)]
}

// rule is the line above the input.
func (m *model) rule(width int) string {
	look := m.look.theme.faint
	switch m.mode {
	case modeEdits:
		look = m.look.theme.warn
	case modePlan:
		look = m.look.theme.accent
	}
	return paint(look, strings.Repeat("─", width))
}

// bottom draws what is below the transcript.
func (m *model) bottom(top dialog) (lines []string, at *tea.Position) {
	lines = append(m.todoLines(), m.waitingLines()...)
	lines = append(lines, m.workLine()...)
	if m.toast.text != "" {
		look := m.look.theme.faint
		if m.toast.bad {
			look = m.look.theme.fail
		}
		for _, l := range wrap(oneLine(m.toast.text), m.width-2) {
			if len(lines) < m.height/2 {
				lines = append(lines, " "+paint(look, l))
			}
		}
	}
	if top != nil {
		shown, caret := top.view(m, m.width, max(6, m.height-len(lines)-min(6, m.height/4)))
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
	k := m.look.theme
	out := []string{m.rule(m.width)}
	if m.thread().info.ParentID != "" {
		return append(out, " "+paint(k.faint, "read only")), nil
	}
	chip := func(label string) string { return paint(k.accent, label) }
	rows, row, column := m.input.View(m.width-3, chip)
	if m.input.Empty() {
		hint := "Ask anything"
		if m.main().busy() {
			hint = "Write the next prompt; it waits for its turn"
		}
		rows[0] = paint(k.faint, hint)
	}
	room := max(1, min(m.height/3, 12))
	from := max(0, min(row-room/2, len(rows)-room))
	mark := paint(k.user, "›")
	if text := m.input.Before(); strings.HasPrefix(text, "!") {
		mark = paint(k.warn, "!")
	}
	for i := from; i < min(len(rows), from+room); i++ {
		out = append(out, fit(mark+" "+rows[i], m.width))
		mark = " "
	}
	return out, &tea.Position{X: 2 + column, Y: 1 + row - from}
}

// workLine says what is under way.
func (m *model) workLine() []string {
	t, k := m.thread(), m.look.theme
	var left string
	switch {
	case t.status.Type == "retry":
		wait := max(0, time.UnixMilli(t.status.Next).Sub(m.now())).Round(time.Second)
		left = paint(k.warn, fmt.Sprintf("attempt %d failed: %s · next in %s", t.status.Attempt, view.Clip(oneLine(t.status.Message), 200), view.Duration(wait)))
	case t.busy() && len(m.asks) > 0:
		left = paint(k.warn, "● waiting for your answer")
	case t.busy():
		left = paint(k.accent, "● ") + paint(k.faint, "working · "+view.Duration(m.now().Sub(t.begun).Truncate(time.Second))+" · esc interrupts")
	}
	right := ""
	if !t.list.Following() {
		right = paint(k.accent, "↓ more below (esc) ")
	}
	if left == "" && right == "" {
		return nil
	}
	return []string{sides(" "+fit(left, m.width-2), right, m.width)}
}

// todoLines draws the task list while it has open entries.
func (m *model) todoLines() []string {
	t, k := m.thread(), m.look.theme
	done, current := 0, -1
	for i := range t.todos {
		switch t.todos[i].Status {
		case "completed", "cancelled":
			done++
		case "in_progress":
			current = i
		default:
			if current < 0 {
				current = i
			}
		}
	}
	if len(t.todos) == 0 || done == len(t.todos) {
		return nil
	}
	head := fmt.Sprintf("tasks %d/%d", done, len(t.todos))
	if m.height < smallHeight {
		return []string{fit(" "+paint(k.faint, head)+" "+oneLine(t.todos[max(current, 0)].Content), m.width)}
	}
	from := max(0, min(current-1, len(t.todos)-maxTodos))
	out := []string{" " + paint(k.faint, head)}
	for i := from; i < min(len(t.todos), from+maxTodos); i++ {
		todo := &t.todos[i]
		text := oneLine(todo.Content)
		switch todo.Status {
		case "completed":
			text = paint(k.ok, "✓ ") + paint(k.faint, text)
		case "in_progress":
			text = paint(k.accent, "▸ ") + text
		case "cancelled":
			text = paint(k.faint, "✗ "+text)
		default:
			text = paint(k.faint, "○ ") + text
		}
		out = append(out, fit("  "+text, m.width))
	}
	return out
}

// waitingLines draws the prompts that wait.
func (m *model) waitingLines() []string {
	k := m.look.theme
	var out []string
	for i := range m.waiting {
		if i == maxWaiting || i > 0 && m.height < smallHeight {
			out = append(out, paint(k.faint, fmt.Sprintf("   and %d more (ctrl+x w)", len(m.waiting)-i)))
			break
		}
		out = append(out, sides(fit(" "+paint(k.accent, "waits ")+view.Clip(oneLine(waitingText(&m.waiting[i])), 300), m.width-9), paint(k.faint, "↑ edits "), m.width))
	}
	return out
}

// context returns the tokens of the model's context that the latest step used, and its limit; 0 if unknown.
func (m *model) context() (used, limit int64) {
	last := m.main().last
	if last == nil {
		return 0, 0
	}
	for i := range m.inventory.models {
		if info := &m.inventory.models[i].Model; info.ProviderID == last.ProviderID && info.ID == last.ModelID {
			limit = info.Limit.Context
		}
	}
	return last.Tokens.Sum(), limit
}

// footer names mode, model, context, cost, branch and directory. In a narrow window, the last ones are left out.
func (m *model) footer() string {
	k := m.look.theme
	name, effort := m.modelOf()
	if i := strings.IndexByte(name, '/'); i >= 0 && m.width < 100 {
		name = name[i+1:]
	}
	look, label := k.faint, m.agentName()
	switch m.mode {
	case modeEdits:
		look, label = k.warn, label+" · accept edits"
	case modePlan:
		look = k.accent
	}
	left := " " + paint(look, oneLine(label)) + paint(k.faint, " · "+strings.TrimSpace(oneLine(name+" "+effort)))
	if m.leader {
		left = " " + paint(k.accent, "ctrl+x …") + paint(k.faint, " ? lists the keys")
	}
	var right []string
	if used, limit := m.context(); limit > 0 {
		right = append(right, fmt.Sprintf("%s (%d%%)", view.Count(used), used*100/limit))
	} else if used > 0 {
		right = append(right, view.Count(used))
	}
	if cost := m.main().info.Cost; cost > 0 {
		right = append(right, view.Money(cost))
	}
	if m.branch != "" {
		right = append(right, m.branch)
	}
	right = append(right, oneLine(m.o.shortDir))
	for len(right) > 0 {
		text := strings.Join(right, " · ")
		if ansi.StringWidth(left)+ansi.StringWidth(text)+3 <= m.width {
			return sides(left, paint(k.faint, text)+" ", m.width)
		}
		right = right[:len(right)-1]
	}
	return fit(left, m.width)
}

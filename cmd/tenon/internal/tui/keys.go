package tui

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
)

const (
	// twice is the time limit for a second ctrl+c to exit, and for a second esc to open the timeline.
	twice = 2 * time.Second
	// startled is the time for which a question ignores keys after it appeared and after each ignored key.
	startled = 700 * time.Millisecond
	// wheelLines is the number of lines that the mouse wheel scrolls.
	wheelLines = 3
	// pasteLines and pasteBytes are the maximum size of a paste that is not shown as a chip.
	pasteLines, pasteBytes = 8, 1500
)

// key handles a key: the leader, dialogs, the menu, the screen, the prompt.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	name, now := k.String(), m.now()
	if name != m.armed || now.Sub(m.pressed) >= twice {
		m.armed = ""
	}
	m.toast, m.pressed = toast{}, now
	if name == "ctrl+z" {
		return tea.Suspend
	}
	if m.leader {
		m.leader = false
		return m.leaderKey(name)
	}
	if top := m.top(); top != nil {
		return m.topKey(top, k)
	}
	if done, cmd := m.menuKey(name); done {
		return cmd
	}
	if cmd, ok := m.screenKey(name); ok {
		return cmd
	}
	if m.thread().Info.ParentID != "" {
		m.say("this is a subagent's session; ctrl+x ↑ returns")
		return nil
	}
	return m.promptKey(name, k.Text)
}

// topKey passes a key to the topmost dialog or question.
func (m *model) topKey(top dialog.Dialog, k tea.KeyPressMsg) tea.Cmd {
	if !m.fits(k) {
		return m.startle()
	}
	_, choice := top.(*dialog.Choice)
	switch name := k.String(); {
	case name == "ctrl+x":
		m.leader = true
		return nil
	case name == "shift+tab" && choice:
		return m.nextMode()
	case name == "ctrl+o" && len(m.dialogs) == 0:
		m.thread().UnfoldAll()
		return nil
	}
	done, cmd := top.Key(k)
	if done {
		m.close(top)
	}
	return cmd
}

// close removes a dialog or question.
func (m *model) close(d dialog.Dialog) {
	m.dialogs = slices.DeleteFunc(m.dialogs, func(o dialog.Dialog) bool { return o == d })
	m.asks = slices.DeleteFunc(m.asks, func(a asked) bool { return a.Dialog == d })
}

func (m *model) open(d dialog.Dialog) tea.Cmd {
	m.dialogs = append(m.dialogs, d)
	return nil
}

// screenKey handles keys that do not edit the prompt.
func (m *model) screenKey(name string) (tea.Cmd, bool) {
	l, page := &m.thread().List, 0
	switch name {
	case "ctrl+x":
		m.leader = true
	case "ctrl+c":
		return m.ctrlC(), true
	case "esc":
		return m.escape(), true
	case "ctrl+p":
		return m.open(m.palette()), true
	case "f1":
		return m.open(m.helpScreen()), true
	case "ctrl+o":
		m.thread().UnfoldAll()
	case "shift+tab":
		return m.nextMode(), true
	case "ctrl+t":
		return m.open(m.effortPicker()), true
	case "pgup":
		page = -l.Page()
	case "pgdown":
		page = l.Page()
	case "ctrl+alt+u":
		page = -l.Page() / 2
	case "ctrl+alt+d":
		page = l.Page() / 2
	case "ctrl+alt+y":
		page = -1
	case "ctrl+alt+e":
		page = 1
	case "ctrl+g", "ctrl+home":
		l.Home()
	case "ctrl+alt+g", "ctrl+end":
		l.End()
	default:
		return nil, false
	}
	if page != 0 {
		l.Scroll(page)
	}
	return nil, true
}

// ctrlC clears the prompt, interrupts the turn or leaves.
func (m *model) ctrlC() tea.Cmd {
	switch {
	case !m.input.Empty():
		m.history.Keep(&m.input)
		m.input.Set("")
	case m.main().Busy():
		return m.interrupt()
	case m.armed != "":
		return tea.Quit
	default:
		m.armed = "ctrl+c"
		m.say("press ctrl+c again to exit")
	}
	return nil
}

// escape interrupts the turn; without one, the second opens the timeline.
func (m *model) escape() tea.Cmd {
	switch {
	case m.thread().Info.ParentID != "":
		m.leave()
	case m.main().Busy():
		return m.interrupt()
	case !m.thread().List.Following():
		m.thread().List.End()
	case m.armed != "":
		m.armed = ""
		return m.execute(find(commands(), "timeline"), "")
	default:
		m.armed = "esc"
		if m.root != "" {
			m.say("press esc again for the timeline: undo, fork")
		}
	}
	return nil
}

// promptKey handles keys for the prompt.
func (m *model) promptKey(name, text string) tea.Cmd {
	switch name {
	case "enter":
		return m.enterPrompt()
	case "tab":
		if complete := m.completeArguments(); complete != nil {
			return complete
		}
		m.nextAgent()
		return nil
	case "up":
		if m.input.AtStart() {
			return m.recall(-1)
		}
	case "down":
		if m.input.AtEnd() {
			return m.recall(1)
		}
	case "home", "end":
		if m.input.Empty() {
			if name == "home" {
				m.thread().List.Home()
			} else {
				m.thread().List.End()
			}
			return nil
		}
	case "ctrl+d":
		if m.input.Empty() {
			return tea.Quit
		}
	case "ctrl+r":
		return m.open(m.historyPicker())
	case "ctrl+s":
		m.input, m.stash = m.stash, m.input
		m.history.Edited()
		m.menu.update(m)
		return nil
	case "ctrl+v":
		return m.pasteImage()
	case "?":
		if m.input.Empty() {
			return m.open(m.helpScreen())
		}
	}
	return m.write(name, text)
}

// write applies an editor key to the prompt, or inserts text.
func (m *model) write(name, text string) tea.Cmd {
	var refresh tea.Cmd
	if !m.input.Key(name) {
		if text == "" {
			return nil
		}
		if m.input.Empty() { // not all terminals report the focus
			refresh = m.refresh()
		}
		m.input.Insert(text)
	}
	m.history.Edited()
	m.menu.update(m)
	if m.input.Before() == "/" {
		return tea.Batch(refresh, m.loadCommands())
	}
	return refresh
}

// recall puts an earlier prompt into the input: a waiting one if possible, else one from the history.
func (m *model) recall(by int) tea.Cmd {
	if waiting := m.waiting(); by < 0 && m.input.Empty() && len(waiting) > 0 {
		return m.editWaiting(waiting[len(waiting)-1])
	}
	m.history.Move(&m.input, by)
	return nil
}

// enterPrompt sends the prompt, or runs its command.
func (m *model) enterPrompt() tea.Cmd {
	if strings.HasSuffix(m.input.Before(), `\`) {
		m.input.Complete(1, "\n")
		return nil
	}
	text, files := m.input.Text()
	if strings.TrimSpace(text) == "" && len(files) == 0 {
		return nil
	}
	if m.creating {
		m.say("the session is being created; press Enter again")
		return nil
	}
	m.input.Set("")
	save := m.remember(text)
	return tea.Batch(save, m.run(text, files))
}

// paste handles pasted text. A long text becomes a chip, a path of an image an attachment.
func (m *model) paste(text string) tea.Cmd {
	m.toast = toast{}
	if top := m.top(); top != nil {
		if !m.fits(tea.KeyPressMsg{Text: text}) { // the paste, and probably the next key, were meant for the prompt
			return m.startle()
		}
		top.Paste(text)
		return nil
	}
	if paths := edit.ImagePaths(text); len(paths) > 0 {
		for _, path := range paths {
			m.attach(path)
		}
		return nil
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1
	if lines > pasteLines || len(text) > pasteBytes {
		m.input.InsertChip(edit.Chip{Label: pasteLabel(lines, len(text)), Text: text})
	} else {
		m.input.Insert(text)
	}
	m.menu.update(m)
	return nil
}

func (m *model) wheel(w tea.MouseWheelMsg) {
	lines := wheelLines
	if w.Button == tea.MouseWheelUp {
		lines = -lines
	}
	if pager, ok := m.top().(*dialog.Pager); ok {
		pager.Scroll(lines)
	} else if len(m.dialogs) == 0 {
		m.thread().List.Scroll(lines)
	}
}

// click unfolds the card under the pointer.
func (m *model) click(c tea.MouseClickMsg) {
	if c.Button != tea.MouseLeft || len(m.dialogs) > 0 {
		return
	}
	m.thread().Toggle(m.thread().List.At(c.Y - m.listTop()))
}

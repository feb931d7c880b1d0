package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/dialog"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
)

const (
	// twice is the time limit for a second ctrl+c to exit, esc to open the timeline, or ctrl+d to delete a session.
	twice = 2 * time.Second
	// startled is the time for which a question ignores keys after it appeared and after each ignored key.
	startled = 700 * time.Millisecond
	// wheelLines is the number of lines that the mouse wheel scrolls.
	wheelLines = 3
)

// key handles a key: the leader, dialogs, the menu, the screen, the prompt.
func (m *model) key(k tea.KeyPressMsg) {
	name, now := k.String(), m.now()
	typing := now.Sub(m.typed) < startled
	if name != m.armed || now.Sub(m.pressed) >= twice {
		m.armed = ""
	}
	m.toast, m.pressed = toast{}, now
	top, screen := m.top(), screenKeys()[name]
	switch {
	case name == "ctrl+z":
		m.start(tea.Suspend)
	case name == "ctrl+l":
		m.repaint()
	case m.leader:
		m.leader = false
		m.leaderKey(name)
	case top != nil && !m.fits(k): // the rest of a prompt that the user is writing is not lost
		q, choice := top.(*dialog.Choice)
		if m.startle(); !m.input.Empty() && len(m.dialogs) == 0 && (typing || choice && !q.Meant(k)) {
			m.write(name, k.Text)
		}
	case top != nil:
		m.topKey(top, k)
	case m.menuKey(name):
	case screen != nil:
		screen(m)
	case m.thread().Info.ParentID != "":
		m.say("this is a subagent's session; ctrl+x ↑ returns")
	default:
		m.promptKey(name, k.Text)
	}
}

// topKey passes a key to the topmost dialog or question.
func (m *model) topKey(top dialog.Dialog, k tea.KeyPressMsg) {
	q, choice := top.(*dialog.Choice)
	switch name := k.String(); {
	case name == "ctrl+x":
		m.leader = true
	case name == "shift+tab" && choice && !q.Explains():
		m.nextMode()
	case name == "ctrl+o" && len(m.dialogs) == 0:
		m.thread().UnfoldAll()
	case top.Key(k):
		m.close(top)
	}
}

// close removes a dialog or question.
func (m *model) close(d dialog.Dialog) {
	m.dialogs = slices.DeleteFunc(m.dialogs, func(o dialog.Dialog) bool { return o == d })
	m.asks = slices.DeleteFunc(m.asks, func(a asked) bool { return a.Dialog == d })
}

func (m *model) open(d dialog.Dialog) { m.dialogs = append(m.dialogs, d) }

// screenKeys returns the keys that do not edit the prompt.
func screenKeys() map[string]func(*model) {
	scroll := func(lines func(page int) int) func(*model) {
		return func(m *model) { m.thread().List.Scroll(lines(m.thread().List.Page())) }
	}
	home := func(m *model) { m.thread().List.Home() }
	end := func(m *model) { m.thread().List.End() }
	return map[string]func(*model){
		"ctrl+x":     func(m *model) { m.leader = true },
		"ctrl+c":     (*model).ctrlC,
		"esc":        (*model).escape,
		"ctrl+p":     func(m *model) { m.open(m.palette()) },
		"f1":         func(m *model) { m.open(m.helpScreen()) },
		"ctrl+o":     func(m *model) { m.thread().UnfoldAll() },
		"shift+tab":  (*model).nextMode,
		"ctrl+t":     (*model).chooseEffort,
		"pgup":       scroll(func(page int) int { return -page }),
		"pgdown":     scroll(func(page int) int { return page }),
		"ctrl+alt+u": scroll(func(page int) int { return -page / 2 }),
		"ctrl+alt+d": scroll(func(page int) int { return page / 2 }),
		"ctrl+alt+y": scroll(func(int) int { return -1 }),
		"ctrl+alt+e": scroll(func(int) int { return 1 }),
		"ctrl+g":     home,
		"ctrl+home":  home,
		"ctrl+alt+g": end,
		"ctrl+end":   end,
	}
}

// ctrlC clears the prompt, interrupts the turn or leaves.
func (m *model) ctrlC() {
	switch {
	case !m.input.Empty():
		m.history.Keep(&m.input)
		m.input.Set("")
	case m.main().Busy():
		m.interrupt()
	case m.armed != "":
		m.start(tea.Quit)
	default:
		m.armed = "ctrl+c"
		m.say("press ctrl+c again to exit")
	}
}

// escape interrupts the turn; without one, the second opens the timeline.
func (m *model) escape() {
	switch {
	case m.thread().Info.ParentID != "":
		m.leave()
	case m.main().Busy():
		m.interrupt()
	case !m.thread().List.Following():
		m.thread().List.End()
	case m.armed != "":
		m.armed = ""
		m.execute(find(commands(), "timeline"), "")
	default:
		m.armed = "esc"
		if m.root != "" {
			m.say("press esc again for the timeline: undo, fork")
		}
	}
}

// promptKey handles keys for the prompt.
func (m *model) promptKey(name, text string) {
	empty := m.input.Empty()
	switch {
	case name == "enter":
		m.enterPrompt()
	case name == "tab":
		if !m.completeArguments() {
			m.nextAgent()
		}
	case name == "up" && (m.history.Long(&m.input) || m.input.AtStart()):
		m.recall(-1)
	case name == "down" && (m.history.Long(&m.input) || m.input.AtEnd()):
		m.recall(1)
	case name == "home" && empty:
		m.thread().List.Home()
	case name == "end" && empty:
		m.thread().List.End()
	case name == "ctrl+d" && empty:
		m.start(tea.Quit)
	case name == "ctrl+r":
		m.open(m.historyPicker())
	case name == "ctrl+s":
		m.input, m.stash = m.stash, m.input
		m.menu.update(m)
	case name == "ctrl+v":
		m.pasteImage()
	case name == "?" && empty:
		m.open(m.helpScreen())
	default:
		m.write(name, text)
	}
}

// write applies an editor key to the prompt, or inserts text.
func (m *model) write(name, text string) {
	m.typed = m.now()
	if !m.input.Key(name) {
		if text == "" {
			return
		}
		if m.input.Empty() { // not all terminals report the focus
			m.start(m.refresh())
		}
		m.input.Insert(text)
	}
	m.menu.update(m)
	switch before := m.input.Before(); {
	case before == "/":
		m.loadCommands()
	case text != "" && lastWord(before) == "@":
		m.loadFiles()
	}
}

// recall puts an earlier prompt into the input: a waiting one if possible, else one from the history.
func (m *model) recall(by int) {
	if waiting := m.waiting(); by < 0 && m.input.Empty() && len(waiting) > 0 {
		m.editWaiting(waiting[len(waiting)-1])
	} else {
		m.history.Move(&m.input, by)
	}
}

// enterPrompt sends the prompt, or runs its command.
func (m *model) enterPrompt() {
	text, files := m.input.Text()
	switch {
	case strings.HasSuffix(m.input.Before(), `\`):
		m.input.Complete(1, "\n")
	case strings.TrimSpace(text) == "" && len(files) == 0:
	case m.creating:
		m.say("the session is being created; press Enter again")
	default:
		draft := m.input
		m.input.Set("")
		m.start(m.remember(text))
		m.run(draft, text, files)
	}
}

// paste handles pasted text. A long text becomes a chip, a path of an image an attachment.
func (m *model) paste(text string) {
	m.toast = toast{}
	if top := m.top(); top != nil {
		if m.fits(tea.KeyPressMsg{Text: text}) {
			top.Paste(text)
			return
		}
		if m.startle(); len(m.dialogs) > 0 { // the paste, and probably the next key, are meant for the prompt
			return
		}
	}
	if paths := edit.ImagePaths(text); len(paths) > 0 {
		attach(&m.input, paths...)
		return
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if edit.Long(text) {
		label := fmt.Sprintf("[Pasted %d characters]", len(text))
		if lines := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1; lines > 1 {
			label = "[Pasted " + view.Plural(lines, "line") + "]"
		}
		m.input.InsertChip(edit.Chip{Label: label, Text: text})
	} else {
		m.input.Insert(text)
	}
	m.menu.update(m)
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
	t, row := m.thread(), c.Y
	if t.Info.ParentID != "" {
		row-- // below the title
	}
	t.Toggle(t.List.At(row))
}

// Package dialog implements the dialogs of the terminal UI: lists, questions, long texts. A dialog handles keys and draws itself. It knows neither
// the screen nor the host: it passes the user's choice to a function of its owner, which carries it out.
package dialog

import (
	"cmp"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
)

// Dialog occupies the lower part of the screen; a *Pager, all of it. It receives all keys while it is open.
type Dialog interface {
	// Key handles a key; done closes the dialog.
	Key(k tea.KeyPressMsg) (done bool)
	// Paste handles pasted text.
	Paste(text string)
	// View draws the dialog. A nil caret is not shown; its position is relative to the first line.
	View(c Canvas) (lines []string, caret *tea.Position)
}

// Canvas describes the area in which a dialog draws.
type Canvas struct {
	Theme  *draw.Theme
	Width  int         // of each line, in columns
	Height int         // maximum number of lines
	Method ansi.Method // the terminal's way of counting columns
	// Ready reports whether keys answer a question. They do not in its first moments, because they were meant for the prompt.
	Ready bool
}

// Usual returns a key under its usual name: terminals with the Kitty protocol report keys such as ctrl+[ instead of esc. Shortcuts follow the
// user's keyboard layout if its letters are Latin, else a US keyboard.
func Usual(k tea.KeyPressMsg) tea.KeyPressMsg {
	if k.Code < utf8.RuneSelf {
		k.BaseCode = 0
	}
	if code, ok := controls[k.Keystroke()]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	return k
}

// controls are the keys that are control characters in ASCII.
var controls = map[string]rune{"ctrl+[": tea.KeyEscape, "ctrl+i": tea.KeyTab, "ctrl+m": tea.KeyEnter}

// plain returns the label of a chip for inputs that do not paint chips.
func plain(label string) string { return label }

// marked returns the text of a choice or field, with a mark if it is the current one.
func marked(c Canvas, text string, current bool) string {
	if current && c.Ready {
		return draw.Paint(c.Theme.Accent, "› ") + draw.Paint("1", text)
	}
	return "  " + text
}

// Line asks for one line of text.
type Line struct {
	Title  string
	Input  edit.Editor
	Secret bool   // the text is not shown
	Hint   string // the keys; empty: those for saving
	Done   func(text string)
}

// Key implements Dialog.
func (l *Line) Key(k tea.KeyPressMsg) bool {
	switch name := k.String(); name {
	case "esc", "ctrl+c":
		return true
	case "enter":
		text, _ := l.Input.Text()
		if text = strings.TrimSpace(text); text != "" {
			l.Done(text)
			return true
		}
	default:
		l.Input.Type(name, k.Text)
	}
	return false
}

// Paste implements Dialog.
func (l *Line) Paste(text string) { l.Input.Insert(strings.Join(strings.Fields(text), " ")) }

// View implements Dialog.
func (l *Line) View(c Canvas) ([]string, *tea.Position) {
	shown := &l.Input
	if l.Secret {
		text, _ := l.Input.Text()
		shown = &edit.Editor{}
		shown.Insert(strings.Repeat("•", min(utf8.RuneCountInString(text), c.Width-8)))
	}
	rows, row, column := shown.View(max(4, c.Width-6), c.Height/3, c.Method, plain)
	out := []string{terminal.Fit(" "+draw.Paint("1", l.Title), c.Width)}
	for _, r := range rows {
		out = append(out, "  "+draw.Paint(c.Theme.Accent, "›")+" "+r)
	}
	hint := draw.Paint(c.Theme.Faint, cmp.Or(l.Hint, "enter save · esc cancel"))
	return append(out, " "+hint), &tea.Position{X: 4 + column, Y: 1 + row}
}

// Wait shows the progress of a sign-in.
type Wait struct {
	Title   string
	Lines   []string // safe text
	Address string   // ctrl+y passes it to Copy; may be empty
	Copy    func(address string)
	Cancel  func() // called when the user closes the dialog
	Ask     *Line  // asks for a text in the meantime; nil: none. Its Done must not block; the dialog stays open
}

// Key implements Dialog.
func (w *Wait) Key(k tea.KeyPressMsg) bool {
	switch name := k.String(); {
	case name == "esc" || name == "ctrl+c":
		w.Cancel()
		return true
	case name == "ctrl+y" && w.Address != "":
		w.Copy(w.Address)
	case w.Ask != nil && w.Ask.Key(k):
		w.Ask.Input.Set("")
	}
	return false
}

// Paste implements Dialog.
func (w *Wait) Paste(text string) {
	if w.Ask != nil {
		w.Ask.Input.Insert(strings.Join(strings.Fields(text), ""))
	}
}

// View implements Dialog.
func (w *Wait) View(c Canvas) ([]string, *tea.Position) {
	out := []string{terminal.Fit(" "+draw.Paint("1", w.Title), c.Width)}
	for _, line := range w.Lines {
		out = append(out, draw.Indent("   ", draw.Wrap(line, c.Width-4))...)
	}
	hint := "esc cancel"
	if w.Address != "" {
		hint = "ctrl+y copy the address · " + hint
	}
	tail, at := []string{terminal.Fit(" "+draw.Paint(c.Theme.Faint, hint), c.Width)}, (*tea.Position)(nil)
	if w.Ask != nil {
		w.Ask.Hint = hint
		tail, at = w.Ask.View(c)
	}
	out = out[:min(len(out), max(1, c.Height-len(tail)))]
	if at != nil {
		at.Y += len(out)
	}
	return append(out, tail...), at
}

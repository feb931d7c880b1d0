package dialog

import (
	"cmp"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/edit"
)

// Line asks for a short text, which a paste may break into lines. It also shows the progress of an operation that may ask for a text: see Cancel.
type Line struct {
	Title  string
	Input  edit.Editor
	Secret bool              // the text is not shown
	Hint   string            // the keys; empty: the keys for saving
	Done   func(text string) // must not block; nil: no text is wanted

	// Cancel ends an operation when the user closes the dialog. A dialog with Cancel stays open after Done until its owner closes it.
	// If nil, the dialog only asks.
	Cancel  func()
	Lines   []string // the progress, or a description of the text, as safe text
	Label   string   // of the input
	Address string   // ctrl+y passes it to Copy; may be empty
	Copy    func(address string)
}

// Key implements Dialog.
func (l *Line) Key(k tea.KeyPressMsg) bool {
	text, _ := l.Input.Text()
	text = strings.TrimSpace(text)
	switch name := k.String(); {
	case name == "esc" || name == "ctrl+c":
		if l.Cancel != nil {
			l.Cancel()
		}
		return true
	case name == "ctrl+y" && l.Address != "":
		l.Copy(l.Address)
	case l.Done == nil || name == "enter" && text == "":
	case name == "enter":
		l.Input.Set("")
		l.Done(text)
		return l.Cancel == nil
	default:
		l.Input.Type(name, k.Text)
	}
	return false
}

// Paste implements Dialog.
func (l *Line) Paste(text string) {
	if l.Done != nil {
		l.Input.Insert(text)
	}
}

// View implements Dialog.
func (l *Line) View(c Canvas) ([]string, *tea.Position) {
	var tail []string
	var at *tea.Position
	if l.Done != nil {
		if l.Label != "" {
			tail = append(tail, c.title(l.Label))
		}
		rows, caret := c.input(l.shown(c.Width), "›", c.Height/3)
		caret.Y += len(tail)
		tail, at = append(tail, rows...), &caret
	}
	hint := cmp.Or(l.Hint, "enter save · esc cancel")
	if l.Address != "" {
		hint = "ctrl+y copy the address · " + hint
	}
	tail = append(tail, c.hint(hint))
	out := []string{c.title(l.Title)}
	for _, line := range l.Lines {
		out = append(out, draw.Indent("   ", draw.Wrap(line, c.Width-4))...)
	}
	out = out[:min(len(out), max(1, c.Height-len(tail)))]
	if at != nil {
		at.Y += len(out)
	}
	return append(out, tail...), at
}

// shown returns the text that is on the screen.
func (l *Line) shown(width int) *edit.Editor {
	if !l.Secret {
		return &l.Input
	}
	text, _ := l.Input.Text()
	hidden := &edit.Editor{}
	hidden.Insert(strings.Repeat("•", min(utf8.RuneCountInString(text), max(0, width-8))))
	return hidden
}

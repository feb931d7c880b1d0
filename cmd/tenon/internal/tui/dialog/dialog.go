// Package dialog implements the dialogs of the terminal UI: lists, questions, long texts. A dialog handles keys and draws itself. It knows neither
// the screen nor the host: it passes the user's choice to a function of its owner, which carries it out.
package dialog

import (
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
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

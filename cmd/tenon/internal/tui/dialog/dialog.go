// Package dialog has the dialogs of the terminal UI: lists, questions, long texts. A dialog handles keys and draws itself. It knows neither the
// screen nor the host: it passes the user's choice to a function of its owner, which returns the command that carries it out.
package dialog

import (
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/cmd/tenon/internal/tui/draw"
)

// Dialog is the lower part of the screen, for a *Pager all of it. It gets all keys while it is open.
type Dialog interface {
	// Key handles a key; done closes the dialog.
	Key(k tea.KeyPressMsg) (done bool, cmd tea.Cmd)
	// Paste handles pasted text.
	Paste(text string)
	// View draws the dialog. The caret is shown if it has a position, counted from the first line.
	View(c Canvas) (lines []string, caret *tea.Position)
}

// Canvas describes the place that a dialog draws into.
type Canvas struct {
	Theme  *draw.Theme
	Width  int         // of each line, in columns
	Height int         // maximum number of lines
	Method ansi.Method // how the terminal counts columns
	// Ready reports whether keys answer a question: not in the first moment, in which they were meant for the prompt.
	Ready bool
}

// Usual returns a key by its usual name: terminals with the Kitty protocol report ctrl+[ and its kind as themselves. Shortcuts are those of the
// user's layout, if its letters are Latin, else those of a US keyboard.
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

// plain is the label of a chip in an input that paints none.
func plain(label string) string { return label }

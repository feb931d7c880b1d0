// Package dialog implements the dialogs of the terminal UI: lists, questions, long texts. A dialog handles keys and draws itself. It knows neither
// the screen nor the host: it passes the user's choice to a function of its owner, which carries it out.
package dialog

import (
	"fmt"
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
	// Ready reports whether keys answer a question. In its first moments they do not, because they were probably meant for the prompt.
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

// controls are the keys that are control characters in ASCII. Two esc keys that arrive together, as over a slow connection, look like
// alt+esc.
var controls = map[string]rune{"ctrl+[": tea.KeyEscape, "ctrl+i": tea.KeyTab, "ctrl+m": tea.KeyEnter, "alt+esc": tea.KeyEscape}

// title draws a line in bold.
func (c Canvas) title(text string) string { return terminal.Fit(" "+draw.Paint("1", text), c.Width) }

// hint draws a line about the keys.
func (c Canvas) hint(text string) string {
	return terminal.Fit(" "+draw.Paint(c.Theme.Faint, text), c.Width)
}

// marked returns the text of an option, with a mark if it is the current one. Before keys can answer, no option is marked: a mark would
// suggest that they can.
func (c Canvas) marked(text string, current bool) string {
	if current && c.Ready {
		return draw.Paint(c.Theme.Accent, "› ") + draw.Paint("1", text)
	}
	return "  " + text
}

// input draws an input in at most room lines, after a mark, and returns the position of its caret.
func (c Canvas) input(e *edit.Editor, mark string, room int) (lines []string, caret tea.Position) {
	plain := func(label string) string { return label } // of a chip
	lines, row, column := e.View(max(4, c.Width-6), room, c.Method, plain)
	for i, line := range lines {
		if i > 0 {
			mark = " "
		}
		lines[i] = "  " + draw.Paint(c.Theme.Accent, mark) + " " + line
	}
	return lines, tea.Position{X: 4 + column, Y: row}
}

// scroller shows the part of a text that fits.
type scroller struct{ top int }

// key scrolls, and returns false for other keys.
func (s *scroller) key(name string) bool {
	by, ok := map[string]int{"pgup": -5, "pgdown": 5}[name]
	s.top += by
	return ok
}

// view returns the lines that fit into room lines. place describes their position; it is empty if all lines fit.
func (s *scroller) view(lines []string, room int) (shown []string, place string) {
	s.top = max(0, min(s.top, len(lines)-room))
	shown = lines[s.top:min(len(lines), s.top+room)]
	if len(lines) > room {
		place = fmt.Sprintf("lines %d-%d of %d · pgup pgdn", s.top+1, s.top+room, len(lines))
	}
	return shown, place
}

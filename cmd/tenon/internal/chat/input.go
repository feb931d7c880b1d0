package chat

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/turn"
)

// howToLeave is shown for Ctrl-C on an empty line.
const howToLeave = "press Ctrl-C again, Ctrl-D or type /exit to exit"

// editSource lets the user edit prompts on a terminal.
type editSource struct {
	s       *terminal.Screen
	keys    *terminal.Keyboard
	log     *slog.Logger
	history *promptHistory
	editor  *lineEditor
	prompt  func() string

	restore func() // restores the terminal; nil: it is not in raw mode
	broken  error  // error of setting up the terminal
	ahead   bool   // the next piece was typed in line mode
	asked   bool   // Ctrl-C came on an empty line just now
}

// begin shows the prompt and starts to read keys.
func (e *editSource) begin() {
	restore, err := terminal.RawInput(e.keys.In)
	if err != nil {
		e.broken = fmt.Errorf("set up the terminal for editing: %w", err)
		return
	}
	e.restore = restore
	e.keys.Ended = false // an end of input at a question ends only the question; a closed terminal reports it again
	e.ahead = e.keys.Reading || terminal.TypedAhead(e.keys.In)
	e.s.Control("\x1b[?2004h") // bracketed paste
	e.draw()
}

// end restores the terminal.
func (e *editSource) end() {
	if e.restore == nil {
		return
	}
	e.s.Edit(nil)
	e.s.Control("\x1b[?2004l")
	e.restore()
	e.restore = nil
}

func (e *editSource) draw() { e.s.Edit(e.editor.layout(e.s, e.prompt())) }

// resized draws the text for the new size.
func (e *editSource) resized() { e.draw() }

// interrupted handles a signal. While a prompt is edited, Ctrl-C is a key.
func (e *editSource) interrupted() bool { return e.interrupt() }

// suggest puts text where the user can edit it.
func (e *editSource) suggest(text string) { e.editor.set(pasted(text)) }

// entry handles typed keys up to the one that ends a prompt.
func (e *editSource) entry() promptEntry {
	if e.broken != nil {
		return promptEntry{kind: entryLeave, err: e.broken}
	}
	if e.ahead && len(e.keys.Buf) > 0 { // in line mode, Enter was a line feed
		e.keys.Buf = bytes.ReplaceAll(e.keys.Buf, []byte("\n"), []byte("\r"))
		e.ahead = false
	}
	used, changed := 0, false
	defer func() { e.keys.Buf = e.keys.Buf[used:] }()
	for {
		k, n := nextKey(e.keys.Buf[used:])
		if n == 0 {
			break
		}
		used, changed = used+n, true
		if done := e.press(k); done.kind != entryNone {
			return done
		}
	}
	if e.keys.Ended {
		return promptEntry{kind: entryLeave}
	}
	if changed {
		e.draw()
	}
	return promptEntry{}
}

func (e *editSource) press(k key) promptEntry {
	result := e.editor.press(k)
	if result != editInterrupt {
		e.asked = false
	}
	switch result {
	case editEntered:
		block := opensBlock(string(e.editor.text))
		return promptEntry{kind: entryPrompt, text: e.enter(), verbatim: block}
	case editEnds:
		return promptEntry{kind: entryLeave}
	case editSuspend:
		return promptEntry{kind: entrySuspend}
	case editClear:
		e.s.Control("\x1b[H\x1b[2J")
	case editInterrupt:
		if e.interrupt() {
			return promptEntry{kind: entryLeave}
		}
	}
	return promptEntry{}
}

// enter ends a prompt: it remains on the screen and is added to the history.
func (e *editSource) enter() string {
	text := composed(string(e.editor.text))
	block := e.editor.layout(e.s, e.prompt())
	e.s.Entered(block)
	if strings.TrimSpace(text) != "" {
		if err := e.history.add(string(e.editor.text), time.Now()); err != nil {
			e.log.Warn("prompts are no longer saved", "err", err)
			e.history.path = "" // report it only once
		}
		e.editor.history = e.history.entries
	}
	e.editor.reset()
	return text
}

// interrupt clears the text. It reports whether the chat ends: at the second interrupt of an empty text.
func (e *editSource) interrupt() bool {
	if len(e.editor.text) > 0 {
		e.editor.reset()
		e.draw()
		return false
	}
	if e.asked {
		return true
	}
	e.asked = true
	e.s.Line(e.s.Paint(terminal.Dim, howToLeave))
	return false
}

// lineSource reads prompts from stdin, one per line. Unfinished lines are joined.
type lineSource struct {
	keys   *terminal.Keyboard
	screen *terminal.Screen // nil: stdin is not a terminal
	prompt func() string    // with screen

	text  string // of unfinished lines
	shown bool   // the prompt is on the screen
	asked bool   // Ctrl-C came on an empty line just now
}

// begin shows the prompt.
func (l *lineSource) begin() {
	if l.screen != nil && !l.shown {
		l.keys.Ended = false // as in editSource
		l.screen.Ask(l.prompt())
		l.shown = true
	}
}

func (l *lineSource) end() {}

func (l *lineSource) resized() {}

func (l *lineSource) suggest(string) {}

// interrupted reports whether the chat ends: at the second interrupt of an empty line, or if stdin is not a terminal.
func (l *lineSource) interrupted() bool {
	if l.screen == nil || l.asked && l.text == "" {
		return true
	}
	l.asked, l.text, l.shown = true, "", false
	l.keys.Buf = nil
	l.screen.Line(howToLeave)
	l.begin()
	return false
}

// entry reads lines up to the end of a prompt.
func (l *lineSource) entry() promptEntry {
	for {
		line, ok := l.keys.Line()
		if !ok {
			return l.rest()
		}
		l.answered()
		l.text += strings.ToValidUTF8(line, "\uFFFD")
		if unfinished(l.text) {
			if !opensBlock(l.text) {
				l.text = strings.TrimSuffix(l.text, `\`)
			}
			l.text += "\n"
			continue
		}
		done := promptEntry{kind: entryPrompt, text: composed(l.text), verbatim: opensBlock(l.text)}
		l.text = ""
		return done
	}
}

// answered records that the user ended a line.
func (l *lineSource) answered() {
	l.asked, l.shown = false, false
	if l.screen != nil {
		l.screen.Answered()
	}
}

// rest returns the entry if there is no complete line.
func (l *lineSource) rest() promptEntry {
	switch {
	case len(l.keys.Buf)+len(l.text) > turn.MaxStdin:
		return promptEntry{kind: entryLeave, err: cli.UsageError("save it to a file and name the file in the prompt", "a prompt on stdin is larger than %d MiB", turn.MaxStdin>>20)}
	case !l.keys.Ended:
		return promptEntry{}
	case opensBlock(l.text):
		l.text = ""
		return promptEntry{kind: entryLeave, err: cli.UsageError(fmt.Sprintf("end it with %s", blockMark), "stdin ended inside a prompt that begins with %s", blockMark)}
	case l.text != "":
		text := strings.TrimSuffix(l.text, "\n")
		l.text = ""
		return promptEntry{kind: entryPrompt, text: text}
	}
	return promptEntry{kind: entryLeave}
}

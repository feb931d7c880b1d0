package chat

import (
	"fmt"
	"io"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/turn"
)

// howToLeave is shown after Ctrl-C between turns.
const howToLeave = "press Ctrl-C again, Ctrl-D or type /exit to exit"

// lineSource reads prompts from stdin, one per line. Unfinished lines are joined. The terminal edits lines itself.
type lineSource struct {
	keys   *terminal.Keyboard
	screen *terminal.Screen // nil: stdin is not a terminal
	prompt func() string    // returns the prompt string; set with screen

	text  string // unfinished lines
	shown bool   // the prompt string is on the screen
	asked bool   // Ctrl-C was just pressed on an empty line
}

// begin shows the prompt.
func (l *lineSource) begin() {
	if l.screen != nil && !l.shown {
		l.keys.Ended = false // end of input at a question ends only the question; a closed terminal reports it again
		l.screen.Ask(l.prompt())
		l.shown = true
	}
}

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

// entry reads lines up to the end of a prompt. It returns nil if more input is needed, and io.EOF at the end of the prompts.
func (l *lineSource) entry() (*promptEntry, error) {
	for {
		line, ok := l.keys.Line()
		if !ok {
			return l.rest()
		}
		l.answered()
		if l.screen != nil { // the user pressed Esc to stop or clear something, and the terminal put it into the line
			line = strings.TrimLeft(line, "\x1b")
		}
		l.text += strings.ToValidUTF8(line, "\uFFFD")
		if unfinished(l.text) {
			if !opensBlock(l.text) {
				l.text = strings.TrimSuffix(l.text, `\`)
			}
			l.text += "\n"
			continue
		}
		done := &promptEntry{composed(l.text), opensBlock(l.text)}
		l.text = ""
		return done, nil
	}
}

// answered records that the user ended a line.
func (l *lineSource) answered() {
	l.asked, l.shown = false, false
	if l.screen != nil {
		l.screen.Answered()
	}
}

// rest returns the prompt that lacks a line end; see entry.
func (l *lineSource) rest() (*promptEntry, error) {
	switch {
	case len(l.keys.Buf)+len(l.text) > turn.MaxStdin:
		return nil, cli.UsageError("save it to a file and name the file in the prompt", "a prompt on stdin is larger than %d MiB", turn.MaxStdin>>20)
	case !l.keys.Ended:
		return nil, nil
	case opensBlock(l.text):
		l.text = ""
		return nil, cli.UsageError(fmt.Sprintf("end it with %s", blockMark), "stdin ended inside a prompt that begins with %s", blockMark)
	case l.text != "":
		text := strings.TrimSuffix(l.text, "\n")
		l.text = ""
		return &promptEntry{text: text}, nil
	}
	return nil, io.EOF
}

// blockMark begins and ends a prompt of several lines.
const blockMark = `"""`

// opensBlock reports whether a text begins with the mark of a block.
func opensBlock(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), blockMark) }

// unfinished reports whether a text continues in the next line: it ends in an odd number of backslashes, or is an open block.
func unfinished(text string) bool {
	if opensBlock(text) {
		inner := strings.TrimPrefix(strings.TrimSpace(text), blockMark)
		return !strings.HasSuffix(inner, blockMark)
	}
	return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
}

// composed returns the prompt of a finished text: a block without its marks.
func composed(text string) string {
	if !opensBlock(text) {
		return text
	}
	inner := strings.TrimPrefix(strings.TrimSpace(text), blockMark)
	return strings.Trim(strings.TrimSuffix(inner, blockMark), "\n")
}

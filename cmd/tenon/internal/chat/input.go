package chat

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/turn"
)

const (
	// howToLeave is shown after Ctrl-C between turns.
	howToLeave = "press Ctrl-C again, Ctrl-D or type /exit to exit"
	// blockMark begins and ends a prompt of several lines.
	blockMark = `"""`
)

// promptEntry is the user's input, which may be empty. verbatim means that it is a prompt even if it looks like a command.
type promptEntry struct {
	text     string
	verbatim bool
}

// lineInput is the state of prompts that are read from stdin, line by line. Unfinished lines are joined. The terminal edits lines itself.
type lineInput struct {
	prompted   bool   // the prompt string is on the screen
	unfinished string // lines
	warned     bool   // Ctrl-C was just pressed on an empty line
}

// next waits for the next prompt, and reloads changed plugins in the meantime. It returns nil after the last prompt.
func (c *conversation) next(ctx context.Context) *promptEntry {
	for {
		c.showPrompt()
		for line, ok := c.keys.Line(); ok; line, ok = c.keys.Line() {
			if e := c.input(line); e != nil {
				return e
			}
		}
		if e, more := c.lastEntry(); e != nil || !more {
			return e
		}
		c.showPrompt() // for the next line of an unfinished prompt
		c.keys.Want()
		select {
		case p := <-c.keys.Pieces:
			c.keys.Took(p)
		case s := <-c.signals:
			if c.interruptedBetween(s) {
				return nil
			}
		case <-c.watcher.ticks():
			if c.watcher.changed() {
				if c.load(ctx) {
					return nil
				}
				c.prompted = false
			}
		}
	}
}

func (c *conversation) showPrompt() {
	if c.m.Options.Interactive && !c.prompted {
		c.keys.Ended = false // end of input at a question ends only the question; a closed terminal reports it again
		c.a.Screen.Ask(c.promptText())
		c.prompted = true
	}
}

// interruptedLine reports whether the conversation ends: a chat on a terminal at the second interrupt of an empty line, others at the first.
func (c *conversation) interruptedLine() bool {
	if !c.m.Options.Interactive || !c.commands || c.warned && c.unfinished == "" {
		return true
	}
	c.warned, c.unfinished, c.prompted = true, "", false
	c.keys.Buf = nil
	c.a.Screen.Line(howToLeave)
	return false
}

// input takes a line, and returns the prompt that it finishes, or nil.
func (c *conversation) input(line string) *promptEntry {
	c.warned, c.prompted = false, false
	if c.m.Options.Interactive {
		c.a.Screen.Answered()
		line = strings.TrimLeft(line, "\x1b") // the user pressed Esc to stop or clear something, and the terminal put it into the line
	}
	c.unfinished += strings.ToValidUTF8(line, "\uFFFD")
	text, block, done := composed(c.unfinished)
	if !done {
		if !block {
			c.unfinished = strings.TrimSuffix(c.unfinished, `\`)
		}
		c.unfinished += "\n"
		return nil
	}
	c.unfinished = ""
	return &promptEntry{text, block}
}

// lastEntry returns the prompt that lacks a line end, if stdin has ended, and reports whether more input may follow.
func (c *conversation) lastEntry() (e *promptEntry, more bool) {
	_, block, _ := composed(c.unfinished)
	switch {
	case len(c.keys.Buf)+len(c.unfinished) > turn.MaxStdin:
		c.problem(cli.UsageError("save it to a file and name the file in the prompt", "a prompt on stdin is larger than %d MiB", turn.MaxStdin>>20))
	case !c.keys.Ended:
		return nil, true
	case block:
		c.problem(cli.UsageError(fmt.Sprintf("end it with %s", blockMark), "stdin ended inside a prompt that begins with %s", blockMark))
	case c.unfinished != "":
		e = &promptEntry{text: strings.TrimSuffix(c.unfinished, "\n")}
		c.unfinished = ""
	}
	return e, false
}

// composed returns the prompt of a text: a block without its marks. done is false if it continues in the next line: it is an open block, or ends in
// an odd number of backslashes.
func composed(text string) (prompt string, block, done bool) {
	inner, block := strings.CutPrefix(strings.TrimSpace(text), blockMark)
	if !block {
		return text, false, (len(text)-len(strings.TrimRight(text, `\`)))%2 == 0
	}
	inner, done = strings.CutSuffix(inner, blockMark)
	return strings.Trim(inner, "\n"), true, done
}

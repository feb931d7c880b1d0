package main_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// Ctrl+S puts a draft aside with its chips, and restores it after another prompt.
func TestTUIStash(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("First."), fakellm.Text("Second."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x")
	x.shows("Ask anything")
	x.enter("draft with \x1b[200~" + strings.Repeat("line\n", 20) + "\x1b[201~")
	x.shows("draft with [Pasted 20 lines]")
	x.enter("\x13") // ctrl+s
	x.shows("ctrl+s restores your draft")
	x.hides("draft with")
	x.enter("quick\r")
	x.shows("First.")
	x.enter("\x13")
	x.shows("draft with [Pasted 20 lines]")
	x.enter("\r")
	x.shows("Second.")
	x.leave()
	turns := s.Turns()
	if got := turns[len(turns)-1].LastUser(); strings.Count(got, "line\n") != 20 {
		t.Errorf("the model got %q", got)
	}
}

// A pinned session is the first of the list, in the next process too.
func TestTUIPinnedSession(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("One."), fakellm.Text("Two."))
	p := newProcess(t, s.URL())
	p.inProject(t)
	p.output(t, 0, "run", "--title", "older", "first")
	p.output(t, 0, "run", "--title", "newer", "second")
	order := func(screen string) bool { return strings.Index(screen, "older") < strings.Index(screen, "newer") }
	x := p.onScreen(t, 80, 24)
	x.shows("Ask anything")
	x.enter("\x18l")
	if screen := x.shows("2 of 2"); order(screen) {
		t.Errorf("the older session is the first:\n%s", screen)
	}
	x.enter("older")
	x.shows("1 of 2")
	x.enter("\x14") // ctrl+t
	x.shows("pinned · ")
	x.enter("\x15")
	x.until("the pinned session first", func(screen string) bool { return strings.Contains(screen, "2 of 2") && order(screen) })
	x.enter("\x1b")
	x.hides("2 of 2")
	x.leave()
	x = p.onScreen(t, 80, 24)
	x.shows("Ask anything")
	x.enter("\x18l")
	x.until("the pinned session first", func(screen string) bool { return strings.Contains(screen, "pinned · ") && order(screen) })
	x.enter("\x1b")
	x.hides("2 of 2")
	x.leave()
}

// Without mode 2027, terminals disagree about the width of joined emoji: their parts are shown. The caret is behind the last character, and
// long lines are not cut.
func TestTUIJoinedEmoji(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("Seen."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 50, 24, "--title", "x") // the emulator does not know the mode
	x.shows("Ask anything")
	x.enter(strings.Repeat("\U0001F468\u200d\U0001F469\u200d\U0001F467 ", 12) + "end")
	const parts = "\U0001F468\U0001F469\U0001F467 "
	x.shows("› " + strings.Repeat(parts, 6)[:6*len(parts)-1] + "\n  " + strings.Repeat(parts, 6) + "end\n")
	x.until("the caret behind the end", func(string) bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		at := x.emulator.CursorPosition()
		before := x.emulator.CellAt(at.X-1, at.Y)
		return at.X == 2+6*7+3 && before.Content == "d"
	})
	x.enter("\r")
	x.shows("Seen.")
	if screen := x.idle(); strings.Count(screen, parts[:len(parts)-1]) != 12 || !strings.Contains(screen, "end\n") {
		t.Errorf("the sent prompt is cut:\n%s", screen)
	}
	x.leave()
	if prompt := s.Turns()[0].LastUser(); strings.Count(prompt, "\u200d") != 24 {
		t.Errorf("the model got %q", prompt)
	}
}

// A row with emoji that terminals without mode 2027 show wider is cut as any other: its end is marked.
func TestTUIWideEmojiCut(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("One."))
	p := newProcess(t, s.URL())
	p.inProject(t)
	p.output(t, 0, "run", "--title", strings.Repeat("\U0001F44D\U0001F3FD", 20), "first")
	x := p.onScreen(t, 50, 24)
	x.shows("Ask anything")
	x.enter("\x18l")
	x.until("the cut title", func(screen string) bool {
		return slices.ContainsFunc(strings.Split(screen, "\n"), func(line string) bool {
			return strings.Contains(line, "\U0001F44D") && strings.HasSuffix(strings.TrimSpace(line), "…")
		})
	})
	x.enter("\x1b")
	x.hides("\U0001F44D")
	x.leave()
}

// A prompt may begin with a path, even with one that resembles a command.
func TestTUIPathPrompt(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("Seen."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x")
	x.shows("Ask anything")
	x.enter("/content/sample_data is empty\r")
	x.shows("Seen.")
	x.leave()
	if prompt := s.Turns()[0].LastUser(); prompt != "/content/sample_data is empty" {
		t.Errorf("the model got %q", prompt)
	}
}

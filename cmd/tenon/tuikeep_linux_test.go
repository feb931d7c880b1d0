package main_test

import (
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

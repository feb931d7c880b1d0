package main_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// full makes every write of the process to a file fail, or allows them again.
func (x *tui) full(full bool) {
	x.t.Helper()
	limit := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if full {
		limit.Cur = 0
	}
	if err := unix.Prlimit(x.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		x.t.Fatal(err)
	}
}

// Prompts that wait for a turn that cannot be stored are not given back: they reach the model once, with the next prompt.
func TestTUIFullDiskWhilePromptsWait(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	s := fakellm.New(t, fakellm.Text("First.").Wait(hold).Text("The end."), fakellm.Text("Two."), fakellm.Text("Three."), fakellm.Text("Four."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 100, 30, "--title", "x")
	x.shows("Ask anything")
	x.enter("first\r")
	x.shows("First.")
	x.enter("waiting one\r")
	x.shows("waits waiting one")
	x.enter("waiting two\r")
	x.shows("waits waiting two")
	x.full(true)
	close(hold)
	x.shows("waits for your next prompt: waiting one")
	x.shows("waits for your next prompt: waiting two")
	x.full(false)
	x.enter("third\r")
	x.shows("Four.")
	x.idle()
	x.leave()
	raw := string(s.Turns()[3].Raw)
	for _, prompt := range []string{"waiting one", "waiting two", "third"} {
		if strings.Count(raw, prompt) != 1 {
			t.Errorf("%q is not in the request once: %s", prompt, raw)
		}
	}
}

// A full disk: each failure is shown once, a prompt that could not be stored returns to the input, and work continues when there is space.
func TestTUIFullDisk(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	s := fakellm.New(t, fakellm.Text("First."), fakellm.Text("Second.").Wait(hold).Text("The end."), fakellm.Text("Third."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 100, 30, "--title", "x")
	x.shows("Ask anything")
	x.full(true)
	x.enter("first\r")
	const problem = "no space left for the session store"
	once := func(screen string) bool {
		return strings.Count(screen, problem) == 1 && strings.Contains(screen, "free disk space")
	}
	x.shows("› first")
	x.until("the failure, once", once)
	x.full(false)
	x.enter("\r")
	x.shows("First.")
	x.idle()
	x.full(true)
	x.enter("second\r")
	x.shows("› second")
	x.until("the failure, once", once)
	x.full(false)
	x.enter("\r")
	x.shows("Second.")
	x.full(true)
	close(hold)
	x.shows("error: " + problem)
	x.until("the failure, once", once)
	x.full(false)
	x.enter("third\r")
	x.shows("Third.")
	screen := x.idle()
	for _, want := range []string{"┃ first", "First.", "┃ second", "Second.", "┃ third"} {
		if strings.Count(screen, want) != 1 {
			t.Errorf("%q is not on the screen once:\n%s", want, screen)
		}
	}
	x.leave()
	if raw := string(s.Turns()[2].Raw); !strings.Contains(raw, "second") || !strings.Contains(raw, "Second.") {
		t.Errorf("the model got %s", raw)
	}
}

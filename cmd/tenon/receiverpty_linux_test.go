package main_test

import (
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// On a terminal the user is asked who receives the conversation, before anything is sent; the answer is remembered.
func TestTerminalAsksForReceivers(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("Hello."), fakellm.Text("Hello again."))
	p := newProcess(t, "")
	p.env = append(p.env[:len(p.env)-1], "TENON_CONFIG_CONTENT={}")
	put(t, filepath.Join(p.work, "tenon.json"), fakeConfig(s.URL()))
	x := p.onTerminal(t, "run", "--title", "x", "hi")
	x.expect("fake at " + s.URL() + " receives conversations")
	x.expect("tenon.json")
	x.expect("approve it? [y/N]")
	x.enter("n\n")
	x.expect("receiver is not approved")
	if code := x.code(); code != 5 {
		t.Errorf("exit code %d, want 5", code)
	}
	if n := len(s.Requests()); n > 0 {
		t.Fatalf("%d requests without approval", n)
	}
	x = p.onTerminal(t, "run", "--title", "x", "hi")
	x.expect("approve it? [y/N]")
	x.enter("y\n")
	x.expect("Hello.")
	if code := x.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p.output(t, 0, "run", "--title", "x", "hi")
}

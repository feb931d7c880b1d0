package main_test

import (
	"path/filepath"
	"strings"
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

// The terminal UI sends nothing to a model that the repository chose and the user refused.
func TestTUIRefusedReceiver(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t)
	p := newProcess(t, "")
	p.inProject(t)
	p.env = append(p.env[:len(p.env)-1], "TENON_CONFIG_CONTENT={}")
	own := strings.Replace(fakeConfig(s.URL()), "fake/fake-model", "offline/offline", 1)
	put(t, filepath.Join(filepath.Dir(p.work), ".config", "tenon", "tenon.json"), own)
	put(t, filepath.Join(p.work, "tenon.json"), `{"model": "fake/fake-model"}`)
	x := p.onEmulator(t, 80, 24, "tui")
	x.shows("approve it? [y/N]")
	x.enter("n\r")
	x.shows("Ask anything")
	x.enter("hi\r")
	x.shows("receiver is not approved")
	x.leave()
	if n := len(s.Requests()); n > 0 {
		t.Errorf("%d requests without approval", n)
	}
}

// tenon permission approve approves nothing that the user did not confirm.
func TestApproveAsks(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	p.env = append(p.env[:len(p.env)-1], "TENON_CONFIG_CONTENT={}")
	put(t, filepath.Join(p.work, "tenon.json"), `{"permission": {"bash": "allow"}}`)
	approve := func(answer string, code int) {
		x := p.onTerminal(t, "permission", "approve")
		x.expect(`bash "*" allow`)
		x.expect("approve all of this? [y/N]")
		x.enter(answer)
		if got := x.code(); got != code {
			t.Errorf("answer %q: exit code %d, want %d", answer, got, code)
		}
	}
	approve("n\n", 5)
	approve("y\n", 0)
	if out, _ := p.output(t, 0, "permission", "approve"); !strings.Contains(out, "nothing in this project is waiting for approval") {
		t.Errorf("after the approval: %s", out)
	}
}

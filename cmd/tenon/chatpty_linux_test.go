package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// chat starts a conversation on a terminal and waits for its prompt.
func (p *process) chat(t *testing.T, args ...string) *terminal {
	t.Helper()
	x := p.onTerminal(t, append([]string{"chat", "--title", "x"}, args...)...)
	x.expect("/help lists the commands")
	x.expect("> ")
	return x
}

// say enters a line at the prompt, and waits for what it leads to and for the next prompt.
func (x *terminal) say(line, want string) {
	x.t.Helper()
	x.enter(line + "\r")
	x.expect(want)
	x.expect("> ")
}

// leave ends the conversation and checks its exit code.
func (x *terminal) leave() {
	x.t.Helper()
	x.enter("\x04")
	if code := x.code(); code != 0 {
		x.t.Errorf("exit code %d", code)
	}
}

// asked reports whether the n-th request, from 0, holds a text of the user's.
func asked(t *testing.T, s *fakellm.Server, n int, text string) {
	t.Helper()
	turns := s.Turns()
	if n >= len(turns) {
		t.Fatalf("%d requests, want more than %d", len(turns), n)
	}
	quoted, err := json.Marshal(text)
	must(t, err)
	if raw := string(turns[n].Raw); !strings.Contains(raw, string(quoted)) {
		t.Errorf("request %d does not hold %s:\n%s", n, quoted, raw)
	}
}

func TestChatTalks(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("Hello Ada."), fakellm.Text("Two lines."), fakellm.Text("A paste."), fakellm.Text("A block."), fakellm.Text("Again."))
	p := newProcess(t, s.URL())
	x := p.chat(t)
	x.say("I am Ada", "Hello Ada.")
	x.say("one\x1b\rtwo\\\rthree", "Two lines.")
	x.say("\x1b[200~pasted\rtext\r\x1b[201~end", "A paste.")
	x.say("\"\"\"\r/no command\r\"\"\"", "A block.")
	x.leave()
	x.expect("tenon chat -s ses_")
	asked(t, s, 0, "I am Ada")
	asked(t, s, 1, "one\ntwo\nthree")
	asked(t, s, 2, "pasted\ntext\nend")
	asked(t, s, 3, "/no command")

	info, err := os.Stat(filepath.Join(p.dataDir(), "chat-history.jsonl"))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the history has mode %v", info.Mode())
	}
	x = p.chat(t)                        // another process has the history of the first
	x.enter(strings.Repeat("\x1b[A", 7)) // over the lines of those that have several
	x.expect("three")
	x.say("\x12Ada", "Again.")
	x.leave()
	asked(t, s, 4, "I am Ada")
}

func TestChatAsks(t *testing.T) {
	t.Parallel()
	touch := func(name string) fakellm.Reply {
		return fakellm.Call("bash", `{"command": "touch `+name+`", "description": "make"}`)
	}
	s := fakellm.New(t, touch("one"), fakellm.Text("Made one."), touch("two"), touch("three"), fakellm.Text("Made neither."), fakellm.Text("Fine."))
	p := newProcess(t, s.URL())
	x := p.chat(t)
	x.enter("make one\r")
	x.expect("? permission bash")
	x.expect("essage: ")
	x.enter("o\r")
	x.expect("✓ bash touch one")
	x.expect("Made one.")
	x.expect("> ")
	x.enter("make two\r")
	x.expect("essage: ")
	x.enter("\x04") // the end of input refuses, and does not end the conversation
	x.expect("✗ bash touch two")
	x.expect("error: ")
	x.expect("> ")
	x.enter("make three\r")
	x.expect("essage: ")
	x.enter("a\r")
	x.expect("✓ bash touch three")
	x.expect("> ")
	x.say("/permissions", "touch *")
	x.say("/permissions forget 1", "revoked")
	x.say("/permissions", "no permanent permissions here")
	x.leave()
	for name, want := range map[string]bool{"one": true, "two": false, "three": true} {
		if _, err := os.Stat(filepath.Join(p.work, name)); (err == nil) != want {
			t.Errorf("file %s: %v", name, err)
		}
	}
}

func TestChatCtrlC(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("The beginning").Stall(), fakellm.Text("Here I am."))
	p := newProcess(t, s.URL())
	x := p.chat(t)
	x.enter("tell me\r")
	x.expect("The beginning")
	x.enter("\x03")
	x.expect("interrupting the turn")
	x.expect("interrupted; everything so far is stored")
	x.expect("> ")
	x.say("rubbish\x03are you there?", "Here I am.")
	asked(t, s, 1, "are you there?")
	x.enter("\x03")
	x.expect("press Ctrl-C again")
	x.enter("x\x7f\x03") // not in a row
	x.expect("press Ctrl-C again")
	x.enter("\x03")
	x.expect("tenon chat -s ses_")
	if code := x.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestChatTerminated(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("The beginning").Stall())
	p := newProcess(t, s.URL())
	x := p.chat(t)
	must(t, x.cmd.Process.Signal(syscall.SIGTERM))
	x.expect("error: interrupted")
	if code := x.code(); code != 130 {
		t.Errorf("exit code %d at the prompt, want 130", code)
	}
	x = p.chat(t)
	x.enter("tell me\r")
	x.expect("The beginning")
	must(t, x.cmd.Process.Signal(syscall.SIGTERM))
	x.expect("error: interrupted")
	x.expect("fix:   continue with tenon chat -s ses_")
	if code := x.code(); code != 130 {
		t.Errorf("exit code %d in a turn, want 130", code)
	}
}

func TestChatUndo(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is needed:", err)
	}
	s := fakellm.New(t, fakellm.Call("write", `{"filePath": "a.txt", "content": "model\n"}`), fakellm.Text("Written."), fakellm.Text("Anew."))
	p := newProcess(t, s.URL())
	if out, err := exec.Command("git", "init", "-q", p.work).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := filepath.Join(p.work, "a.txt")
	content := func(want string) {
		t.Helper()
		if have, _ := os.ReadFile(file); string(have) != want {
			t.Errorf("a.txt = %q, want %q", have, want)
		}
	}
	x := p.chat(t, "--auto")
	x.say("/undo", "error: the session is empty")
	x.say("write it", "Written.")
	x.say("/diff", "+model")
	x.enter("/undo\r")
	x.expect("1 file undone; /redo restores it")
	x.expect("a.txt")
	x.expect("> write it") // for editing
	content("")
	x.enter("\x03")
	x.say("/redo", "1 file restored")
	content("model\n")
	must(t, os.WriteFile(file, []byte("user\n"), 0o600))
	x.enter("/undo\r")
	x.expect("error: nothing was changed: these files were modified")
	x.expect("a.txt")
	x.expect("/undo force overwrites")
	x.expect("> ")
	content("user\n")
	x.enter("/undo force\r")
	x.expect("> write it")
	content("")
	x.say(" again", "Anew.")
	x.leave()
	asked(t, s, 2, "write it again")
}

func TestChatCommands(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("First answer."), fakellm.Text("The summary."), fakellm.Text("Planned."), fakellm.Text("In the fork."),
		fakellm.Text("Reviewed."), fakellm.Text("A path."))
	p := newProcess(t, s.URL())
	must(t, os.MkdirAll(filepath.Join(p.work, ".tenon", "commands"), 0o700))
	must(t, os.WriteFile(filepath.Join(p.work, ".tenon", "commands", "greet.md"), []byte("---\ndescription: greets people\n---\nGreet $1 and $2.\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(p.work, "notes.txt"), []byte("the notes"), 0o600))
	x := p.chat(t)
	x.say("/help", "greets people")
	x.say("/he\t undo", "undo the last prompt")
	x.say("/udno", "undo")
	x.say("/cost", "error: the session is empty")
	x.say("hello", "First answer.")
	x.say("/cost", "session")
	x.say("/hooks", "chat.system.transform")
	x.say("/hooks list", "priority")
	x.say("/model", "using fake/fake-model")
	x.say("/model nothing", `error: model "nothing" not found`)
	x.say("/model fake-m", "using fake/fake-model from now on")
	x.say("/compact", "the conversation was summarized")
	x.say("/agent pl\t", "using plan from now on")
	x.say("go on", "Planned.")
	x.say("/agent nobody", `error: agent "nobody" not found`)
	x.say("/agent build", "using build from now on")
	x.say("/fork", "all files are unchanged")
	x.say("in the fork", "In the fork.")
	x.say("/sessions", "x (fork #1)")
	x.say("/new", "the next prompt starts a new session")
	x.say("/greet Ada @no\t\tnotes.txt", "Reviewed.")
	x.say("/usr/bin/env is what?", "A path.")
	x.say("/sessions 3", "Planned.")
	x.enter("/exit\r")
	x.expect("tenon chat -s ses_")
	if code := x.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestChatResize(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("Understood."))
	p := newProcess(t, s.URL())
	x := p.chat(t)
	text := strings.TrimSpace(strings.Repeat("0123456789 ", 15))
	x.enter(text)
	x.expect(text[:97] + "\r\n  " + text[97:])
	x.resize(40, 40)
	x.expect("> " + text[:37] + "\r\n  " + text[37:74] + "\r\n  ")
	x.resize(40, 200)
	x.expect("> " + text)
	x.say("", "Understood.")
	x.leave()
	asked(t, s, 0, text)
}

func TestChatGoesOnAfterFailures(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Error(400, "bad", "no such thing"), fakellm.Text("Back."))
	p := newProcess(t, s.URL())
	x := p.chat(t)
	x.enter("hello\r")
	x.expect("error: ")
	x.expect("no such thing")
	x.expect("fix: ")
	x.expect("> ")
	x.say("and now?", "Back.")
	x.leave()
}

func TestChatOnDumbTerminal(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("Line by line."))
	p := newProcess(t, s.URL())
	for i, kv := range p.env {
		p.env[i] = strings.Replace(kv, "TERM=xterm", "TERM=dumb", 1)
	}
	x := p.chat(t)
	x.enter("one\\\n")
	x.say("two", "Line by line.")
	x.enter("\x03")
	x.expect("press Ctrl-C again")
	x.expect("> ")
	x.leave()
	asked(t, s, 0, "one\ntwo")
}

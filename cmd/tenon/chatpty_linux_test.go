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

// say enters a line at the prompt, and waits for the expected output and for the next prompt.
func (x *terminal) say(line, want string) {
	x.t.Helper()
	x.enter(line + "\n")
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

// TestWatchOnATerminal: run --watch shows when it waits for a line.
func TestWatchOnATerminal(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`)
	must(t, os.Mkdir(filepath.Join(p.work, "w"), 0o700))
	must(t, os.WriteFile(filepath.Join(p.work, "w", "plugin.json"), []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "w"}`), 0o600))
	p.output(t, 0, "plugin", "trust", "./w", "--yes")
	x := p.onTerminal(t, "run", "--plugin", "./w", "--watch")
	x.expect("watching") // a line that is broken where the path requires it
	x.expect("\n> ")
	x.say("one", "continue with: ")
	x.leave()
}

func TestChatTalks(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("Hello **Ada**.\n\nHow are you?"), fakellm.Text("Two lines."), fakellm.Text("A block."), fakellm.Text("I see."))
	p := newProcess(t, s.URL())
	x := p.chat(t)
	x.say("I am Ada", "Hello Ada.\r\n\r\nHow are you?\r\n")
	x.say("one\\\ntwo\\\nthree", "Two lines.")
	x.say("\"\"\"\n/no command\n\"\"\"", "A block.")
	x.enter("!echo $((6*7)); exit 3\n")
	x.expect("Allow bash to run this command?")
	x.expect("echo $((6*7)); exit 3")
	x.expect("say why: ")
	x.enter("y\n")
	x.expect("42\r\n")
	x.expect("> ")
	x.say("!", "error: no shell command after the !")
	x.say("what was that?", "I see.")
	x.leave()
	x.expect("tenon chat -s ses_")
	asked(t, s, 0, "I am Ada")
	asked(t, s, 1, "one\ntwo\nthree")
	asked(t, s, 2, "/no command")
	if raw := string(s.Turns()[3].Raw); !strings.Contains(raw, `$ echo $((6*7)); exit 3\n42`) {
		t.Errorf("the model does not see the shell command: %s", raw)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if text := x.text.String(); strings.Contains(text, "\x1b[1A") || strings.Contains(text, "\x1b[2K") {
		t.Errorf("the chat changed what was on the terminal: %q", text)
	}
}

func TestChatAsks(t *testing.T) {
	t.Parallel()
	touch := func(name string) fakellm.Reply {
		return fakellm.Call("bash", `{"command": "touch `+name+`", "description": "make"}`)
	}
	s := fakellm.New(t, touch("one"), fakellm.Text("Made one."), touch("two"), touch("three"), fakellm.Text("Made neither."), fakellm.Text("Fine."))
	p := newProcess(t, s.URL())
	x := p.chat(t)
	x.enter("make one\n")
	x.expect("? Allow bash to run this command?")
	x.expect("say why: ")
	x.enter("y\n")
	x.expect("✓ bash touch one")
	x.expect("Made one.")
	x.expect("> ")
	x.enter("make two\n")
	x.expect("say why: ")
	x.enter("\x04") // the end of input refuses, and does not end the conversation
	x.expect("✗ bash touch two")
	x.expect("You rejected the call. The next prompt continues from there.")
	x.expect("> ")
	x.enter("make three\n")
	x.expect("say why: ")
	x.enter("a\n")
	x.expect("✓ bash touch three")
	x.expect("> ")
	x.leave()
	for name, want := range map[string]bool{"one": true, "two": false, "three": true} {
		if _, err := os.Stat(filepath.Join(p.work, name)); (err == nil) != want {
			t.Errorf("file %s: %v", name, err)
		}
	}
}

func TestChatCtrlC(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("The beginning\n\nof").Stall(), fakellm.Text("Here I am."))
	p := newProcess(t, s.URL())
	x := p.chat(t)
	x.enter("tell me\n")
	x.expect("The beginning")
	x.enter("\x03")
	x.expect("interrupting the turn")
	x.expect("interrupted; everything so far is stored")
	x.expect("> ")
	x.enter("rubbish\x03")
	x.expect("press Ctrl-C again")
	x.expect("> ")
	x.say("are you there?", "Here I am.")
	asked(t, s, 1, "are you there?")
	x.enter("\x03")
	x.expect("press Ctrl-C again")
	x.enter("\x03")
	x.expect("tenon chat -s ses_")
	if code := x.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestChatTerminated(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("The beginning\n\nof").Stall())
	p := newProcess(t, s.URL())
	x := p.chat(t)
	must(t, x.cmd.Process.Signal(syscall.SIGTERM))
	x.expect("error: interrupted")
	if code := x.code(); code != 130 {
		t.Errorf("exit code %d at the prompt, want 130", code)
	}
	x = p.chat(t)
	x.enter("tell me\n")
	x.expect("The beginning")
	must(t, x.cmd.Process.Signal(syscall.SIGTERM))
	x.expect("error: interrupted")
	x.expect("fix:   continue this session with: tenon chat -s ses_")
	if code := x.code(); code != 130 {
		t.Errorf("exit code %d in a turn, want 130", code)
	}
}

func TestChatUndo(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is needed:", err)
	}
	s := fakellm.New(t, fakellm.Call("write", `{"filePath": "a.txt", "content": "model\n"}`), fakellm.Text("Written."), fakellm.Text("Again."))
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
	x.enter("/undo\n")
	x.expect("1 file undone; /redo restores them")
	x.expect("a.txt")
	x.expect("the prompt was: write it")
	x.expect("> ")
	content("")
	x.say("/redo", "1 file restored")
	content("model\n")
	must(t, os.WriteFile(file, []byte("user\n"), 0o600))
	x.enter("/undo\n")
	x.expect("error: nothing was changed: another session, another program, you or a command")
	x.expect("a.txt")
	x.expect("with force overwrites")
	x.expect("> ")
	content("user\n")
	x.say("/undo force", "the prompt was: write it")
	content("")
	x.say("write it again", "Again.")
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
	x.say("\x1b/help", "undo the last prompt") // Esc is not part of the line
	x.say("/udno", "undo")
	x.say("/cost", "error: the session is empty")
	x.say("hello", "First answer.")
	x.say("/cost", "10 in · ")
	x.say("/hooks", "chat.system.transform")
	x.say("/model", "using fake/fake-model")
	x.say("/model nothing", "fix:   /model lists the available models")
	x.say("/model fak/fake-model", `did you mean "fake/fake-model"?`)
	x.say("/model fake/fake-model", "using fake/fake-model from now on")
	x.say("/compact", "the conversation was summarized")
	x.say("/agent plan", "using plan from now on")
	x.say("go on", "Planned.")
	x.say("/agent missing", `error: agent "missing" not found`)
	x.say("/agent build", "using build from now on")
	x.say("/fork", "all files are unchanged")
	x.say("in the fork", "In the fork.")
	x.say("/new", "the next prompt starts a new session")
	x.say("/greet Ada @notes.txt", "Reviewed.")
	x.say("/usr/bin/env is what?", "A path.")
	x.enter("/exit\n")
	x.expect("tenon chat -s ses_")
	if code := x.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestChatContinuesAfterFailures(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Error(400, "bad", "no such thing"), fakellm.Text("Back."))
	p := newProcess(t, s.URL())
	x := p.chat(t)
	x.enter("hello\n")
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
	x.expect("> ")
	x.say("two", "Line by line.")
	x.enter("\x03")
	x.expect("press Ctrl-C again")
	x.expect("> ")
	x.leave()
	asked(t, s, 0, "one\ntwo")
}

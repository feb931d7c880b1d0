package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// The prompt can be written in an editor, which may leave a copy next to it.
func TestTUIEditor(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("Seen."))
	p := newProcess(t, s.URL())
	script := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncp \"$1\" \"$1~\"\nprintf ' and more\\nlines' >> \"$1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	temporary := t.TempDir()
	p.env = append(p.env, "EDITOR="+script, "TMPDIR="+temporary)
	x := p.onScreen(t, 80, 24, "--title", "x")
	x.shows("Ask anything")
	x.enter("begin\x18e")
	x.shows("begin and more")
	if left, err := filepath.Glob(filepath.Join(temporary, "*prompt*")); len(left) > 0 || err != nil {
		t.Errorf("temporary files %q are left, %v", left, err)
	}
	x.enter("\r")
	x.shows("Seen.")
	x.leave()
	if raw := string(s.Turns()[0].Raw); !strings.Contains(raw, `begin and more\nlines`) {
		t.Errorf("the model got %s", raw)
	}
}

// SIGTERM does not take the file from the user's editor: the terminal UI ends after it, and keeps the text in the history.
func TestTUISignalDuringEditor(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "http://127.0.0.1:1/v1")
	dir := t.TempDir()
	script, saved := filepath.Join(dir, "editor"), filepath.Join(dir, "saved")
	// The terminal UI would wait 3 seconds.
	must(t, os.WriteFile(script, []byte("#!/bin/sh\nkill -TERM $PPID\nsleep 4\nkill -0 $PPID && cp \"$1\" "+saved+" && echo ' and more' >> \"$1\"\n"), 0o700))
	p.env = append(p.env, "EDITOR="+script)
	x := p.onScreen(t, 80, 24)
	x.shows("Ask anything")
	x.enter("begin\x18e")
	if code := x.code(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if text, err := os.ReadFile(saved); err != nil || string(text) != "begin" {
		t.Errorf("the editor saved %q, %v", text, err)
	}
	x = p.onEmulator(t, 80, 24, "tui")
	x.shows("Ask anything")
	x.enter("\x1b[A")
	x.shows("› begin and more")
	x.enter("\x15")
	x.leave()
}

// A question and the end of a turn are announced when the terminal has lost the focus.
func TestTUINotification(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Call("bash", `{"command": "touch a", "description": "make"}`), fakellm.Text("Done."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "Deploy")
	x.shows("Ask anything")
	x.enter("\x1b[O") // focus lost
	x.enter("go\r")
	notifies := func(text string) {
		x.until("a notification", func(string) bool {
			x.terminal.mu.Lock()
			defer x.terminal.mu.Unlock()
			return strings.Contains(x.text.String(), "\x1b]9;tenon: Deploy "+text)
		})
	}
	notifies("waits for your answer\a")
	x.shows("› y  Yes, once")
	x.enter("y")
	notifies("is done after")
	x.leave()
}

// A click and ctrl+o show the output of a tool, ctrl+o reasoning too.
func TestTUIDetails(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	s := fakellm.New(t, fakellm.Reply{}.Reasoning("reasoning_content", strings.Repeat("I know. ", 20)+"I **count**.").Wait(hold).Call("bash", `{"command": "seq 1 30; until [ -e go ]; do sleep 0.1; done", "description": "count"}`),
		fakellm.Text("Counted."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 50, "--title", "x", "--auto")
	x.shows("Ask anything")
	x.enter("go\r")
	x.shows("I know. I **count**.") // the latest
	close(hold)
	x.shows("● bash")
	if screen := x.shows("│ 30"); strings.Contains(screen, "│ 24") || !strings.Contains(screen, "│ 25") {
		t.Errorf("not the latest lines of a running command:\n%s", screen)
	}
	if err := os.WriteFile(filepath.Join(p.work, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x.shows("Counted.")
	screen := x.idle()
	if !strings.Contains(screen, "thought for") {
		t.Errorf("no reasoning:\n%s", screen)
	}
	if !strings.Contains(screen, "… 24 more lines") || strings.Contains(screen, "│ 15") {
		t.Errorf("the card is not folded:\n%s", screen)
	}
	row := 1 + strings.Count(screen[:strings.Index(screen, "✓ bash")], "\n")
	click := fmt.Sprintf("\x1b[<0;5;%dM\x1b[<0;5;%dm", row, row)
	x.enter(click)
	x.shows("│ 15")
	x.enter(click)
	x.hides("│ 15")
	x.enter("\x0f") // ctrl+o
	x.shows("│ 15")
	x.hides("thought for")
	x.enter("\x0f")
	x.hides("│ 15")
	x.leave()
}

// A slow connection may split a paste inside a character, and its end.
func TestTUISplitPaste(t *testing.T) {
	t.Parallel()
	p := newProcess(t, fakellm.New(t).URL())
	x := p.onScreen(t, 80, 24, "--title", "x", "--auto")
	x.shows("Ask anything")
	x.until("a program whose questions are answered", func(string) bool { return x.answered.Load() }) // not inside a character
	x.enter("!sleep 0.2; echo later\r\x1b[200~A日\xe6")
	x.shows("┃ later")
	x.enter("\x9c\xacB\x1b[20")
	for range 3 { // takes longer than bubbletea waits
		p.output(t, 0, "version")
	}
	x.enter("1~C")
	x.shows("› A日本BC")
	x.leaveMenu()
	x.leave()
}

// The whole diff of a permission, in one column and in two, and the changes of the session.
func TestTUIDiffs(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Call("read", `{"filePath": "a.txt"}`), fakellm.Call("edit", `{"filePath": "a.txt", "oldString": "two", "newString": "2"}`), fakellm.Text("Done."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x")
	if err := os.WriteFile(filepath.Join(p.work, "a.txt"), []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.shows("Ask anything")
	x.enter("go\r")
	x.shows("› y  Yes, once")
	x.enter("\x06") // ctrl+f
	x.shows("v one or two columns")
	x.enter("v")
	if screen := x.shows("-two "); !regexp.MustCompile(`-two +│ \+2\n`).MatchString(screen) {
		t.Errorf("no two columns:\n%s", screen)
	}
	x.enter("q")
	x.shows("› y  Yes, once")
	x.enter("y")
	x.shows("Done.")
	x.idle()
	x.enter("\x18d")
	x.shows("Changes in 1 file")
	x.shows("+2")
	x.enter("q")
	x.hides("Changes in 1 file")
	x.leave()
}

// The ledger shows what hooks did in each step.
func TestTUILedger(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Call("bash", `{"command": "true", "description": "nothing"}`), fakellm.Text("Done."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24)
	x.shows("Ask anything")
	x.enter("\x04")
	if code := x.code(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	config := filepath.Join(filepath.Dir(p.work), ".config", "tenon", "tenon.json")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(`{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	x = p.onScreen(t, 80, 24, "--title", "x", "--auto")
	x.shows("Ask anything")
	x.enter("go\r")
	x.shows("Done.")
	x.idle()
	x.enter("\x18h")
	x.shows("Changes by plugins")
	x.shows("tool.execute.before")
	x.enter("q")
	x.hides("Changes by plugins")
	x.leave()
}

// On a terminal with 16 colors, a theme of 24-bit colors uses those 16.
func TestTUISixteenColors(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text(markdownAnswer))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x")
	x.shows("Ask anything")
	x.enter("/theme\r")
	x.shows("Theme")
	x.enter("dark\r")
	x.enter("go\r")
	x.shows("Plan")
	x.idle()
	x.leave()
	all := x.text.String()
	if bad := regexp.MustCompile(`\x1b\[[0-9;]*[34]8;[25];[0-9;]*m`).FindString(all); bad != "" {
		t.Errorf("the terminal has 16 colors, but got %q", bad)
	}
	if !regexp.MustCompile(`\x1b\[[0-9;]*(?:3|9)[0-7]m`).MatchString(all) {
		t.Error("no color was set")
	}
}

// -c continues the latest session, and shows it.
func TestTUIContinues(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("First **answer**."), fakellm.Text("Second answer."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 24, "--title", "x", "first")
	x.shows("First answer.")
	x.idle()
	x.leave()
	x = p.onEmulator(t, 80, 24, "-c")
	screen := x.shows("First answer.")
	if !strings.Contains(screen, "┃ first") {
		t.Errorf("the prompt is not shown:\n%s", screen)
	}
	x.enter("second\r")
	x.shows("Second answer.")
	x.enter("\x1b[A\x1b[A") // history: second, first
	x.shows("› first")
	x.enter("\x15")
	x.leave()
}

// A terminal shows the turns of another one when the user comes back to it.
func TestTUISecondTerminal(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("First answer."), fakellm.Text("Second answer."), fakellm.Text("Third answer."), fakellm.Text("Fourth answer."))
	p := newProcess(t, s.URL())
	x := p.onScreen(t, 80, 30, "--title", "x", "first")
	x.shows("First answer.")
	x.idle()
	p.output(t, 0, "run", "-c", "second")
	x.enter("\x1b[I") // the terminal has the focus
	x.shows("Second answer.")
	p.output(t, 0, "run", "-c", "third")
	x.enter("f") // not all terminals tell of the focus
	x.shows("Third answer.")
	x.enter("ourth\r")
	x.until("each turn once", func(screen string) bool {
		for _, text := range []string{"First answer.", "second", "Second answer.", "third", "Third answer.", "fourth", "Fourth answer."} {
			if strings.Count(screen, text) != 1 {
				return false
			}
		}
		return true
	})
	x.idle()
	x.leave()
}

// SIGTERM ends the terminal UI on a terminal that takes no output, such as that of a broken connection. An interrupt is meant for the user's
// editor: Ctrl-C is a key.
func TestTUISignals(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "http://127.0.0.1:1/v1")
	x := p.onTerminal(t, "tui")
	x.expect("Ask anything")
	must(t, x.cmd.Process.Signal(os.Interrupt))
	x.enter("unharmed") // one word: between two frames, a space is not drawn
	x.expect("unharmed")
	side, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", x.cmd.Process.Pid), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	must(t, unix.IoctlSetInt(int(side.Fd()), unix.TCXONC, unix.TCOOFF))
	must(t, side.Close())
	x.enter(" and blocked")
	must(t, x.cmd.Process.Signal(syscall.SIGTERM))
	if code := x.code(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
}

// SIGQUIT ends the terminal UI too: the terminal does not stay raw with the program's goroutines on it.
func TestTUIQuitSignal(t *testing.T) {
	t.Parallel()
	x := newProcess(t, "http://127.0.0.1:1/v1").onTerminal(t, "tui")
	x.expect("Ask anything")
	must(t, x.cmd.Process.Signal(syscall.SIGQUIT))
	x.expect("error: interrupted")
	if code := x.code(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
}

// Files of the command line are part of its prompt, or wait in the input for one.
func TestTUIFilesOfTheCommandLine(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Text("One."), fakellm.Text("Two."))
	p := newProcess(t, s.URL())
	p.inProject(t)
	file := filepath.Join(p.work, "my notes.md")
	put(t, file, "the content")
	x := p.onScreen(t, 80, 24, "--title", "x", "-f", file, "look")
	x.shows("One.")
	x.idle()
	x.leave()
	x = p.onScreen(t, 80, 24, "--title", "x", "-f", file)
	x.shows("[File my notes.md]")
	x.enter("see it\r")
	x.shows("Two.")
	x.idle()
	x.leave()
	for i, turn := range s.Turns() {
		if prompt := turn.LastUser(); !strings.Contains(prompt, "the content") {
			t.Errorf("turn %d: the model got %q", i, prompt)
		}
	}
}

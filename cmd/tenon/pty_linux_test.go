package main_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/internal/ptytest"
)

// terminal is a pseudo terminal with the command on it.
type terminal struct {
	t       testing.TB
	tap     func([]byte)
	control *os.File
	cmd     *exec.Cmd

	mu     sync.Mutex
	text   strings.Builder // all that was written
	seen   int             // how much of it expect has passed
	grew   chan struct{}
	closed chan struct{}
}

// onTerminal starts the command on its own terminal.
func (p *process) onTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	return p.onTerminalOf(t, 40, 100, nil, args...)
}

// onTerminalOf is onTerminal with a size. tap, unless nil, gets all that the command writes.
func (p *process) onTerminalOf(t testing.TB, rows, columns uint16, tap func([]byte), args ...string) *terminal {
	t.Helper()
	control, side, err := ptytest.Open(int(rows), int(columns))
	if err != nil {
		t.Fatalf("no pseudo terminal: %v", err)
	}
	t.Cleanup(func() { control.Close() })
	defer side.Close()
	term := &terminal{t: t, tap: tap, control: control, cmd: p.command(args...), grew: make(chan struct{}, 1), closed: make(chan struct{})}
	term.cmd.Stdin, term.cmd.Stdout, term.cmd.Stderr = side, side, side
	term.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := term.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = term.cmd.Process.Kill() })
	t.Cleanup(func() {
		timer.Stop()
		_ = term.cmd.Process.Kill()
	})
	go term.read() // ends with the command, which closes the terminal
	return term
}

func (x *terminal) read() {
	defer close(x.closed)
	buf := make([]byte, 4096)
	for {
		n, err := x.control.Read(buf)
		x.mu.Lock()
		x.text.Write(buf[:n])
		x.mu.Unlock()
		if x.tap != nil {
			x.tap(buf[:n]) // wakes those who wait for the screen, who may look at the text
		}
		select {
		case x.grew <- struct{}{}:
		default:
		}
		if err != nil {
			return // EIO: the other side is closed
		}
	}
}

var escapes = regexp.MustCompile(`\x1b\[[?0-9;]*[A-Za-z]`)

// expect waits for text behind what was expected before; escape sequences do not count.
func (x *terminal) expect(want string) {
	x.t.Helper()
	for {
		x.mu.Lock()
		plain := escapes.ReplaceAllString(x.text.String(), "")
		x.mu.Unlock()
		if i := strings.Index(plain[x.seen:], want); i >= 0 {
			x.seen += i + len(want)
			return
		}
		select {
		case <-x.grew:
		case <-x.closed:
			x.mu.Lock()
			plain = escapes.ReplaceAllString(x.text.String(), "")
			x.mu.Unlock()
			if strings.Contains(plain[x.seen:], want) {
				continue
			}
			x.t.Fatalf("the terminal never showed %q behind %q:\n%s", want, plain[:x.seen], plain)
		}
	}
}

// enter types text.
func (x *terminal) enter(text string) {
	x.t.Helper()
	if _, err := x.control.WriteString(text); err != nil {
		x.t.Fatal(err)
	}
}

// resize gives the terminal another size.
func (x *terminal) resize(rows, columns uint16) {
	x.t.Helper()
	if err := ptytest.Resize(x.control, int(rows), int(columns)); err != nil {
		x.t.Fatal(err)
	}
}

// code waits for the end and returns the exit code.
func (x *terminal) code() int {
	_ = x.cmd.Wait() // the code tells
	<-x.closed
	return x.cmd.ProcessState.ExitCode()
}

// At a question, Ctrl-C ends the command.
func TestInterruptAtAQuestion(t *testing.T) {
	t.Parallel()
	for question, args := range map[string][]string{"provider (a number": {"auth", "login"}, "key of groq": {"auth", "login", "groq"}, "approve it?": {"run", "hello"}} {
		t.Run(args[0]+" "+question, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, fakellm.New(t).URL())
			for _, name := range []string{"a", "b"} {
				put(t, filepath.Join(p.work, ".tenon", "plugins", name, "plugin.json"), `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "`+name+`", "version": "1.0.0", "runtime": {"type": "process", "command": ["./p"]}}`)
				put(t, filepath.Join(p.work, ".tenon", "plugins", name, "p"), "#!/bin/sh\n")
			}
			x := p.onTerminal(t, args...)
			x.expect(question)
			x.enter("\x03")
			x.code()
			if status, _ := x.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGINT {
				t.Errorf("ended with %v, want an interrupt: %s", x.cmd.ProcessState, x.text.String())
			}
		})
	}
}

// An interrupted command ends what it started, here a server that never answers and the server's child. doctor does not report the interruption as
// a problem.
func TestInterruptEndsServers(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"interrupt": syscall.SIGINT, "terminate": syscall.SIGTERM, "hangup": syscall.SIGHUP, "doctor": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, "")
			pipe := filepath.Join(t.TempDir(), "pipe") // ends when no process has it open
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			script := "exec 3>" + pipe + "; sleep 600 & echo up >&3; wait"
			r := &running{Cmd: p.command("mcp", "add", "x", "--", "sh", "-c", script), errs: newLockedBuilder()}
			if name == "doctor" {
				p.env = append(p.env, fmt.Sprintf(`TENON_CONFIG_CONTENT={"enabled_providers": ["offline"], "mcp": {"x": {"type": "local", "command": ["sh", "-c", %q]}}}`, script))
				r.Cmd = p.command("doctor")
			}
			out := newLockedBuilder()
			r.Stdout, r.Stderr = out, r.errs
			if err := r.Start(); err != nil {
				t.Fatal(err)
			}
			r.guard(t)
			server, err := os.Open(pipe)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			up := make([]byte, 3)
			if _, err := io.ReadFull(server, up); err != nil {
				t.Fatal(err)
			}
			_ = r.Process.Signal(sig)
			if code := r.code(); code != 130 || !strings.Contains(r.errs.String(), "error: interrupted") {
				t.Errorf("exit code %d, want 130 and that it was interrupted: %s", code, r.errs)
			}
			if strings.Contains(out.String(), "BAD") {
				t.Errorf("doctor reports problems: %s", out)
			}
			if err := server.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(server); err != nil || len(rest) > 0 {
				t.Errorf("the server is left running: %q, %v", rest, err)
			}
		})
	}
}

func TestTerminalStreamsAndAsks(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t,
		fakellm.Text("I will ", "make it.").Call("bash", `{"command": "touch one", "description": "make"}`),
		fakellm.Call("bash", `{"command": "touch two", "description": "make"}`),
		fakellm.Call("bash", `{"command": "rm one", "description": "remove"}`),
		fakellm.Text("Done."),
	)
	p := newProcess(t, s.URL())
	x := p.onTerminal(t, "run", "--title", "x", "make files")
	x.expect("I will make it.")
	x.expect("? Allow bash to run this command?")
	x.expect("touch one")
	x.expect("[y] yes\r\n  [s] this session\r\n  [a] always in this project: bash touch *\r\n  [n] no\r\n  [m] no, and say why: ")
	x.enter("what\n")
	x.expect("[y] yes\r\n  [s] this session")
	x.enter("s\n")
	x.expect("✓ bash touch one")
	x.expect("✓ bash touch two") // the session covers it
	x.expect("? Allow bash to run this command?")
	x.expect("rm one")
	x.enter("m\n")
	x.expect("what should the model do instead?")
	x.enter("keep it\n")
	x.expect("✗ bash rm one")
	x.expect("keep it")
	x.expect("Done.")
	x.expect("fake/fake-model · 4 steps")
	if code := x.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if turns := s.Turns(); !strings.Contains(string(turns[3].Raw), "keep it") {
		t.Errorf("the model was not told what to do instead: %s", turns[3].Raw)
	}
}

// tenon permission explain says that a stored approval answers, as it does in a run.
func TestExplainNamesApprovals(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Call("bash", `{"command": "touch one", "description": "make"}`), fakellm.Text("Done."))
	p := newProcess(t, s.URL())
	x := p.onTerminal(t, "run", "--title", "x", "make files")
	x.expect("and say why: ")
	x.enter("a\n")
	x.expect("Done.")
	x.code()
	const answered = "together: ask; permanent approvals answer"
	for command, want := range map[string]bool{"touch two": true, "touch two && rm two": false, "touch $X": false} {
		if out, _ := p.output(t, 0, "permission", "explain", "bash "+command); strings.Contains(out, answered) != want {
			t.Errorf("%s: %s", command, out)
		}
	}
}

func TestTerminalRejectEndsTheTurn(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Call("bash", `{"command": "touch one", "description": "make"}`))
	p := newProcess(t, s.URL())
	x := p.onTerminal(t, "run", "--title", "x", "make files")
	x.expect("and say why: ")
	x.enter("n\n")
	x.expect("✗ bash touch one")
	x.expect("error: ")
	x.expect("fix: ")
	if code := x.code(); code != 5 {
		t.Errorf("exit code %d, want 5", code)
	}
}

func TestTerminalCtrlC(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]fakellm.Reply{
		"while the answer streams":  fakellm.Text("The beginning").Stall(),
		"while a question is asked": fakellm.Text("The beginning").Call("bash", `{"command": "touch one", "description": "make"}`),
		"while a try is waited for": fakellm.Text("The beginning").Cut(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.New(t, reply)
			p := newProcess(t, s.URL())
			for i, kv := range p.env {
				p.env[i] = strings.Replace(kv, `"delay_ms": 10`, `"delay_ms": 600000`, 1)
			}
			x := p.onTerminal(t, "run", "--title", "x", "tell me")
			x.expect("The beginning")
			switch {
			case strings.Contains(name, "question"):
				x.expect("say why: ")
			case strings.Contains(name, "try"):
				x.expect("next attempt in")
			}
			x.enter("\x03")
			x.expect("interrupting the turn")
			x.expect("error: interrupted")
			x.expect("fix:   tenon run -s ses_")
			if code := x.code(); code != 130 {
				t.Errorf("exit code %d, want 130", code)
			}
		})
	}
}

func TestTerminalLeavesTheAnswerAloneWhenPiped(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t, fakellm.Call("bash", `{"command": "true", "description": "do"}`), fakellm.Text("fine"))
	p := newProcess(t, s.URL())
	// stdout is a pipe, stdin and stderr are the terminal: the user can still be asked.
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "OUT="+out.Name())
	shell := &process{binary: "/bin/sh", work: p.work, env: p.env}
	x := shell.onTerminal(t, "-c", p.binary+` run --title x do >"$OUT"`)
	x.expect("? Allow bash to run this command?")
	x.enter("y\n")
	x.expect("✓ bash true")
	if code := x.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if content, _ := os.ReadFile(out.Name()); string(content) != "fine\n" {
		t.Errorf("stdout = %q, want the answer alone", content)
	}
}

// TestTerminalRenders: on a terminal, Markdown is rendered block by block, words are wrapped, and the output of tools is shown; --raw and pipes
// get the text unchanged.
func TestTerminalRenders(t *testing.T) {
	t.Parallel()
	const answer = "# The *plan*\n\nIt is **bold** and `code`, and long enough to be wrapped at the end of the line of this terminal, which has 100 columns.\n\n- one\n- two\n\n```go\nfunc main() {}\n```"
	command := fakellm.Call("bash", `{"command": "seq 1 12; exit 3", "description": "count"}`)
	s := fakellm.New(t, command, fakellm.Text(strings.SplitAfter(answer, " ")...), fakellm.Text(answer), command, fakellm.Text(answer))
	p := newProcess(t, s.URL())
	screen := p.onEmulator(t, 100, 40, "run", "--auto", "--title", "x", "plan")
	if code := screen.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	shown := screen.screen()
	for _, want := range []string{
		"! bash seq 1 12; exit 3 · exit 3",
		"    1\n    2\n    3\n    4\n    … 4 lines\n    9\n    10\n    11\n    12\n",
		"The plan\n\nIt is bold and code, and long enough to be wrapped at the end of the line of this terminal, which\nhas 100 columns.\n\n• one\n• two\n\n  func main() {}\n",
		"continue with: tenon run -c",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not on the screen:\n%s", want, shown)
		}
	}
	for text, color := range map[string]ansi.BasicColor{"! bash": ansi.Yellow, "func main": ansi.Blue} {
		if have := screen.color(text); have != color {
			t.Errorf("%q has the color %v, want %v", text, have, color)
		}
	}

	x := p.onTerminal(t, "run", "--auto", "--raw", "--title", "x", "plan")
	x.expect(strings.ReplaceAll(answer, "\n", "\r\n"))
	if code := x.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if out, progress := p.output(t, 0, "run", "--auto", "--title", "x", "plan"); out != answer+"\n" || !strings.Contains(progress, "! bash seq 1 12; exit 3 · exit 3 · 12 · ") {
		t.Errorf("piped: %q, %q", out, progress)
	}
}

// TestAloneOpensUI checks that the command without arguments opens the terminal UI on a terminal.
func TestAloneOpensUI(t *testing.T) {
	t.Parallel()
	x := newProcess(t, "http://127.0.0.1:1/v1").onTerminal(t)
	x.expect("Ask anything")
	x.enter("\x04") // Ctrl-D
	if code := x.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestTerminalShowsResult shows the result of a server's tool. The terminal does not obey it; a pipe gets what the server sent.
func TestTerminalShowsResult(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(greetings))
	t.Cleanup(web.Close)
	p := newProcess(t, "")
	p.output(t, 0, "mcp", "add", "docs", web.URL)
	x := p.onTerminal(t, "mcp", "call", "docs", "greet")
	x.expect("hello from the docs")
	if code := x.code(); code != 0 || strings.Contains(x.text.String(), "\x1b]0") {
		t.Errorf("exit code %d, %q", code, x.text.String())
	}
	if out, _ := p.output(t, 0, "mcp", "call", "docs", "greet"); out != "hello from the docs\x1b]0;a title\a\n" {
		t.Errorf("piped: %q", out)
	}
}

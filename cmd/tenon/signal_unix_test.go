//go:build unix

package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// running is a command under way.
type running struct {
	*exec.Cmd
	errs  *lockedBuilder
	lines *bufio.Reader // of stdout
	pipe  io.Closer     // the end that lines reads from
}

// lockedBuilder can be read while the process writes.
type lockedBuilder struct {
	mu    sync.Mutex
	b     strings.Builder
	wrote chan struct{} // holds a token when something was written since it was last taken
}

func newLockedBuilder() *lockedBuilder { return &lockedBuilder{wrote: make(chan struct{}, 1)} }

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.wrote <- struct{}{}:
	default:
	}
	return l.b.Write(p)
}

// await waits until the text was written.
func (l *lockedBuilder) await(t *testing.T, text string) {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for !strings.Contains(l.String(), text) {
		select {
		case <-l.wrote:
		case <-timeout.C:
			t.Fatalf("%q was not written: %s", text, l)
		}
	}
}

func (l *lockedBuilder) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (r *running) guard(t *testing.T) {
	timer := time.AfterFunc(patience, func() { _ = r.Process.Kill() })
	t.Cleanup(func() {
		timer.Stop()
		_ = r.Process.Kill()
	})
}

// code waits for the end and returns the exit code, -1 when a signal ended it.
func (r *running) code() int {
	_ = r.Wait() // the code tells
	return r.ProcessState.ExitCode()
}

// stalling is a server whose answer begins and never ends.
func stalling(t *testing.T) *fakellm.Server {
	s := fakellm.New(t, fakellm.Text("The beginning").Stall())
	s.Always(fakellm.Text("The rest."))
	return s
}

// untilStep reads JSON lines until a step has begun.
func untilStep(t *testing.T, r *bufio.Reader) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("no step began: %v", err)
		}
		if strings.Contains(line, `"type":"step_start"`) {
			return
		}
	}
}

// startJSON starts "tenon run --format json" and kills it when the test ends before it does.
func (p *process) startJSON(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{Cmd: p.command(append([]string{"run", "--format", "json"}, args...)...), errs: newLockedBuilder()}
	r.Stderr = r.errs
	pipe, err := r.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.lines, r.pipe = bufio.NewReader(pipe), pipe
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	r.guard(t)
	return r
}

func TestInterruptAbortsTheTurn(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"interrupt": syscall.SIGINT, "terminate": syscall.SIGTERM, "hangup": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stalling(t)
			p := newProcess(t, s.URL())
			r := p.startJSON(t, "--title", "x", "tell me")
			untilStep(t, r.lines)
			s.WaitRequests(1, patience)
			_ = r.Process.Signal(sig)
			rest, _ := io.ReadAll(r.lines)
			if code := r.code(); code != 130 {
				t.Fatalf("exit code %d, want 130\n%s%s", code, rest, r.errs)
			}
			if !strings.Contains(r.errs.String(), "continues where this stopped") {
				t.Errorf("stderr does not say how to continue: %s", r.errs)
			}
			if !strings.Contains(string(rest), `"type":"done"`) || !strings.Contains(string(rest), `"exitCode":130`) {
				t.Errorf("the last line is not done with 130: %s", rest)
			}
			// Nothing is left open, and the session continues.
			if out, _ := p.output(t, 0, "session", "export"); strings.Contains(out, `"status": "running"`) || !strings.Contains(out, "MessageAbortedError") {
				t.Errorf("the message is not closed as aborted: %s", out)
			}
			if out, _ := p.output(t, 0, "run", "-c", "go on"); out != "The rest.\n" {
				t.Errorf("run -c = %q, want the rest", out)
			}
		})
	}
}

// A run that waits for a server that has never been started has no turn to abort.
func TestInterruptDuringStart(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t)
	p := newProcess(t, s.URL())
	p.output(t, 0, "mcp", "add", "slow", "--no-probe", "--timeout", "1h", "--", "sleep", "600")
	r := p.startJSON(t, "--title", "x", "tell me")
	r.errs.await(t, "waiting up to")
	_ = r.Process.Signal(syscall.SIGINT)
	if code := r.code(); code != 130 {
		t.Fatalf("exit code %d, want 130\n%s", code, r.errs)
	}
	if n := len(s.Requests()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// A sign-in names the server that does not answer, and an interrupt ends it.
func TestSilentSignIn(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	p := newProcess(t, "")
	p.env = append(p.env, fmt.Sprintf(`TENON_CONFIG_CONTENT={"mcp": {"mute": {"type": "remote", "url": %q}}}`, s.URL))
	r := &running{Cmd: p.command("mcp", "login", "mute"), errs: newLockedBuilder()}
	r.Stderr = r.errs
	must(t, r.Start())
	r.guard(t)
	r.errs.await(t, "waiting for mute")
	_ = r.Process.Signal(syscall.SIGINT)
	if code := r.code(); code != 130 {
		t.Errorf("exit code %d, want 130\n%s", code, r.errs)
	}
}

// An interrupt ends the tests of a plugin, and no test counts as failed.
func TestInterruptDuringPluginTest(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	for name, text := range map[string]string{
		".claude-plugin/plugin.json": `{"name": "w"}`,
		"hooks/hooks.json":           `{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "if grep -q slow; then sleep 600; fi"}]}]}}`,
		"tests/a.turn.json":          `{"prompt": "fast"}`,
		"tests/b.turn.json":          `{"prompt": "slow"}`,
		"tests/c.turn.json":          `{"prompt": "slow"}`,
	} {
		path := filepath.Join(p.work, "w", name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	r := &running{Cmd: p.command("plugin", "test", "--update", "w"), errs: newLockedBuilder()}
	r.Stdout, r.Stderr = r.errs, r.errs
	must(t, r.Start())
	r.guard(t)
	r.errs.await(t, "a.turn.json")
	_ = r.Process.Signal(syscall.SIGINT)
	if code := r.code(); code != 130 || strings.Contains(r.errs.String(), "turn.json\n ") {
		t.Errorf("exit code %d, want 130 and no failed test\n%s", code, r.errs)
	}
}

// An interrupt ends the build of a watched plugin, and not the conversation.
func TestInterruptDuringReload(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`)
	dir := filepath.Join(p.work, "w")
	up := filepath.Join(p.work, "up")
	must(t, os.Mkdir(dir, 0o700))
	must(t, syscall.Mkfifo(up, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "plugin.json"), []byte(`{
		"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "w", "version": "1.0.0", "description": "waits",
		"extensions": {"io.github.tenonhq": {"build": {"command": ["sh", "-c", "test ! -e slow || { echo up > ../up; sleep 600; }"]}}}}`), 0o600))
	p.output(t, 0, "plugin", "trust", "./w", "--yes")
	cmd := p.command("run", "--plugin", "./w", "--watch", "one")
	c := converse(t, cmd)
	c.want("continue: ")
	must(t, os.WriteFile(filepath.Join(dir, "slow"), nil, 0o600))
	if line, err := os.ReadFile(up); err != nil || string(line) != "up\n" {
		t.Fatalf("the build said %q, %v", line, err)
	}
	must(t, cmd.Process.Signal(syscall.SIGINT))
	c.want("reload failed")
	c.ask("two")
	c.want("continue: ")
	c.end()
}

func TestSecondInterruptLeavesAtOnce(t *testing.T) {
	t.Parallel()
	// The tool ignores what ends it, so the abort takes its time.
	s := fakellm.New(t, fakellm.Call("bash", `{"command": "trap '' TERM INT; echo up > started; sleep 60 & wait; sleep 60", "description": "hang"}`))
	p := newProcess(t, s.URL())
	started := filepath.Join(p.work, "started")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(started, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close() // only read
	r := p.startJSON(t, "--auto", "--title", "x", "hang")
	if err := pipe.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(pipe).ReadString('\n'); err != nil {
		t.Fatalf("the tool did not start: %q, %v\n%s", line, err, r.errs)
	}
	begun := time.Now()
	_ = r.Process.Signal(syscall.SIGINT)
	r.errs.await(t, "interrupting") // the process has taken the first signal: two at once are one
	_ = r.Process.Signal(syscall.SIGINT)
	if code := r.code(); code != 130 {
		t.Fatalf("exit code %d, want 130\n%s", code, r.errs)
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("left after %s", took)
	}
}

// A run whose output nothing reads cannot take signals, but the second one ends it.
func TestInterruptsEndBlockedRun(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`)
	out, full, err := os.Pipe()
	must(t, err)
	defer out.Close()
	fd := int(full.Fd())
	must(t, syscall.SetNonblock(fd, true))
	for err == nil { // fills the pipe
		_, err = syscall.Write(fd, make([]byte, 1<<10))
	}
	must(t, syscall.SetNonblock(fd, false))
	r := &running{Cmd: p.command("run", "--format", "json", "--title", "x", "tell me"), errs: newLockedBuilder()}
	r.Stdout, r.Stderr = full, r.errs
	must(t, r.Start())
	must(t, full.Close())
	r.guard(t)
	ended := make(chan int, 1)
	go func() { ended <- r.code() }()        // ends with the process
	r.errs.await(t, "using offline/offline") // the turn begins
	for code := 0; code == 0; {
		_ = r.Process.Signal(syscall.SIGINT) // repeated, because two at the same time are one
		select {
		case code = <-ended:
		case <-time.After(10 * time.Millisecond):
		}
	}
	if status := r.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGINT {
		t.Errorf("the run ended with %v, want the interrupt", r.ProcessState)
	}
}

// A run continues if stderr is closed, also during its start.
func TestRunWithoutReaderOfStderr(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`)
	must(t, os.WriteFile(filepath.Join(p.work, ".mcp.json"), []byte(`{"mcpServers": {"x": {"command": "true"}}}`), 0o600)) // the start warns of it
	gone, closed, err := os.Pipe()
	must(t, err)
	must(t, gone.Close())
	cmd := p.command("run", "--format", "json", "--title", "x", "tell me")
	cmd.Stderr = closed
	out, err := cmd.Output()
	must(t, closed.Close())
	if err != nil || !strings.Contains(string(out), `"type":"done"`) {
		t.Errorf("output %q, %v", out, err)
	}
}

func TestKilledRunGoesOn(t *testing.T) {
	t.Parallel()
	s := stalling(t)
	p := newProcess(t, s.URL())
	r := p.startJSON(t, "--title", "x", "tell me")
	first, err := r.lines.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	untilStep(t, r.lines)
	s.WaitRequests(1, patience)
	_ = r.Process.Kill()
	r.code()
	var session struct{ SessionID string }
	if err := json.Unmarshal(first, &session); err != nil {
		t.Fatal(err)
	}
	if out, _ := p.output(t, 0, "run", "-s", session.SessionID, "go on"); out != "The rest.\n" {
		t.Errorf("run -s = %q, want the rest", out)
	}
	out, _ := p.output(t, 0, "session", "export", session.SessionID)
	for _, want := range []string{"tell me", "go on", "The rest."} {
		if !strings.Contains(out, want) {
			t.Errorf("the session lost %q: %s", want, out)
		}
	}
	if doctor, _ := p.output(t, 0, "doctor"); !strings.Contains(doctor, "is intact") {
		t.Errorf("doctor: %s", doctor)
	}
}

func TestClosedStdoutEndsTheTurn(t *testing.T) {
	t.Parallel()
	s := fakellm.New(t)
	s.Always(fakellm.Call("bash", `{"command": "true", "description": "loop"}`))
	p := newProcess(t, s.URL())
	p.env = append(p.env, `TENON_PERMISSION={"*": "allow"}`)
	r := p.startJSON(t, "--title", "x", "go on for ever")
	untilStep(t, r.lines)
	if err := r.pipe.Close(); err != nil { // the reader is gone
		t.Fatal(err)
	}
	if code := r.code(); code != 1 {
		t.Fatalf("exit code %d, want 1\n%s", code, r.errs)
	}
	if strings.Contains(r.errs.String(), "stdout") {
		t.Errorf("not quiet: %s", r.errs)
	}
	if out, _ := p.output(t, 0, "session", "export"); strings.Contains(out, `"status": "running"`) {
		t.Errorf("a call was left open: %s", out)
	}
}

package main_test

import (
	"bytes"
	"flag"
	"image/color"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"github.com/tenonhq/tenon/internal/ptytest"
)

var updateScreens = flag.Bool("update", false, "write the golden screens")

// tui is the terminal UI on a terminal of which the screen can be read.
type tui struct {
	*terminal
	emulator *vt.Emulator
	mu       sync.Mutex // of emulator
	changed  chan struct{}
	written  int         // bytes
	answered atomic.Bool // the last question of bubbletea's, about the background
}

// onScreen starts the terminal UI in ~/project on a terminal of this size.
func (p *process) onScreen(t testing.TB, columns, rows int, args ...string) *tui {
	t.Helper()
	p.inProject(t)
	return p.onEmulator(t, columns, rows, append([]string{"tui"}, args...)...)
}

// inProject makes ~/project, a repository, the working directory.
func (p *process) inProject(t testing.TB) {
	t.Helper()
	home := ""
	for _, kv := range p.env {
		if dir, ok := strings.CutPrefix(kv, "HOME="); ok {
			home = dir
		}
	}
	p.work = filepath.Join(home, "project")
	if err := os.MkdirAll(p.work, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "--quiet", "--initial-branch", "main", p.work).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
}

// onEmulator starts the command on a terminal of this size, of which the screen can be read.
func (p *process) onEmulator(t testing.TB, columns, rows int, args ...string) *tui {
	t.Helper()
	x := &tui{emulator: vt.NewEmulator(columns, rows), changed: make(chan struct{}, 1)}
	x.terminal = p.onTerminalOf(t, uint16(rows), uint16(columns), x.write, args...)
	answered := make(chan struct{})
	go func() { // ends when the emulator is closed
		defer close(answered)
		_, _ = io.Copy(answers{x}, x.emulator)
	}()
	t.Cleanup(func() {
		_ = x.cmd.Process.Kill()
		<-x.closed
		_ = x.emulator.Close()
		<-answered
	})
	return x
}

// answers sends the program what the emulator answers to it.
type answers struct{ *tui }

// Write implements io.Writer.
func (a answers) Write(p []byte) (int, error) {
	n, err := a.control.Write(p)
	if bytes.Contains(p, []byte("\x1b]11;")) {
		a.answered.Store(true)
		a.change()
	}
	return n, err
}

func (x *tui) write(p []byte) {
	x.mu.Lock()
	_, _ = x.emulator.Write(p)
	x.written += len(p)
	x.mu.Unlock()
	x.change()
}

// change wakes those who wait for the screen.
func (x *tui) change() {
	select {
	case x.changed <- struct{}{}:
	default:
	}
}

// screen returns the lines of the screen.
func (x *tui) screen() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return ptytest.Screen(x.emulator)
}

// color returns the color of the first character of text on the screen, nil for the terminal's own.
func (x *tui) color(text string) color.Color {
	x.t.Helper()
	before, _, found := strings.Cut(x.screen(), text)
	if !found {
		x.t.Fatalf("%q is not on the screen:\n%s", text, x.screen())
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return x.emulator.CellAt(ansi.StringWidth(line), strings.Count(before, "\n")).Style.Fg
}

// until waits for a screen.
func (x *tui) until(what string, is func(screen string) bool) string {
	x.t.Helper()
	for {
		screen := x.screen()
		if is(screen) {
			return screen
		}
		select {
		case <-x.changed:
		case <-x.closed:
			if screen = x.screen(); is(screen) {
				return screen
			}
			x.t.Fatalf("the screen never showed %s:\n%s", what, screen)
		}
	}
}

// shows waits until the screen has a text, hides until it has it no more.
func (x *tui) shows(want string) string {
	x.t.Helper()
	return x.until(want, func(screen string) bool { return strings.Contains(screen, want) })
}

func (x *tui) hides(text string) string {
	x.t.Helper()
	return x.until("a screen without "+text, func(screen string) bool { return !strings.Contains(screen, text) })
}

// idle waits for the end of the turn.
func (x *tui) idle() string {
	x.t.Helper()
	return x.until("the end of the turn", func(screen string) bool {
		return !strings.Contains(screen, "esc interrupts") && turnTime.MatchString(screen)
	})
}

// resized gives terminal and emulator another size.
func (x *tui) resized(columns, rows int) {
	x.mu.Lock()
	x.emulator.Resize(columns, rows)
	x.mu.Unlock()
	x.resize(uint16(rows), uint16(columns))
}

// leave exits and returns what is left on the terminal.
func (x *tui) leave() string {
	x.t.Helper()
	x.enter("\x18q") // ctrl+x q
	if code := x.code(); code != 0 {
		x.t.Errorf("exit code %d:\n%s", code, x.screen())
	}
	return x.screen()
}

var (
	turnTime = regexp.MustCompile(`(?m)· ([0-9]+m )?[0-9.]+ ?m?s( ·|$)`)
	cardTime = regexp.MustCompile(`( (?:\+[0-9]+ -[0-9]+|exit [0-9]+))( [0-9.]+ m?s)$`) // on the card of a call that took a second or longer
)

// scrubbed returns a screen without what changes from run to run.
func scrubbed(screen string) string {
	lines := strings.Split(screen, "\n")
	for i, line := range lines {
		line = turnTime.ReplaceAllString(line, "· TIME$2")
		if at := cardTime.FindStringSubmatchIndex(line); at != nil {
			line = line[:at[2]] + strings.Repeat(" ", at[5]-at[4]) + line[at[2]:at[3]]
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// quiet waits until nothing is drawn for a while: a new golden screen has nothing else to wait for.
func (x *tui) quiet() {
	for {
		select {
		case <-x.changed:
		case <-time.After(300 * time.Millisecond):
			return
		}
	}
}

// golden waits until the screen is that of a file.
func (x *tui) golden(name string) {
	x.t.Helper()
	path := filepath.Join("testdata", "tui", name+".golden")
	if *updateScreens {
		x.quiet()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			x.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(scrubbed(x.screen())), 0o644); err != nil {
			x.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		x.t.Fatal(err)
	}
	x.until("what "+path+" has:\n"+string(want)+"but", func(screen string) bool { return scrubbed(screen) == string(want) })
}

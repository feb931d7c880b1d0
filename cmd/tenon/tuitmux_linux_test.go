package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// pane is the command in a pane of a real tmux.
type pane struct {
	t      *testing.T
	tmux   string
	socket string
}

// inTmux starts the terminal UI in ~/project, in a pane of a new tmux server.
func (p *process) inTmux(t *testing.T, columns, rows string, command ...string) *pane {
	t.Helper()
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal("tmux is missing; install it, as .ci/run does")
	}
	p.inProject(t)
	dir, err := os.MkdirTemp("", "tmux") // the address of a socket is short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	x := &pane{t: t, tmux: tmux, socket: filepath.Join(dir, "s")}
	config := filepath.Join(dir, "conf")
	must(t, os.WriteFile(config, []byte("set -g status off\nset -g remain-on-exit on\nset -g default-terminal screen\nset -s escape-time 0\n"), 0o600))
	server := exec.Command(tmux, "-u", "-S", x.socket, "-f", config, "-D")
	server.Dir, server.Env = p.work, append(slices.Clone(p.env), "LC_ALL=C.UTF-8")
	must(t, server.Start())
	t.Cleanup(func() {
		_ = exec.Command(tmux, "-S", x.socket, "-N", "kill-server").Run()
		_ = server.Wait()
	})
	x.until("the server", func() bool { return exec.Command(tmux, "-S", x.socket, "-N", "start-server").Run() == nil })
	x.run(append([]string{"new-session", "-d", "-s", "x", "-x", columns, "-y", rows, "-c", p.work}, command...)...)
	return x
}

// run runs a command of tmux.
func (x *pane) run(args ...string) string {
	x.t.Helper()
	out, err := exec.Command(x.tmux, append([]string{"-u", "-S", x.socket, "-N"}, args...)...).CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// until waits for a condition, which nothing announces.
func (x *pane) until(what string, is func() bool) {
	x.t.Helper()
	for deadline := time.Now().Add(2 * patience); !is(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.t.Fatalf("tmux never showed %s:\n%s", what, x.screen())
		}
	}
}

// screen returns the lines of the pane.
func (x *pane) screen() string { return x.run("capture-pane", "-p", "-t", "x") }

func (x *pane) shows(text string) {
	x.t.Helper()
	x.until(text, func() bool { return strings.Contains(x.screen(), text) })
}

// golden waits until the pane has the screen of a file, the same as on other terminals.
func (x *pane) golden(name string) {
	x.t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", "tui", name+".golden"))
	must(x.t, err)
	x.until("the screen\n"+string(want), func() bool {
		return strings.TrimRight(scrubbed(x.screen()), "\n") == strings.TrimRight(string(want), "\n")
	})
}

// enter types a text, and keys by their names.
func (x *pane) enter(text string, keys ...string) {
	x.t.Helper()
	if text != "" {
		x.run("send-keys", "-t", "x", "-l", text)
	}
	if len(keys) > 0 {
		x.run(append([]string{"send-keys", "-t", "x"}, keys...)...)
	}
}

// In a real tmux, the screens are those of other terminals, a resize during a stream redraws what fits, Esc interrupts, and the colors are those
// that the terminal has.
func TestTUIInTmux(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env           []string // instead of tmux's
		needs, refuse *regexp.Regexp
	}{
		"256 colors": {nil, regexp.MustCompile(`\x1b\[[0-9;]*38;5;`), regexp.MustCompile(`\x1b\[[0-9;]*[34]8;2;`)},
		"16 colors":  {[]string{"env", "-u", "TMUX", "TERM=xterm"}, regexp.MustCompile(`\x1b\[[0-9;]*(3|9)[0-7]m`), regexp.MustCompile(`\x1b\[[0-9;]*[34]8;[25];`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hold := make(chan struct{})
			s := fakellm.New(t, fakellm.Text(markdownAnswer), fakellm.Text(strings.Repeat("日本語のテキスト ", 40)).Wait(hold).Text("\n\nThe end."),
				fakellm.Text("Never ends").Stall())
			p := newProcess(t, s.URL())
			x := p.inTmux(t, "80", "24", append(c.env, "sh", "-c", `"$0" tui --title Golden; echo "exit code $?"`, p.binary)...)
			x.golden("80x24-welcome")
			x.enter("how?", "Enter")
			x.golden("80x24-answer")
			x.enter("go", "Enter")
			x.shows("日本語")
			for _, columns := range []int{40, 100} {
				x.run("resize-window", "-t", "x", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(columns/4))
				x.until("the rule", func() bool { return strings.Contains(x.screen(), "\n"+strings.Repeat("─", columns)+"\n") })
			}
			close(hold)
			x.shows("The end.")
			x.enter("/theme", "Enter")
			x.shows("Theme")
			x.enter("dark", "Enter")
			x.until("the colors of the theme", func() bool { return c.needs.MatchString(x.run("capture-pane", "-p", "-e", "-t", "x")) })
			if bad := c.refuse.FindString(x.run("capture-pane", "-p", "-e", "-t", "x")); bad != "" {
				t.Errorf("the terminal got the color %q, which it does not have", bad)
			}
			x.enter("more", "Enter")
			x.shows("Never ends")
			x.enter("", "Escape")
			x.shows("interrupted;")
			x.enter("", "C-x", "q")
			x.shows("exit code 0")
			x.shows("tenon tui -s ses_")
		})
	}
}

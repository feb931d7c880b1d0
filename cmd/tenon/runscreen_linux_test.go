package main_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// runScreen is what a run leaves on a terminal of 60 columns.
const runScreen = `! bash printf 'one\ntwo\n'; exit 3 · exit 3 · TIME
    one
    two

Plan

Use two caches, 日本語 too:

1. one
2. two

  func main() { println("hi") } // say it

key │ value
────┼──────
a   │ 1

`

// TestRunScreens looks at the screen after a run, with and without colors, and in a small terminal.
func TestRunScreens(t *testing.T) {
	t.Parallel()
	duration := regexp.MustCompile(`[0-9.]+ m?s\n`)
	for name, c := range map[string]struct {
		columns int
		env     string
		want    string
	}{
		"colors":   {60, "COLORTERM=", runScreen},
		"NO_COLOR": {60, "NO_COLOR=1", strings.NewReplacer("\nPlan", "\n# Plan", "two caches", "**two** caches").Replace(runScreen)},
		"narrow":   {40, "COLORTERM=", strings.NewReplacer("; exit 3 · exit 3 ·", "; exit 3 ·\n  exit 3 ·", "// say it", "// say i\nt").Replace(runScreen)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.New(t,
				fakellm.Call("bash", `{"command": "printf 'one\\ntwo\\n'; exit 3", "description": "print"}`),
				fakellm.Text(strings.Split(markdownAnswer, "")...))
			p := newProcess(t, s.URL())
			p.env = append(p.env, c.env)
			x := p.onEmulator(t, c.columns, 40, "run", "--auto", "--title", "x", "how?")
			if code := x.code(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			have, figures, _ := strings.Cut(duration.ReplaceAllString(x.screen(), "TIME\n"), "fake/fake-model · ")
			if diff := cmp.Diff(c.want, have); diff != "" || !strings.Contains(strings.ReplaceAll(figures, "\n", ""), "tenon run -c") {
				t.Errorf("%s (-want +have):\n%s", x.screen(), diff)
			}
		})
	}
}

// TestRunLooks reads colors from the screen after a run.
func TestRunLooks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env     []string
		keyword string
	}{
		"colors":   {[]string{"TERM=xterm-256color"}, "4"},
		"NO_COLOR": {[]string{"TERM=xterm-256color", "NO_COLOR=1"}, "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.New(t, fakellm.Text("[docs](https://example.com/a)\n\n```go\nfunc main\n```\n"))
			p := newProcess(t, s.URL())
			p.env = append(p.env, c.env...)
			x := p.onEmulator(t, 60, 20, "run", "--title", "x", "how?")
			if code := x.code(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			lines := strings.Split(x.screen(), "\n")
			code := slices.Index(lines, "  func main")
			if !slices.Contains(lines, "docs (https://example.com/a)") || code < 0 {
				t.Fatalf("the screen is\n%s", x.screen())
			}
			x.mu.Lock()
			defer x.mu.Unlock()
			if color := fmt.Sprint(x.emulator.CellAt(2, code).Style.Fg); color != c.keyword {
				t.Errorf("the color of func is %s, want %s", color, c.keyword)
			}
		})
	}
}

// TestRunResized changes the size of the terminal while an answer streams: what follows is wrapped at the new size, and nothing is lost or
// shown twice.
func TestRunResized(t *testing.T) {
	t.Parallel()
	words := strings.TrimSpace(strings.Repeat("word ", 12))
	more := make(chan struct{})
	s := fakellm.New(t, fakellm.Text("first "+words+"\n\nsecond ", words).Wait(more).Text("\n\nthird "+words+"\n\nThe end."))
	p := newProcess(t, s.URL())
	x := p.onEmulator(t, 60, 30, "run", "--title", "x", "how?")
	x.shows("second word")
	x.resized(30, 30)
	close(more)
	x.shows("The end.")
	if code := x.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	screen := x.screen()
	for _, text := range []string{"first", "second", "third", "The end."} {
		if n := strings.Count(screen, text); n != 1 {
			t.Errorf("%q is on the screen %d times:\n%s", text, n, screen)
		}
	}
	lines := strings.Split(screen, "\n")
	if third := slices.Index(lines, "third word word word word"); third < 0 || lines[third+1] != "word word word word word word" {
		t.Errorf("the third paragraph is not wrapped at the new size:\n%s", screen)
	}
}

// BenchmarkRunDeltas measures an answer of 20,000 deltas on a terminal: the CPU time of the process without its start and end and the
// bytes it wrote.
func BenchmarkRunDeltas(b *testing.B) {
	for name, c := range map[string]struct{ begin, chunk string }{"paragraph": {"", "some words of an answer, "}, "code": {"```go\n", "x := 1\n"}} {
		b.Run(name, func(b *testing.B) {
			run := func(reply fakellm.Reply) (cpu time.Duration, written int) {
				s := fakellm.New(b, reply.Text("\n\nThe end."))
				p := newProcess(b, s.URL())
				x := p.onEmulator(b, 120, 40, "run", "--title", "x", "how?")
				if code := x.code(); code != 0 {
					b.Fatalf("exit code %d", code)
				}
				state := x.cmd.ProcessState
				return state.UserTime() + state.SystemTime(), x.bytes()
			}
			var cpu time.Duration
			written := 0
			for b.Loop() {
				base, baseWritten := run(fakellm.Text("short"))
				long, longWritten := run(fakellm.Text(c.begin).Text(slices.Repeat([]string{c.chunk}, 20_000)...))
				cpu, written = cpu+long-base, written+longWritten-baseWritten
			}
			b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(written)/float64(b.N), "bytes/op")
		})
	}
}

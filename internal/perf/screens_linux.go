package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/internal/pause"
	"github.com/tenonhq/tenon/internal/ptytest"
)

const (
	screenDeltas = 20_000
	screenKeys   = 30
	screenIdle   = 5 * time.Second
	screenLimit  = 3 * time.Minute        // for one program
	screenRest   = 400 * time.Millisecond // without output, after which a program has finished drawing
	ticksPerSec  = 100                    // of times in /proc/PID/stat: USER_HZ, see proc_pid_stat(5)
)

// face is a terminal UI.
type face struct {
	name, program string
	args          []string
	env           []string
	ready         string                    // text on the screen when the user can type
	prepare       func(home, server string) // writes the configuration
}

// faces returns tenon's UI, and the UIs of other agents in PATH.
func (b *bench) faces() []face {
	all := []face{
		{name: "tenon", program: b.tenon, args: []string{"tui", "--title", "x"}, ready: "Ask anything", prepare: writer("config/tenon/tenon.json",
			`{"model": "fake/fake-model", "provider": {"fake": {"protocol": "openai-chat", "options": {"baseURL": "%s", "apiKey": "none"}, "models": {"fake-model": {}}}}}`)},
		{name: "opencode", env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"}, ready: "Ask anything", prepare: writer("config/opencode/opencode.json",
			`{"model": "fake/fake-model", "small_model": "fake/fake-model", "autoupdate": false, "provider": {"fake": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "%s", "apiKey": "none"}, "models": {"fake-model": {}}}}}`)},
		{name: "codex", env: []string{"FAKE_KEY=none"}, ready: "Ask Codex", prepare: writer(".codex/config.toml",
			"model = \"fake-model\"\nmodel_provider = \"fake\"\ncheck_for_update_on_startup = false\n[model_providers.fake]\nname = \"fake\"\nbase_url = \"%s\"\nenv_key = \"FAKE_KEY\"\nwire_api = \"responses\"\n[projects.\"%[2]s\"]\ntrust_level = \"trusted\"\n")},
		{name: "pi", args: []string{"--provider", "fake", "--model", "fake-model"}, env: []string{"PI_SKIP_VERSION_CHECK=1", "PI_OFFLINE=1"}, ready: "fake-model", prepare: writer(".pi/agent/models.json",
			`{"providers": {"fake": {"baseUrl": "%s", "api": "openai-completions", "apiKey": "none", "models": [{"id": "fake-model"}]}}}`)},
	}
	return slices.DeleteFunc(all, func(f face) bool {
		if f.program != "" {
			return false
		}
		_, err := exec.LookPath(f.name)
		return err != nil
	})
}

// writer returns a function that writes a file in a home. Its text has %s for the server, and %[2]s for the project.
func writer(name, text string) func(home, server string) {
	return func(home, server string) {
		path := filepath.Join(home, name)
		check(os.MkdirAll(filepath.Dir(path), 0o700))
		content := strings.NewReplacer("%s", server, "%[2]s", filepath.Join(home, project)).Replace(text)
		check(os.WriteFile(path, []byte(content), 0o600))
	}
}

// screens compares terminal UIs: all on terminals of 120×40 cells, with the same scripted model. The runs alternate.
func (b *bench) screens(ctx context.Context) {
	faces := b.faces()
	figures := make([]map[string][]float64, len(faces))
	homes := make([]string, len(faces))
	for i := range faces {
		figures[i], homes[i] = map[string][]float64{}, b.home()
	}
	for run := range b.runs + 1 { // the first one is not counted: it creates databases and caches
		for i, f := range faces {
			have, err := b.face(ctx, f, homes[i])
			check(ctx.Err())
			if err != nil {
				fmt.Printf("%s: %v\n", f.name, err)
			}
			for name, value := range have {
				if run > 0 {
					figures[i][name] = append(figures[i][name], value)
				}
			}
		}
	}
	fmt.Printf("%-28s", "")
	for _, f := range faces {
		fmt.Printf("%12s", f.name)
	}
	for _, name := range []string{"first screen, ms", "key to echo, ms", "20,000 deltas, s of CPU", "20,000 deltas, KB written", "memory (RSS), MB", "idle 5 s, bytes written", "idle 5 s, ms of CPU"} {
		fmt.Printf("\n%-28s", name)
		for i := range faces {
			if len(figures[i][name]) == 0 {
				fmt.Printf("%12s", "–")
				continue
			}
			fmt.Printf("%12.1f", medianOf(figures[i][name]))
		}
	}
	fmt.Println()
}

// face runs a terminal UI once. After an error it returns the figures measured before.
func (b *bench) face(ctx context.Context, f face, home string) (have map[string]float64, err error) {
	have = map[string]float64{}
	defer catch(&err)
	srv := fakellm.Start()
	defer srv.Close()
	srv.Always(fakellm.Text("A title"))
	srv.Route(func(r fakellm.Request) bool { return len(r.Tools()) > 0 }, answer())
	f.prepare(home, srv.URL())
	limited, stop := context.WithTimeout(ctx, screenLimit)
	defer stop()
	program := cmp.Or(f.program, f.name)
	cmd := exec.CommandContext(limited, program, f.args...)
	cmd.Dir = filepath.Join(home, project)
	cmd.Env = append(append(environ(home), "TERM=xterm-256color", "COLORTERM=truecolor"), f.env...)
	began := time.Now()
	p := must(ptytest.Start(cmd, 40, 120))
	defer end(home)
	defer p.Close()
	check(p.Until(limited, contains(f.ready)))
	have["first screen, ms"] = millis(time.Since(began))
	quiet(limited, p)
	have["memory (RSS), MB"] = float64(used(home).rssKB) / 1024
	written, ticks := p.Written(), used(home).ticks
	check(pause.For(limited, screenIdle))
	have["idle 5 s, bytes written"] = float64(p.Written() - written)
	have["idle 5 s, ms of CPU"] = float64(used(home).ticks-ticks) * 1000 / ticksPerSec
	have["key to echo, ms"] = echo(limited, p)
	written, ticks = p.Written(), used(home).ticks
	check(p.Type("\r"))
	if err := p.Until(limited, contains("The end.")); err != nil {
		check(fmt.Errorf("20,000 deltas: %w", err))
	}
	quiet(limited, p)
	have["20,000 deltas, s of CPU"] = float64(used(home).ticks-ticks) / ticksPerSec
	have["20,000 deltas, KB written"] = float64(p.Written()-written) / 1024
	return have, nil
}

// answer returns a long answer of paragraphs of 25 pieces.
func answer() fakellm.Reply {
	pieces := slices.Repeat([]string{"some words of an answer, "}, screenDeltas)
	for i := 24; i < len(pieces); i += 25 {
		pieces[i] = "and the last ones.\n\n"
	}
	return fakellm.Text(append(pieces, "The end.")...)
}

// echo types a prompt and returns the median time from a key to its echo, in milliseconds. It types at random times, so that keys arrive in any
// phase of a frame.
func echo(ctx context.Context, p *ptytest.Program) float64 {
	var times []float64
	prompt := ""
	for i := range screenKeys {
		check(pause.For(ctx, time.Duration(60+rand.IntN(60))*time.Millisecond))
		key := string(rune('a' + i%26))
		prompt += key
		began := time.Now()
		check(p.Type(key))
		check(p.Until(ctx, contains(prompt)))
		times = append(times, millis(time.Since(began)))
	}
	check(pause.For(ctx, screenRest)) // some programs treat quick input as a paste
	return medianOf(times)
}

func contains(text string) func(string) bool {
	return func(screen string) bool { return strings.Contains(screen, text) }
}

// quiet waits until a program writes nothing for screenRest, but at most five seconds, because of animations.
func quiet(ctx context.Context, p *ptytest.Program) {
	for range 12 {
		before := p.Written()
		if check(pause.For(ctx, screenRest)); p.Written() == before {
			return
		}
	}
}

// usage is the memory and CPU time of processes.
type usage struct {
	rssKB, ticks int
}

// used returns the usage of all processes with this home directory, including the CPU time of their ended children.
func used(home string) (sum usage) {
	for _, pid := range running(home) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // the process has ended
		}
		_, after, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')'):]), " ")
		fields := strings.Fields(after) // from field 3, the state; see proc_pid_stat(5)
		number := func(field int) int { n, _ := strconv.Atoi(fields[field-3]); return n }
		sum.rssKB += number(24) * os.Getpagesize() / 1024
		sum.ticks += number(14) + number(15) + number(16) + number(17)
	}
	return sum
}

// running returns the processes with this home directory: a program, its children and its daemons.
func running(home string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		variables, err := os.ReadFile(file)
		if err == nil && slices.Contains(strings.Split(string(variables), "\x00"), "HOME="+home) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// end kills the remaining processes of a program, such as daemons.
func end(home string) {
	for _, pid := range running(home) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

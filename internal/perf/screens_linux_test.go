package perf

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
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/internal/pause"
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
	name    string
	program string // default: name
	args    []string
	env     []string
	ready   string // text on the screen when the user can type
	config  string // file in the home
	content string // of the file, with SERVER and PROJECT
	answer  fakellm.Reply
}

// faces returns tenon's UI, and the UIs of other agents.
func (b *bench) faces() []face {
	return []face{
		{name: "tenon", program: b.tenon, args: []string{"tui", "--title", "x"}, ready: "Ask anything", answer: chatAnswer(), config: "config/tenon/tenon.json", content: `{"model": "fake/fake-model", "provider": {"fake": {"protocol": "openai-chat", "options": {"baseURL": "SERVER", "apiKey": "none"}, "models": {"fake-model": {}}}}}`},
		{name: "opencode", env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"}, ready: "Ask anything", answer: chatAnswer(), config: "config/opencode/opencode.json", content: `{"model": "fake/fake-model", "small_model": "fake/fake-model", "autoupdate": false, "provider": {"fake": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "SERVER", "apiKey": "none"}, "models": {"fake-model": {}}}}}`},
		{name: "codex", env: []string{"FAKE_KEY=none"}, ready: "Ask Codex", answer: responsesAnswer(), config: ".codex/config.toml", content: "model = \"fake-model\"\nmodel_provider = \"fake\"\ncheck_for_update_on_startup = false\n[model_providers.fake]\nname = \"fake\"\nbase_url = \"SERVER\"\nenv_key = \"FAKE_KEY\"\nwire_api = \"responses\"\n[projects.\"PROJECT\"]\ntrust_level = \"trusted\"\n"},
		{name: "pi", args: []string{"--provider", "fake", "--model", "fake-model"}, env: []string{"PI_SKIP_VERSION_CHECK=1", "PI_OFFLINE=1"}, ready: "fake-model", answer: chatAnswer(), config: ".pi/agent/models.json", content: `{"providers": {"fake": {"baseUrl": "SERVER", "api": "openai-completions", "apiKey": "none", "models": [{"id": "fake-model"}]}}}`},
	}
}

// BenchmarkScreens measures terminal UIs: all on terminals of 120×40 cells, with the same scripted model. It skips those that are not in PATH.
func BenchmarkScreens(b *testing.B) {
	for _, f := range newBench(b).faces() {
		b.Run(f.name, func(tb *testing.B) {
			b := newBench(tb)
			if _, err := exec.LookPath(cmp.Or(f.program, f.name)); err != nil {
				b.Skip(err)
			}
			figures := map[string][]float64{}
			home := b.home()
			b.face(&f, home, map[string][]float64{}) // creates databases and caches
			for b.Loop() {
				b.face(&f, home, figures)
			}
			for unit, values := range figures {
				b.report(medianOf(values), unit)
			}
		})
	}
}

// face runs a terminal UI once and adds its figures.
func (b *bench) face(f *face, home string, figures map[string][]float64) {
	srv := b.server()
	srv.Route(func(r fakellm.Request) bool { return len(r.Tools()) > 0 }, f.answer)
	config := filepath.Join(home, f.config)
	b.check(os.MkdirAll(filepath.Dir(config), 0o700))
	b.check(os.WriteFile(config, []byte(strings.NewReplacer("SERVER", srv.URL(), "PROJECT", filepath.Join(home, project)).Replace(f.content)), 0o600))
	ctx, stop := context.WithTimeout(b.Context(), screenLimit)
	defer stop()
	cmd := exec.CommandContext(ctx, cmp.Or(f.program, f.name), f.args...)
	cmd.Dir = filepath.Join(home, project)
	cmd.Env = append(append(environ(home), "TERM=xterm-256color", "COLORTERM=truecolor"), f.env...)
	add := func(unit string, value float64) { figures[unit] = append(figures[unit], value) }
	began := time.Now()
	p, err := startProgram(cmd, 40, 120)
	b.check(err)
	defer end(home)
	defer p.Close()
	b.check(p.Until(ctx, contains(f.ready)))
	add("ms-first-screen", millis(time.Since(began)))
	b.quiet(ctx, p)
	add("MB-memory", float64(used(home).rssKB)/1024)
	written, ticks := p.Written(), used(home).ticks
	b.check(pause.For(ctx, screenIdle))
	add("idle-bytes-in-5s", float64(p.Written()-written))
	add("idle-ms-CPU-in-5s", float64(used(home).ticks-ticks)*1000/ticksPerSec)
	add("ms-key-to-echo", b.echo(ctx, p))
	written, ticks = p.Written(), used(home).ticks
	b.check(p.Type("\r"))
	b.check(p.Until(ctx, contains("The end.")))
	b.quiet(ctx, p)
	add("deltas-s-CPU", float64(used(home).ticks-ticks)/ticksPerSec)
	add("deltas-KB-written", float64(p.Written()-written)/1024)
}

// answer returns the pieces of a long answer: paragraphs of 25.
func answer() []string {
	pieces := slices.Repeat([]string{"some words of an answer, "}, screenDeltas)
	for i := 24; i < len(pieces); i += 25 {
		pieces[i] = "and the last ones.\n\n"
	}
	return append(pieces, "The end.")
}

func chatAnswer() fakellm.Reply { return fakellm.Text(answer()...) }

// responsesAnswer is the answer in OpenAI's Responses, see https://platform.openai.com/docs/api-reference/responses-streaming.
func responsesAnswer() fakellm.Reply {
	event := func(kind, fields string) string {
		return fmt.Sprintf("event: response.%s\ndata: {\"type\":\"response.%[1]s\",%s}\n\n", kind, fields)
	}
	item := func(status, content string) string {
		return fmt.Sprintf(`"output_index":0,"item":{"type":"message","id":"msg_0","role":"assistant","status":%q,"content":[%s]}`, status, content)
	}
	pieces := answer()
	var b strings.Builder
	b.WriteString(event("created", `"response":{"id":"resp_0","status":"in_progress"}`) + event("output_item.added", item("in_progress", "")))
	for _, piece := range pieces {
		b.WriteString(event("output_text.delta", fmt.Sprintf(`"item_id":"msg_0","output_index":0,"content_index":0,"delta":%q`, piece)))
	}
	whole := fmt.Sprintf(`{"type":"output_text","text":%q,"annotations":[]}`, strings.Join(pieces, ""))
	b.WriteString(event("output_item.done", item("completed", whole)))
	b.WriteString(event("completed", `"response":{"id":"resp_0","status":"completed","usage":{"input_tokens":10,"output_tokens":20,"total_tokens":30}}`))
	return fakellm.Raw(b.String())
}

// echo types a prompt and returns the median time from a key to its echo, in milliseconds. It types at random times, so that keys arrive in any
// phase of a frame.
func (b *bench) echo(ctx context.Context, p *program) float64 {
	var times []float64
	prompt := ""
	for i := range screenKeys {
		b.check(pause.For(ctx, time.Duration(60+rand.IntN(60))*time.Millisecond))
		key := string(rune('a' + i%26))
		prompt += key
		began := time.Now()
		b.check(p.Type(key))
		b.check(p.Until(ctx, contains(prompt)))
		times = append(times, millis(time.Since(began)))
	}
	b.check(pause.For(ctx, screenRest)) // some programs treat quick input as a paste
	return medianOf(times)
}

func contains(text string) func(string) bool {
	return func(screen string) bool { return strings.Contains(screen, text) }
}

// quiet waits until a program writes nothing for screenRest, but at most five seconds, because of animations.
func (b *bench) quiet(ctx context.Context, p *program) {
	for range 12 {
		before := p.Written()
		if b.check(pause.For(ctx, screenRest)); p.Written() == before {
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

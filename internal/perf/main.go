//go:build unix

// Command perf measures whole tenon processes with a scripted model server on loopback and prints each figure with its goal.
// docs/performance.md explains the figures.
//
//	go run ./internal/perf            # builds tenon and measures it
//	go run ./internal/perf -n 20      # more runs of each
//	go run ./internal/perf screens    # the terminal UI, next to those of other agents in PATH
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/tenonhq/tenon/internal/fakellm"
)

func main() {
	runs := flag.Int("n", 11, "runs of each measurement")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, *runs, flag.Arg(0) == "screens"); err != nil {
		fmt.Fprintln(os.Stderr, "perf:", err)
		os.Exit(1)
	}
}

// bench holds the programs and settings of all measurements.
type bench struct {
	dir, tenon, bare, launch string
	runs, homes              int // homes: number of created homes
}

// sample is one finished process.
type sample struct {
	first  float64 // from its start to its first request, in milliseconds
	cpu    float64 // user and system time, in milliseconds
	peakMB float64 // largest resident set
}

// failure is an error that ends all measurements.
type failure struct{ err error }

// check ends all measurements if err is not nil.
func check(err error) {
	if err != nil {
		panic(failure{err}) // see catch
	}
}

// must returns v, or ends all measurements.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// catch is deferred by a function that returns the error of check.
func catch(err *error) {
	switch f := recover().(type) {
	case nil:
	case failure:
		*err = f.err
	default:
		panic(f)
	}
}

// measure builds the programs and prints the figures of runs, or of terminal UIs.
func measure(ctx context.Context, runs int, screens bool) (err error) {
	defer catch(&err)
	dir := must(os.MkdirTemp("", "tenon-perf-"))
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, tenon: filepath.Join(dir, "tenon"), bare: filepath.Join(dir, "bareclient"), launch: filepath.Join(dir, "launch"), runs: runs}
	for target, out := range map[string]string{"./cmd/tenon": b.tenon, "./internal/perf/bareclient": b.bare, "./internal/perf/launch": b.launch} {
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-tags=grpcnotrace", "-o", out, target)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			check(fmt.Errorf("build %s: %w", target, err))
		}
	}
	fmt.Printf("%s/%s, %d CPUs, %s, %d runs; medians\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), runs)
	if screens {
		b.screens(ctx)
		return nil
	}
	for _, f := range []func(context.Context){b.start, b.plugins, b.answer, b.deltas, b.steps, b.growth, b.against} {
		f(ctx)
	}
	return nil
}

func report(name, value, goal string) { fmt.Printf("%-46s %14s   goal %s\n", name, value, goal) }

// start compares the times from the start to the first request of tenon and of a bare client, run by run.
func (b *bench) start(ctx context.Context) {
	srv := fakellm.Start()
	defer srv.Close()
	srv.Always(fakellm.Text("done"))
	var ours, fresh, bare []sample
	used := b.home()
	b.runIn(ctx, srv, used, "hello")
	for range b.runs {
		for list, one := range map[*[]sample]func() sample{
			&bare:  func() sample { return b.process(ctx, srv, used, b.bare, srv.URL()) },
			&ours:  func() sample { return b.runIn(ctx, srv, used, "hello") },
			&fresh: func() sample { return b.run(ctx, srv, "hello") },
		} {
			*list = append(*list, one())
		}
	}
	largest := 0
	for _, r := range srv.Requests() {
		if len(r.Tools()) > 0 {
			largest = max(largest, len(r.Raw))
		}
	}
	report("start to first request", ms(median(ours, first)), "under 20 ms")
	report("  the same of a bare Go client", ms(median(bare, first)), "-")
	report("  ratio", fmt.Sprintf("%.2f", median(ours, first)/median(bare, first)), "-")
	report("  the very first run, which creates the database", ms(median(fresh, first)), "-")
	report("first request body, all tools", fmt.Sprintf("%d bytes", largest), "under 16384 bytes")
}

// answer measures the memory of a run with one answer.
func (b *bench) answer(ctx context.Context) {
	all := b.repeat(ctx, fakellm.Text("done"))
	report("peak memory, one answer", mb(median(all, peak)), "under 35 MB")
	report("CPU, one answer", ms(median(all, cpu)), "-")
}

// deltas measures the additional CPU time of 20,000 text deltas compared with one.
func (b *bench) deltas(ctx context.Context) {
	one, many := b.repeat(ctx, fakellm.Text("done")), b.repeat(ctx, fakellm.Repeat("word ", 20_000))
	report("CPU, 20,000 text deltas", ms(median(many, cpu)-median(one, cpu)), "under 120 ms")
	report("  whole process", ms(median(many, cpu)), "-")
	report("peak memory, 20,000 text deltas", mb(median(many, peak)), "flat")
}

// repeat runs tenon b.runs times with a server that always sends the reply.
func (b *bench) repeat(ctx context.Context, reply fakellm.Reply) (all []sample) {
	srv := fakellm.Start()
	defer srv.Close()
	srv.Always(fakellm.Text("A title"))
	srv.Route(func(r fakellm.Request) bool { return len(r.Tools()) > 0 }, slices.Repeat([]fakellm.Reply{reply}, b.runs)...)
	for range b.runs {
		all = append(all, b.run(ctx, srv, "hello"))
	}
	return all
}

// steps measures the time of a step with a tool call, and the memory of fifty steps.
func (b *bench) steps(ctx context.Context) {
	const n = 50
	var all []sample
	var per []float64
	for range b.runs {
		s, gaps := b.turn(ctx, n)
		all = append(all, s)
		per = append(per, gaps...)
	}
	report("peak memory, 50 tool steps", mb(median(all, peak)), "under 45 MB")
	report("answer to next request, per tool step", ms(medianOf(per)), "-")
}

// growth compares late steps of a long turn with early ones.
func (b *bench) growth(ctx context.Context) {
	const n = 210
	var early, late []float64
	for range max(3, b.runs/3) {
		_, gaps := b.turn(ctx, n)
		early = append(early, gaps[6:16]...)
		late = append(late, gaps[196:206]...)
	}
	report("step 200, all work, over step 10", fmt.Sprintf("%.2f", medianOf(late)/medianOf(early)), "1.3, the request body aside")
	report("  step 10 / step 200", ms(medianOf(early))+" / "+ms(medianOf(late)), "-")
}

// turn runs one turn of n tool steps and returns the times from an answer to the arrival of the next request.
func (b *bench) turn(ctx context.Context, n int) (sample, []float64) {
	srv := serve(n, func(i int) []fakellm.ToolCall {
		return []fakellm.ToolCall{{Name: "todowrite", Args: fmt.Sprintf(`{"todos":[{"content":"step %d","status":"pending","priority":"low"}]}`, i)}}
	})
	defer srv.Close()
	s := b.run(ctx, srv, "go")
	return s, stepTimes(srv, n, func(r *fakellm.Request) time.Time { return r.Arrived })
}

// serve starts a server whose model makes n steps with these calls and then ends the turn.
func serve(n int, calls func(i int) []fakellm.ToolCall) *fakellm.Server {
	srv := fakellm.Start()
	srv.Always(fakellm.Text("A title"))
	replies := make([]fakellm.Reply, n, n+1)
	for i := range replies {
		replies[i] = fakellm.Calls(calls(i)...)
	}
	srv.Route(func(r fakellm.Request) bool { return len(r.Tools()) > 0 }, append(replies, fakellm.Text("done"))...)
	return srv
}

// turnRequests returns the requests of the turn, without that of its title.
func turnRequests(srv *fakellm.Server) []fakellm.Request {
	return slices.DeleteFunc(srv.Requests(), func(r fakellm.Request) bool { return len(r.Tools()) == 0 })
}

// stepTimes returns the times from n answers to the requests after them, in milliseconds. end returns the time of a request that ends a step.
func stepTimes(srv *fakellm.Server, n int, end func(*fakellm.Request) time.Time) []float64 {
	requests := turnRequests(srv)
	if len(requests) != n+1 {
		check(fmt.Errorf("%d requests of a turn, want %d", len(requests), n+1))
	}
	gaps := make([]float64, n)
	for i := range gaps {
		gaps[i] = millis(end(&requests[i+1]).Sub(requests[i].Time))
	}
	return gaps
}

// run runs tenon once in a new home.
func (b *bench) run(ctx context.Context, srv *fakellm.Server, prompt string) sample {
	return b.runIn(ctx, srv, b.home(), prompt)
}

func (b *bench) runIn(ctx context.Context, srv *fakellm.Server, home, prompt string) sample {
	return b.process(ctx, srv, home, b.tenon, "run", "-m", "fake/fake-model", "--auto", prompt)
}

// project is the directory in a home in which programs run. Commands are not confined in a project that contains tenon's directories.
const project = "project"

// home creates a home directory with a project.
func (b *bench) home() string {
	b.homes++
	home := filepath.Join(b.dir, fmt.Sprint("home", b.homes))
	check(os.MkdirAll(filepath.Join(home, project), 0o755))
	return home
}

// process runs a program to its end, with only the model server configured.
func (b *bench) process(ctx context.Context, srv *fakellm.Server, home, program string, args ...string) sample {
	cmd := exec.CommandContext(ctx, b.launch, append([]string{program}, args...)...)
	cmd.Dir = filepath.Join(home, project)
	cmd.Env = append(environ(home),
		fmt.Sprintf(`TENON_CONFIG_CONTENT={"provider":{"fake":{"protocol":"openai-chat","options":{"baseURL":%q,"apiKey":"none"},"models":{"fake-model":{}}}}}`, srv.URL()))
	before := len(srv.Requests())
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		check(fmt.Errorf("%s %v: %w: %s", program, args, err, said.Bytes()))
	}
	var u struct{ Began, CPU, PeakKB, Code int64 }
	if err := json.Unmarshal(said.Bytes(), &u); err != nil {
		check(fmt.Errorf("launch: %w: %s", err, said.Bytes()))
	}
	requests := srv.Requests()
	if u.Code != 0 || len(requests) == before {
		check(fmt.Errorf("%s %v ended with code %d after %d requests", program, args, u.Code, len(requests)-before))
	}
	began := time.Unix(0, u.Began)
	return sample{first: millis(requests[before].Time.Sub(began)), cpu: millis(time.Duration(u.CPU)), peakMB: float64(u.PeakKB) / 1024}
}

// environ returns the environment for a home.
func environ(home string) []string {
	return []string{
		"HOME=" + home, "XDG_DATA_HOME=" + home + "/data", "XDG_CONFIG_HOME=" + home + "/config", "XDG_CACHE_HOME=" + home + "/cache",
		"PATH=" + os.Getenv("PATH"),
	}
}

func first(s sample) float64 { return s.first }

func cpu(s sample) float64 { return s.cpu }

func peak(s sample) float64 { return s.peakMB }

func median(all []sample, of func(sample) float64) float64 {
	values := make([]float64, len(all))
	for i, s := range all {
		values[i] = of(s)
	}
	return medianOf(values)
}

func medianOf(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

func millis(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func ms(v float64) string { return fmt.Sprintf("%.2f ms", v) }

func mb(v float64) string { return fmt.Sprintf("%.1f MB", v) }

//go:build unix

package perf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// programs is the directory of the measured programs. TestMain removes it.
var programs string

func TestMain(m *testing.M) {
	code := m.Run()
	if err := os.RemoveAll(programs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// build builds the programs, once.
var build = sync.OnceValue(func() error {
	var err error
	if programs, err = os.MkdirTemp("", "tenon-perf-"); err != nil {
		return err
	}
	args := []string{"build", "-trimpath", "-ldflags=-s -w", "-tags=grpcnotrace", "-o", programs, "../../cmd/tenon", "./bareclient", "./launch"}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
})

// bench measures processes.
type bench struct {
	*testing.B
	tenon, bare, launch string
}

// sample is one finished process.
type sample struct {
	first  float64 // from its start to its first request, in milliseconds
	cpu    float64 // user and system time, in milliseconds
	peakMB float64 // largest resident set
}

func newBench(b *testing.B) *bench {
	b.Helper()
	if err := build(); err != nil {
		b.Fatal(err)
	}
	return &bench{b, filepath.Join(programs, "tenon"), filepath.Join(programs, "bareclient"), filepath.Join(programs, "launch")}
}

// check ends the benchmark if err is not nil.
func (b *bench) check(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// report reports medians instead of the time of an iteration.
func (b *bench) report(value float64, unit string) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(value, unit)
}

// server starts a model server that ends with the benchmark.
func (b *bench) server() *fakellm.Server {
	srv := fakellm.Start()
	b.Cleanup(srv.Close)
	srv.Always(fakellm.Text("done"))
	return srv
}

// BenchmarkStart compares the times from the start to the first request of tenon and of a bare client.
func BenchmarkStart(tb *testing.B) {
	b := newBench(tb)
	srv := b.server()
	var ours, fresh, bare []sample
	used := b.home()
	b.runIn(srv, used, "hello")
	for b.Loop() {
		bare = append(bare, b.process(srv, used, b.bare, srv.URL()))
		ours = append(ours, b.runIn(srv, used, "hello"))
		fresh = append(fresh, b.run(srv, "hello"))
	}
	largest := 0
	for _, r := range srv.Requests() {
		if len(r.Tools()) > 0 {
			largest = max(largest, len(r.Raw))
		}
	}
	b.report(median(ours, first), "ms")
	b.report(median(bare, first), "ms-bare")
	b.report(median(ours, first)/median(bare, first), "ratio")
	b.report(median(fresh, first), "ms-first-run")
	b.report(float64(largest), "bytes-request")
}

// BenchmarkAnswer measures the memory and CPU time of a run with one answer.
func BenchmarkAnswer(tb *testing.B) {
	b := newBench(tb)
	srv := b.server()
	var all []sample
	for b.Loop() {
		all = append(all, b.run(srv, "hello"))
	}
	b.report(median(all, peak), "MB-peak")
	b.report(median(all, cpu), "ms-CPU")
}

// BenchmarkDeltas measures the additional CPU time of 20,000 text deltas compared with one.
func BenchmarkDeltas(tb *testing.B) {
	b := newBench(tb)
	short, long := b.server(), b.server()
	long.Route(func(r fakellm.Request) bool { return len(r.Tools()) > 0 }, fakellm.Repeat("word ", 20_000))
	var one, many []sample
	for b.Loop() {
		one, many = append(one, b.run(short, "hello")), append(many, b.run(long, "hello"))
	}
	b.report(median(many, cpu)-median(one, cpu), "ms-CPU")
	b.report(median(many, peak), "MB-peak")
}

// BenchmarkSteps measures the memory of fifty steps, and the time of one from the answer to the arrival of the next request.
func BenchmarkSteps(tb *testing.B) {
	b := newBench(tb)
	var all []sample
	var per []float64
	for b.Loop() {
		s, gaps := b.turn(50)
		all, per = append(all, s), append(per, gaps...)
	}
	b.report(medianOf(per), "ms")
	b.report(median(all, peak), "MB-peak")
}

// BenchmarkGrowth compares late steps of a long turn with early ones.
func BenchmarkGrowth(tb *testing.B) {
	b := newBench(tb)
	var early, late []float64
	for b.Loop() {
		_, gaps := b.turn(210)
		early, late = append(early, gaps[6:16]...), append(late, gaps[196:206]...)
	}
	b.report(medianOf(early), "ms-step-10")
	b.report(medianOf(late), "ms-step-200")
	b.report(medianOf(late)/medianOf(early), "ratio")
}

// turn runs one turn of n tool steps and returns the times from an answer to the arrival of the next request.
func (b *bench) turn(n int) (sample, []float64) {
	srv := b.serve(n, func(i int) []fakellm.ToolCall {
		return []fakellm.ToolCall{{Name: "todowrite", Args: fmt.Sprintf(`{"todos":[{"content":"step %d","status":"pending","priority":"low"}]}`, i)}}
	})
	s := b.run(srv, "go")
	return s, b.stepTimes(srv, n, func(r *fakellm.Request) time.Time { return r.Arrived })
}

// serve starts a server whose model makes n steps with these calls and then ends the turn.
func (b *bench) serve(n int, calls func(i int) []fakellm.ToolCall) *fakellm.Server {
	srv := b.server()
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
func (b *bench) stepTimes(srv *fakellm.Server, n int, end func(*fakellm.Request) time.Time) []float64 {
	requests := turnRequests(srv)
	if len(requests) != n+1 {
		b.Fatalf("%d requests of a turn, want %d", len(requests), n+1)
	}
	gaps := make([]float64, n)
	for i := range gaps {
		gaps[i] = millis(end(&requests[i+1]).Sub(requests[i].Time))
	}
	return gaps
}

// run runs tenon once in a new home.
func (b *bench) run(srv *fakellm.Server, prompt string) sample { return b.runIn(srv, b.home(), prompt) }

func (b *bench) runIn(srv *fakellm.Server, home, prompt string) sample {
	return b.process(srv, home, b.tenon, "run", "-m", "fake/fake-model", "--auto", prompt)
}

// project is the directory in a home in which programs run. Commands are not confined in a project that contains tenon's directories.
const project = "project"

// home creates a home directory with a project.
func (b *bench) home() string {
	home := b.TempDir()
	b.check(os.MkdirAll(filepath.Join(home, project), 0o755))
	return home
}

// process runs a program to its end, with only the model server configured.
func (b *bench) process(srv *fakellm.Server, home, program string, args ...string) sample {
	cmd := exec.CommandContext(b.Context(), b.launch, append([]string{program}, args...)...)
	cmd.Dir = filepath.Join(home, project)
	cmd.Env = append(environ(home),
		fmt.Sprintf(`TENON_CONFIG_CONTENT={"provider":{"fake":{"protocol":"openai-chat","options":{"baseURL":%q,"apiKey":"none"},"models":{"fake-model":{}}}}}`, srv.URL()))
	before := len(srv.Requests())
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s %v: %v: %s", program, args, err, said.Bytes())
	}
	var u struct{ Began, CPU, PeakKB, Code int64 }
	if err := json.Unmarshal(said.Bytes(), &u); err != nil {
		b.Fatalf("launch: %v: %s", err, said.Bytes())
	}
	requests := srv.Requests()
	if u.Code != 0 || len(requests) == before {
		b.Fatalf("%s %v ended with code %d after %d requests", program, args, u.Code, len(requests)-before)
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

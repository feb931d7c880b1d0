//go:build unix

package perf

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// againstSteps is the number of steps of a compared turn. The first ones do not count, because they load what a turn needs once.
const (
	againstSteps  = 24
	againstWarmup = 4
)

// work describes the steps of a compared turn: tool calls of tenon, and the same work of the bare client.
type work struct {
	calls func(i int) []fakellm.ToolCall
	bare  []string // arguments of the bare client after the address and the file of requests
}

// BenchmarkStep compares the steps of turns with those of a bare client that sends the same requests, and reads the same files or starts the
// same commands, unconfined. The two alternate.
func BenchmarkStep(b *testing.B) {
	shell := func(i, n int) (calls []fakellm.ToolCall) {
		for k := range n {
			calls = append(calls, fakellm.ToolCall{Name: "bash", Args: fmt.Sprintf(`{"command":"echo %d.%d","description":"echo"}`, i, k)})
		}
		return calls
	}
	for name, w := range map[string]work{
		"read": {func(i int) []fakellm.ToolCall {
			return []fakellm.ToolCall{{Name: "read", Args: fmt.Sprintf(`{"filePath":"f%d.txt"}`, i)}}
		}, []string{"read", "f0.txt"}},
		"shell":    {func(i int) []fakellm.ToolCall { return shell(i, 1) }, []string{"1", "echo x"}},
		"10shells": {func(i int) []fakellm.ToolCall { return shell(i, 10) }, []string{"10", "echo x"}},
	} {
		b.Run(name, func(tb *testing.B) {
			b := newBench(tb)
			var ours, bare []float64
			for b.Loop() {
				t, u := b.compare(&w)
				ours, bare = append(ours, t...), append(bare, u...)
			}
			b.report(medianOf(ours), "ms")
			b.report(medianOf(bare), "ms-bare")
			b.report(medianOf(ours)/medianOf(bare), "ratio")
		})
	}
}

// compare runs one turn of tenon and then of the bare client, and returns the times of their steps.
func (b *bench) compare(w *work) (ours, bare []float64) {
	home := b.home()
	for i := range againstSteps {
		b.check(os.WriteFile(filepath.Join(home, project, fmt.Sprintf("f%d.txt", i)), bytes.Repeat([]byte("a line of text\n"), 100), 0o600))
	}
	file := filepath.Join(home, "requests")
	ours = b.times(w, func(srv *fakellm.Server) {
		b.runIn(srv, home, "go")
		var bodies bytes.Buffer
		for _, r := range turnRequests(srv) {
			bodies.Write(append(bytes.TrimSpace(r.Raw), '\n'))
		}
		if bytes.Contains(bodies.Bytes(), []byte("(refused by ")) {
			b.Fatal("tenon refused calls")
		}
		b.check(os.WriteFile(file, bodies.Bytes(), 0o600))
	})
	bare = b.times(w, func(srv *fakellm.Server) {
		b.process(srv, home, b.bare, append([]string{srv.URL(), file}, w.bare...)...)
	})
	return ours, bare
}

// times runs a turn and returns the times of its steps. They include the server's decoding of the request, as the goals do.
func (b *bench) times(w *work, run func(*fakellm.Server)) []float64 {
	srv := b.serve(againstSteps, w.calls)
	run(srv)
	return b.stepTimes(srv, againstSteps, func(r *fakellm.Request) time.Time { return r.Time })[againstWarmup:]
}

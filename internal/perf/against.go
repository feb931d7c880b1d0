//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
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
	name, goal string
	calls      func(i int) []fakellm.ToolCall
	bare       []string // arguments of the bare client after the address and the file of requests
}

// against compares the steps of turns with those of a bare client that sends the same requests, and reads the same files or starts the same
// commands, unconfined. The two alternate.
func (b *bench) against(ctx context.Context) {
	shell := func(i, n int) (calls []fakellm.ToolCall) {
		for k := range n {
			calls = append(calls, fakellm.ToolCall{Name: "bash", Args: fmt.Sprintf(`{"command":"echo %d.%d","description":"echo"}`, i, k)})
		}
		return calls
	}
	for _, w := range []work{
		{"read step", "under 1.5 ms", func(i int) []fakellm.ToolCall {
			return []fakellm.ToolCall{{Name: "read", Args: fmt.Sprintf(`{"filePath":"f%d.txt"}`, i)}}
		}, []string{"read", "f0.txt"}},
		{"shell step, confined", "at most 2.6 times", func(i int) []fakellm.ToolCall { return shell(i, 1) }, []string{"1", "echo x"}},
		{"step of ten parallel shell calls", "at most 2.3 times", func(i int) []fakellm.ToolCall { return shell(i, 10) }, []string{"10", "echo x"}},
	} {
		var ours, bare []float64
		for range b.runs {
			t, u := b.compare(ctx, &w)
			ours, bare = append(ours, t...), append(bare, u...)
		}
		report(w.name, ms(medianOf(ours)), w.goal)
		report("  over the bare client's", fmt.Sprintf("%.2f of %s", medianOf(ours)/medianOf(bare), ms(medianOf(bare))), "-")
	}
}

// compare runs one turn of tenon and then of the bare client, and returns the times of their steps.
func (b *bench) compare(ctx context.Context, w *work) (ours, bare []float64) {
	home := b.home()
	for i := range againstSteps {
		check(os.WriteFile(filepath.Join(home, project, fmt.Sprintf("f%d.txt", i)), bytes.Repeat([]byte("a line of text\n"), 100), 0o600))
	}
	file := filepath.Join(home, "requests")
	ours = w.times(func(srv *fakellm.Server) {
		b.runIn(ctx, srv, home, "go")
		var bodies bytes.Buffer
		for _, r := range turnRequests(srv) {
			bodies.Write(append(bytes.TrimSpace(r.Raw), '\n'))
		}
		if bytes.Contains(bodies.Bytes(), []byte("(refused by ")) {
			check(fmt.Errorf("%s: tenon refused calls", w.name))
		}
		check(os.WriteFile(file, bodies.Bytes(), 0o600))
	})
	bare = w.times(func(srv *fakellm.Server) {
		b.process(ctx, srv, home, b.bare, append([]string{srv.URL(), file}, w.bare...)...)
	})
	return ours, bare
}

// times runs a turn and returns the times of its steps. They include the server's decoding of the request, as the goals do.
func (w *work) times(run func(*fakellm.Server)) []float64 {
	srv := serve(againstSteps, w.calls)
	defer srv.Close()
	run(srv)
	return stepTimes(srv, againstSteps, func(r *fakellm.Request) time.Time { return r.Time })[againstWarmup:]
}

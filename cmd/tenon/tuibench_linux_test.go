package main_test

import (
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// BenchmarkTUIFirstScreen measures the time from the start of the process to a prompt that can be typed into.
func BenchmarkTUIFirstScreen(b *testing.B) {
	s := fakellm.New(b)
	p := newProcess(b, s.URL())
	for b.Loop() {
		x := p.onScreen(b, 80, 24)
		x.shows("Ask anything")
		b.StopTimer()
		x.enter("\x04")
		x.code()
		b.StartTimer()
	}
}

// BenchmarkTUIKey measures the time from a key to its echo, and the bytes written for it.
func BenchmarkTUIKey(b *testing.B) {
	s := fakellm.New(b)
	p := newProcess(b, s.URL())
	x := p.onScreen(b, 80, 24)
	x.shows("main · ~/project")
	before, n := x.bytes(), 0
	for b.Loop() {
		key := string(rune('a' + n%26))
		n++
		want := "› " + key
		x.enter("\x7f" + key)
		x.shows(want)
	}
	b.ReportMetric(float64(x.bytes()-before)/float64(n), "bytes/op")
	x.leave()
}

// BenchmarkTUIDeltas measures an answer of 20,000 deltas: the CPU time of the process without its start and end and the bytes it
// wrote.
func BenchmarkTUIDeltas(b *testing.B) {
	run := func(reply fakellm.Reply) (cpu time.Duration, written int) {
		s := fakellm.New(b, reply.Text("\n\nThe end."))
		p := newProcess(b, s.URL())
		x := p.onScreen(b, 120, 40, "--title", "x")
		x.shows("main · ~/project")
		x.enter("go\r")
		x.shows("The end.")
		written = x.bytes()
		x.leave()
		state := x.cmd.ProcessState
		return state.UserTime() + state.SystemTime(), written
	}
	var cpu time.Duration
	written, n := 0, 0
	for b.Loop() {
		base, baseWritten := run(fakellm.Text("short"))
		long, longWritten := run(fakellm.Repeat("some words of an answer, ", 20_000))
		cpu += long - base
		written += longWritten - baseWritten
		n++
	}
	b.ReportMetric(cpu.Seconds()/float64(n), "cpu-s/op")
	b.ReportMetric(float64(written)/float64(n), "bytes/op")
}

// bytes returns how much was written to the terminal.
func (x *tui) bytes() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.written
}

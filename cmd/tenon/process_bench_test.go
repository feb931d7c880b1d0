package main_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// BenchmarkRun measures whole processes: from start to the arrival of the first request, and to the end.
func BenchmarkRun(b *testing.B) {
	s, err := fakellm.Start()
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	s.Always(fakellm.Text("fine"))
	p := newProcess(b, s.URL())
	p.output(b, 0, "run", "warm up")
	var first []time.Duration
	var peak int64
	for b.Loop() {
		before := len(s.Turns())
		cmd := p.command("run", "--title", "bench", "hello")
		begun := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		first = append(first, s.Turns()[before].Time.Sub(begun))
		peak = max(peak, peakMemory(cmd.ProcessState))
	}
	slices.Sort(first)
	b.ReportMetric(float64(first[len(first)/2].Microseconds())/1000, "ms/first-request")
	b.ReportMetric(float64(peak)/(1<<20), "MiB/peak")
}

package main_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// BenchmarkRun measures whole processes: from start to the arrival of the first request, the end, and the
// most memory they had.
func BenchmarkRun(b *testing.B) {
	s, err := fakellm.Start()
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	s.Always(fakellm.Text("fine"))
	p := newProcess(b, s.URL())
	// The test binary holds more than the command: its figures would be others.
	p.binary = filepath.Join(b.TempDir(), "built"+filepath.Ext(p.binary))
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", p.binary, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	p.output(b, 0, "run", "warm up")
	var first []time.Duration
	var peak int64
	for b.Loop() {
		before := len(s.Turns())
		cmd := p.command("run", "--title", "bench", "hello")
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			b.Fatalf("no answer: %v", err)
		}
		peak = max(peak, peakMemory(cmd.Process.Pid))
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		first = append(first, s.Turns()[before].Time.Sub(begun))
	}
	slices.Sort(first)
	b.ReportMetric(float64(first[len(first)/2].Microseconds())/1000, "ms/first-request")
	if peak > 0 {
		b.ReportMetric(float64(peak)/(1<<20), "MiB/peak")
	}
}

// peakMemory returns the most memory the living process had, in bytes; 0 where the system has no /proc. What
// the system says of ended processes counts the memory of the one that started them.
func peakMemory(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}

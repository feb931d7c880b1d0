package main_test

import (
	"bufio"
	"encoding/json"
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
	s := fakellm.Start()
	defer s.Close()
	s.Always(fakellm.Text("fine"))
	p := newProcess(b, s.URL())
	p.binary = built(b)
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

// built builds the command. The test binary holds more: its figures would be others.
func built(b *testing.B) string {
	binary := filepath.Join(b.TempDir(), "built.exe")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-tags=grpcnotrace", "-o", binary, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return binary
}

// BenchmarkRunBesideBrokenServers measures runs with 14 broken MCP servers and without, in turns. The first run, which waits for servers never
// seen before, does not count.
func BenchmarkRunBesideBrokenServers(b *testing.B) {
	s := fakellm.Start()
	defer s.Close()
	s.Always(fakellm.Text("fine"))
	servers := map[string]any{}
	for i := range 2 {
		for kind, command := range map[string][]string{
			"missing": {"no-such-command-here"}, "nofile": {"/no/such/file"}, "exits": {"sh", "-c", "exit 3"}, "hangs": {"sleep", "100"},
			"garbage": {"sh", "-c", "echo garbage; sleep 100"}, "ends": {"sh", "-c", "read line"}, "deaf": {"sh", "-c", "exec 0<&-; sleep 100"},
		} {
			servers[fmt.Sprint(kind, i)] = map[string]any{"type": "local", "command": command, "timeout": 1000}
		}
	}
	list, err := json.Marshal(servers)
	if err != nil {
		b.Fatal(err)
	}
	binary := built(b)
	var all [2]*process
	for i, mcp := range []string{"{}", string(list)} {
		all[i] = newProcess(b, s.URL())
		all[i].binary = binary
		all[i].env = append(all[i].env, "TENON_CONFIG_CONTENT="+strings.TrimSuffix(fakeConfig(s.URL()), "}")+`, "mcp": `+mcp+"}")
		all[i].output(b, 0, "run", "warm up")
	}
	var took [2][]time.Duration
	for b.Loop() {
		for i, p := range all {
			begun := time.Now()
			p.output(b, 0, "run", "--title", "bench", "hello")
			took[i] = append(took[i], time.Since(begun))
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	none, broken := took[0][len(took[0])/2], took[1][len(took[1])/2]
	b.ReportMetric(float64(none.Microseconds())/1000, "ms/none")
	b.ReportMetric(float64(broken)/float64(none), "broken/none")
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

//go:build unix

package mcp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/plugins/plugintest"
)

// pidOf returns the process of the server, or of its child.
func pidOf(t testing.TB, p *mcp.Plugin, of string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(mustRun(t, p, "fake_"+of, "{}").Output))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func killRounds() int {
	if n, err := strconv.Atoi(os.Getenv("TENON_KILL_ROUNDS")); err == nil {
		return n
	}
	return 20
}

// A server that is killed, between and during calls, is usable again within two seconds, and no call is made twice.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "count")
	p := ready(t, newTestHost(t), fake(t, "plain", "COUNT="+count))
	var longest time.Duration
	for round := range killRounds() {
		pid := pidOf(t, p, "pid")
		during := round%2 == 1
		var calls sync.WaitGroup
		if during {
			for i := range 4 {
				name := fmt.Sprintf("round%d-%d", round, i)
				calls.Go(func() {
					_, err := run(t.Context(), t, p, "fake_never", `{"text":"`+name+`"}`)
					if err == nil || !strings.Contains(err.Error(), "lost") {
						t.Errorf("%s: error = %v, want that the connection was lost", name, err)
					}
				})
			}
			eventually(t, "calls that run", func() bool { return len(linesWith(t, count, fmt.Sprintf("round%d-", round))) == 4 })
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		calls.Wait() // they fail because the server is gone; their deadline would be another error
		lateness := plugintest.Lateness()
		begun := time.Now()
		name := fmt.Sprintf("after%d", round)
		// A call that was on its way when the server died fails; whoever made it may make it again.
		eventually(t, "usable again", func() bool {
			_, err := run(t.Context(), t, p, "fake_count", `{"text":"`+name+`"}`)
			return err == nil
		})
		took := time.Since(begun)
		if late := 2 * lateness(); took > 2*time.Second+late {
			t.Errorf("usable again after %s, on a machine that was up to %s late", took, late)
		}
		longest = max(longest, took)
		if n := len(linesWith(t, count, name+"\n")); n != 1 {
			t.Errorf("%s was run %d times", name, n)
		}
	}
	t.Logf("usable again after at most %s", longest)
	seen := map[string]bool{}
	for _, line := range lines(t, count) {
		if seen[line] {
			t.Errorf("%s was run twice", line)
		}
		seen[line] = true
	}
}

// Nothing is left of a server, whatever it started and however it behaves.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	p := begin(t, newTestHost(t), fake(t, "orphans"), mcp.Options{})
	pids := []int{pidOf(t, p, "pid"), pidOf(t, p, "child")}
	closePlugin(t, p)
	for _, pid := range pids {
		eventually(t, "the end of the processes", func() bool { return syscall.Kill(pid, 0) != nil || zombie(pid) })
	}
	closePlugin(t, p) // closing twice succeeds
	if _, err := p.Tools()[0].Execute(context.Background(), toolCall("{}")); err == nil {
		t.Error("a call after Close succeeded")
	}
}

// zombie reports whether the process only waits to be buried, where that can be told.
func zombie(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(raw), ") Z ")
}

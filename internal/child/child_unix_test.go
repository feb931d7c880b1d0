//go:build unix

package child_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/child"
)

// family is a shell with a child of its own. Both hold the write end of a pipe: its end is read when both are gone.
const family = `sleep 600 & echo ready; wait`

func start(t *testing.T, cmd *exec.Cmd) *bufio.Reader {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	cmd.Stdout = w
	child.Prepare(cmd)
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Kill(cmd) })
	if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(r)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	return lines
}

func gone(t *testing.T, out io.Reader) {
	t.Helper()
	if rest, err := io.ReadAll(out); err != nil {
		t.Errorf("a process of the group still runs: %q, %v", rest, err)
	}
}

func TestGroupEnds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		end  func(*exec.Cmd) error
		want syscall.Signal
	}{
		"kill":      {child.Kill, syscall.SIGKILL},
		"terminate": {child.Terminate, syscall.SIGTERM},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("sh", "-c", family)
			out := start(t, cmd)
			if err := tt.end(cmd); err != nil {
				t.Fatal(err)
			}
			gone(t, out)
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != tt.want {
				t.Errorf("Wait = %v, want signal %v", err, tt.want)
			}
			if err := tt.end(cmd); err != nil {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}

// The group outlives its leader, and is ended all the same.
func TestLeaderEndedFirst(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", `sleep 600 & echo ready`)
	out := start(t, cmd)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := child.Kill(cmd); err != nil {
		t.Fatal(err)
	}
	gone(t, out)
}

func TestContextEndsGroup(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, "sh", "-c", family)
	out := start(t, cmd)
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("the command ended well")
	}
	gone(t, out)
}

// Signals of the terminal to the group of the host do not reach the helper.
func TestOwnGroup(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", family)
	start(t, cmd)
	group, err := syscall.Getpgid(cmd.Process.Pid)
	if err != nil || group != cmd.Process.Pid {
		t.Errorf("process group %d, %v; want %d", group, err, cmd.Process.Pid)
	}
	if err := child.Kill(cmd); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}

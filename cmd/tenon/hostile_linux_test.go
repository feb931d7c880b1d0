package main_test

import (
	"bytes"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// TestAnswersWithoutEndTakeLittleMemory lets a server answer without end. The process may take four times of what is kept of an
// answer, 16 MiB, more than one whose answer is a word. It does not ask again.
func TestAnswersWithoutEndTakeLittleMemory(t *testing.T) {
	limit := int64(4 * 16 << 10) // KiB, as Maxrss has them
	if underRace() {
		limit *= 8 // the detector's own memory
	}
	chunk := strings.Repeat("x", 4000)
	usual := peak(t, 0, fakellm.Text("hi"))
	for name, reply := range map[string]fakellm.Reply{
		"text":      fakellm.Text("a").Endless(chunk),
		"reasoning": fakellm.Text("a").EndlessReasoning("reasoning_content", chunk),
		"arguments": fakellm.Text("a").EndlessArgs("read", chunk),
		"escapes":   fakellm.Text("a").Endless(strings.Repeat("\x01", 4000)),
		"words":     fakellm.Text("a").Endless("words "),
	} {
		if more := peak(t, 1, reply) - usual; more > limit {
			t.Errorf("%s: %d MiB more than usual, want at most %d", name, more>>10, limit>>10)
		}
	}
}

// underRace reports whether the test, and the command with it, was built with the race detector.
func underRace() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// peak runs a prompt and returns the most memory that the process had, in KiB.
func peak(t *testing.T, code int, reply fakellm.Reply) int64 {
	t.Helper()
	s := fakellm.New(t, reply)
	cmd := newProcess(t, s.URL()).command("run", "--title", "long", "hi")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the exit code tells
	if cmd.ProcessState.ExitCode() != code || out.Len() > 1<<20 || errs.Len() > 1<<20 {
		t.Fatalf("exit code %d, want %d; %d bytes of output, errors: %.500s", cmd.ProcessState.ExitCode(), code, out.Len(), errs.String())
	}
	if n := len(s.Turns()); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
	return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
}

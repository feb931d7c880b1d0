package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenonhq/tenon/internal/fakellm"
)

// TestAnswersWithoutEndTakeLittleMemory lets a server answer without end. The process may take four times of what is kept of an
// answer, 16 MiB, more than one whose answer is a word. It does not ask again.
func TestAnswersWithoutEndTakeLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory, of which the race detector takes several times as much; runs without -short")
	}
	limit := memoryLimit()
	chunk := strings.Repeat("x", 4000)
	usual := peak(t, 0, "text", fakellm.Text("hi"))
	for name, reply := range map[string]fakellm.Reply{
		"text":      fakellm.Text("a", chunk).Endless(),
		"reasoning": fakellm.Text("a").Reasoning("reasoning_content", chunk).Endless(),
		"arguments": fakellm.Text("a").Call("read", chunk).Endless(),
		"escapes":   fakellm.Text("a", strings.Repeat("\x01", 4000)).Endless(),
		"words":     fakellm.Text("a", "these are a few words ").Endless(), // 700,000 of them
	} {
		if more := peak(t, 1, "text", reply) - usual; more > limit {
			t.Errorf("%s: %d MiB more than usual, want at most %d", name, more>>10, limit>>10)
		}
	}
}

// TestLongAnswersTakeLittleMemory checks that an answer near the limit, which is kept whole, takes up to four times its size.
func TestLongAnswersTakeLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory, of which the race detector takes several times as much; runs without -short")
	}
	usual := peak(t, 0, "text", fakellm.Text("hi"))
	line := strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 100)
	cjk := strings.Repeat("天地玄黄宇宙洪荒。", 200)
	const size = 15 << 20
	inCJK := fakellm.Repeat(cjk, size/len(cjk))
	for name, c := range map[string]struct {
		format string
		reply  fakellm.Reply
	}{
		"text":        {"text", fakellm.Repeat(line, size/len(line))},
		"cjk":         {"text", inCJK},
		"cjk as JSON": {"json", inCJK},
		"reasoning":   {"json", fakellm.Reply{}.Reasoning("reasoning_content", slices.Repeat([]string{line}, size/len(line))...).Text("hi")},
	} {
		more := peak(t, 0, c.format, c.reply) - usual
		t.Logf("%s: %d MiB more than usual", name, more>>10)
		if more > memoryLimit() {
			t.Errorf("%s: %d MiB more than usual, want at most %d", name, more>>10, memoryLimit()>>10)
		}
	}
}

// TestLongArgumentsTakeLittleMemory checks that arguments near the limit take up to four times their size, with the tool that gets them and
// the next request, which contains them. A JSON line is one more copy: it is written while the next request is made.
func TestLongArgumentsTakeLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory, of which the race detector takes several times as much; runs without -short")
	}
	usual := peak(t, 0, "text", fakellm.Text("hi"))
	const line = `The quick brown fox jumps over the lazy dog.\n`
	long := strings.Repeat(line, longArguments/len(line))
	for name, c := range map[string]struct{ format, tool, args string }{
		"unknown":       {"text", "unknown", `{"x":"` + long + `"}`},
		"write":         {"text", "write", `{"filePath":"long.txt","content":"` + long + `"}`},
		"write as JSON": {"json", "write", `{"filePath":"long.txt","content":"` + long + `"}`},
		"bash":          {"text", "bash", `{"command":"` + long + `"}`},
		"not complete":  {"text", "list", `{"path":"` + long},
	} {
		more := peak(t, 0, c.format, fakellm.Calls(fakellm.ToolCall{Name: c.tool, Args: c.args, Chunks: 4000}), fakellm.Text("hi")) - usual
		t.Logf("%s: %d MiB more than usual", name, more>>10)
		limit := argumentsLimit()
		if c.format == "json" {
			limit += longArguments >> 10
		}
		if more > limit {
			t.Errorf("%s: %d MiB more than usual, want at most %d", name, more>>10, limit>>10)
		}
	}
}

// TestManyLongCallsTakeLittleMemory checks that arguments near the limit may be those of several calls, with the same memory.
func TestManyLongCallsTakeLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory, of which the race detector takes several times as much; runs without -short")
	}
	usual := peak(t, 0, "text", fakellm.Text("hi"))
	calls := make([]fakellm.ToolCall, 14)
	for i := range calls { // each is another: a call that is repeated is not run
		args := `{"x":"` + strings.Repeat(string(rune('a'+i)), longArguments/len(calls)) + `"}`
		calls[i] = fakellm.ToolCall{Name: "unknown", Args: args, Chunks: 300}
	}
	more := peak(t, 0, "text", fakellm.Calls(calls...), fakellm.Text("hi")) - usual
	t.Logf("%d MiB more than usual", more>>10)
	if more > argumentsLimit() {
		t.Errorf("%d MiB more than usual, want at most %d", more>>10, argumentsLimit()>>10)
	}
}

// longArguments is the size of the longest arguments that are tested, in bytes.
const longArguments = 15 << 20

// argumentsLimit returns four times longArguments, in KiB.
func argumentsLimit() int64 { return memoryLimit() / 16 * 15 }

// memoryLimit returns four times the size of the longest answer, in KiB.
func memoryLimit() int64 {
	limit := int64(4 * 16 << 10)
	if underRace() {
		limit *= 8 // the detector's own memory
	}
	return limit
}

// underRace reports whether the test, and the command with it, was built with the race detector.
func underRace() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// peak runs a prompt with these answers and returns the most memory that the process had, in KiB.
func peak(t *testing.T, code int, format string, replies ...fakellm.Reply) int64 {
	t.Helper()
	s := fakellm.New(t, replies...)
	most := newProcess(t, s.URL()).peak(t, code, format)
	if n := len(s.Turns()); n != len(replies) {
		t.Errorf("asked %d times, want %d", n, len(replies))
	}
	return most
}

// peak runs a prompt and returns the most memory that the process had, in KiB.
func (p *process) peak(t *testing.T, code int, format string) int64 {
	t.Helper()
	cmd := p.command("run", "--auto", "--format", format, "--title", "long", "hi")
	file := filepath.Join(t.TempDir(), "status")
	cmd.Env = append(cmd.Env, "TENON_TEST_PEAK="+file, "GOGC=") // collects garbage as usual
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	// The command inherits this: a huge page counts as used with its first byte.
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Run() // the exit code is checked
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 0, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if cmd.ProcessState.ExitCode() != code || code != 0 && out.Len() > 1<<20 || errs.Len() > 1<<20 {
		t.Fatalf("exit code %d, want %d; %d bytes of output, errors: %.500s", cmd.ProcessState.ExitCode(), code, out.Len(), errs.String())
	}
	status, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib
}

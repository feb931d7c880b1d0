//go:build unix

package shell_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tenonhq/tenon/builtin/internal/testhost"
	"github.com/tenonhq/tenon/builtin/tools/shell"
	"github.com/tenonhq/tenon/sdk"
)

func TestExecute(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args   map[string]any
		output string
		exit   int
	}{
		"output":        {map[string]any{"command": "echo a; echo b >&2; echo c"}, "a\nb\nc\n", 0},
		"no output":     {map[string]any{"command": "true"}, "", 0},
		"exit status":   {map[string]any{"command": "echo a; exit 3"}, "a\n\n<bash_metadata>\nexit status 3\n</bash_metadata>", 3},
		"no program":    {map[string]any{"command": "apply_patch() { return 127; }; apply_patch"}, "\n<bash_metadata>\nexit status 127\napply_patch is not a program here; use the tools that edit files.\n</bash_metadata>", 127},
		"signal":        {map[string]any{"command": "kill -9 $$"}, "\n<bash_metadata>\nexit status 137\n</bash_metadata>", 137},
		"stdin":         {map[string]any{"command": "cat; echo end"}, "end\n", 0},
		"no terminal":   {map[string]any{"command": "(: < /dev/tty) 2>/dev/null || echo none"}, "none\n", 0},
		"environment":   {map[string]any{"command": `echo $FROM_HOST$CDPATH; case $BASHOPTS in *globstar*) echo globstar; esac; case $- in *f*) echo noglob; esac`}, "yes\n", 0},
		"binary":        {map[string]any{"command": `printf 'a\xff\xfe\000b'`}, "a\uFFFD\uFFFDb", 0},
		"syntax error":  {map[string]any{"command": "echo 'open 2>/dev/null"}, "", 2},
		"workdir":       {map[string]any{"command": "basename $PWD", "workdir": "sub"}, "sub\n", 0},
		"several lines": {map[string]any{"command": "for i in 1 2\ndo echo $i\ndone"}, "1\n2\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "bash")
			f.host.env = []string{"FROM_HOST=yes", "CDPATH=/nowhere", "BASHOPTS=globstar", "SHELLOPTS=noglob"}
			if err := os.Mkdir(filepath.Join(f.dir, "sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			result := f.run(t, c.args)
			if name != "syntax error" && result.Output != c.output {
				t.Errorf("output %q, want %q", result.Output, c.output)
			}
			if result.Metadata["exit"] != c.exit {
				t.Errorf("exit %v, want %d", result.Metadata["exit"], c.exit)
			}
			if !result.KeepTail {
				t.Error("the end of the output is not kept")
			}
		})
	}
}

func TestExecuteNeedsTheHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	call := f.call(t, map[string]any{"command": "true"})
	call.Host = struct{ sdk.ToolHost }{}
	if _, err := f.tool.Execute(t.Context(), call); err == nil || !strings.Contains(err.Error(), "sdk.Shell") {
		t.Errorf("Execute without sdk.Shell = %v", err)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	result := f.run(t, map[string]any{"command": "echo before; sleep 1000; echo after", "timeout": 2000})
	if !strings.HasPrefix(result.Output, "before\n") || strings.Contains(result.Output, "after") || !strings.Contains(result.Output, "timeout of 2000 ms") {
		t.Errorf("output %q", result.Output)
	}
}

func TestTimeoutOfAStubbornCommand(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	result, took := &sdk.ToolResult{}, time.Duration(0)
	for timeout := 100; len(pids(result.Output)) == 0 && timeout < 30_000; timeout *= 4 { // on a slow machine, the shell sets its trap later
		begin := time.Now()
		result = f.run(t, map[string]any{"command": `trap "" TERM; echo $$; while :; do sleep 0.05; done`, "timeout": timeout})
		took = time.Since(begin)
	}
	if took < 3*time.Second || took > 60*time.Second {
		t.Errorf("took %v, want a little over the 3 s between SIGTERM and SIGKILL", took)
	}
	if result.Metadata["exit"] != 137 {
		t.Errorf("exit %v, want 137", result.Metadata["exit"])
	}
	wantGone(t, result.Output)
}

func TestAbort(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.host.seen = make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends when the command shows its first output; the call below waits for it
		<-f.host.seen
		cancel()
	}()
	// A child in the group, one in its own group, one that left for good.
	command := `sleep 1000 & echo $!; set -m; sleep 1001 & echo $!; setsid sleep 1002 & (setsid sh -c 'echo $$; exec sleep 1003' &); sleep 0.3; echo go; wait`
	if runtime.GOOS != "linux" {
		command = `sleep 1000 & echo $!; wait`
	}
	begin := time.Now()
	result, err := f.tool.Execute(ctx, f.call(t, map[string]any{"command": command}))
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 60*time.Second {
		t.Errorf("took %v", took)
	}
	if !strings.Contains(result.Output, "aborted") {
		t.Errorf("output %q", result.Output)
	}
	wantGone(t, result.Output)
}

// TestTimeoutOfAPipeline: processes that have ended and wait to be reaped do not delay the end of the call.
func TestTimeoutOfAPipeline(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	begin := time.Now()
	result := f.run(t, map[string]any{"command": "sleep 1000 | sleep 1000", "timeout": 100})
	if took := time.Since(begin); took >= 3*time.Second || !strings.Contains(result.Output, "timeout of 100 ms") {
		t.Errorf("took %v, want less than the 3 s between SIGTERM and SIGKILL: %q", took, result.Output)
	}
}

// untilUp ends a command once a process that it started has made the file up.
const untilUp = "until [ -e up ]; do sleep 0.01; done"

func TestNothingStaysBehind(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"background":       `sleep 1000 & echo $!`,
		"two forks":        `(sleep 1000 & echo $!) & wait`,
		"nohup":            `nohup sleep 1000 >/dev/null 2>&1 & echo $!`,
		"stubborn":         `sh -c 'trap "" TERM; echo $$; : > up; while :; do sleep 0.05; done' & ` + untilUp,
		"holding the pipe": `sh -c 'echo $$; : > up; exec sleep 1000' & ` + untilUp,
		"stopped":          `sh -c 'echo $$; : > up; kill -STOP $$' & ` + untilUp,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "")
			begin := time.Now()
			result := f.run(t, map[string]any{"command": command})
			if took := time.Since(begin); took > 60*time.Second {
				t.Errorf("took %v", took)
			}
			wantGone(t, result.Output)
			if !strings.Contains(result.Output, "left running") {
				t.Errorf("output %q, want a note about the processes that ended", result.Output)
			}
		})
	}
}

// TestGitOpensNoEditor merges and rebases as models do: with an editor, git waits for a user until its timeout.
func TestGitOpensNoEditor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.host.env = append(os.Environ(), "GIT_EDITOR=sleep 1000", "GIT_SEQUENCE_EDITOR=sleep 1001")
	result := f.run(t, map[string]any{"command": `git init -q -b main && git config user.name n && git config user.email e@x && git commit -q --allow-empty -m one &&
git checkout -q -b other && git commit -q --allow-empty -m two && git checkout -q main && git merge -q --no-ff other && git log -1 --format=%s &&
git config sequence.editor 'sleep 1002' && git rebase -q -i HEAD~1 && git -c sequence.editor='echo given' rebase -q -i --root`})
	if !strings.HasPrefix(result.Output, "Merge branch 'other'\ngiven ") {
		t.Errorf("output %q", result.Output)
	}
}

// BenchmarkExecute is the cost of a command that does nothing, the shell included.
func BenchmarkExecute(b *testing.B) {
	f := newFixture(b, "")
	call := f.call(b, map[string]any{"command": "true"})
	for b.Loop() {
		if _, err := f.tool.Execute(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPrepare is the cost of reading a usual command.
func BenchmarkPrepare(b *testing.B) {
	f := newFixture(b, "")
	call := f.call(b, map[string]any{"command": "cd sub && go test ./... 2>&1 | grep -v '^ok' | head -20"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.tool.(sdk.ToolPreparer).Prepare(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

// TestPipeHeldOpen: a daemon that leaves the group keeps the pipe, and must not keep the call.
func TestPipeHeldOpen(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid")
	}
	f := newFixture(t, "")
	begin := time.Now()
	result := f.run(t, map[string]any{"command": `setsid sh -c 'echo $$; : > up; exec sleep 1000' & ` + untilUp})
	if took := time.Since(begin); took > 60*time.Second {
		t.Errorf("took %v", took)
	}
	if runtime.GOOS == "linux" {
		wantGone(t, result.Output)
		if !strings.Contains(result.Output, "left running") {
			t.Errorf("output %q, want a note about the daemon that was ended", result.Output)
		}
	}
	for _, pid := range pids(result.Output) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if len(pids(result.Output)) != 1 {
		t.Errorf("output %q", result.Output)
	}
}

func TestFlood(t *testing.T) {
	f := newFixture(t, "") // not parallel: it measures memory
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	result := f.run(t, map[string]any{"command": "echo begin; head -c 100000000 /dev/zero | tr '\\0' 'x'; echo; echo end"})
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
		t.Errorf("100 MB of output allocated %d MiB", grown>>20)
	}
	if len(result.Output) > 1<<20+200 {
		t.Errorf("result of %d bytes", len(result.Output))
	}
	if !strings.HasPrefix(result.Output, "begin\n") || !strings.Contains(result.Output, "bytes left out") ||
		!strings.HasSuffix(result.Output, "\nend\n\n<bash_metadata>\n98951435 bytes in the middle of the output were not kept, so a search of it is incomplete.\n</bash_metadata>") {
		t.Errorf("output begins %.20q, ends %q", result.Output, result.Output[len(result.Output)-200:])
	}
	if live := result.Metadata["output"].(string); len(live) > 30000 {
		t.Errorf("metadata.output has %d bytes", len(live))
	}
}

func TestBinaryFlood(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	result := f.run(t, map[string]any{"command": "head -c 3000000 /dev/urandom"})
	if !utf8.ValidString(result.Output) || !utf8.ValidString(result.Metadata["output"].(string)) || strings.Contains(result.Output, "\x00") {
		t.Error("the output is not valid text")
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.run(t, map[string]any{"command": "echo one; sleep 0.5; echo two; sleep 0.3", "description": "count"})
	var got []string
	for _, m := range f.host.shown {
		got = append(got, m["output"].(string))
	}
	if text := strings.Join(got, "|"); text != "|one\n|one\ntwo\n" {
		t.Errorf("shown: %q, want each change once", text)
	}
}

func TestParallelCalls(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	results := make(chan string, 20)
	for i := range 20 {
		go func() { // ends with its command; the loop below waits
			result, err := f.tool.Execute(t.Context(), f.call(t, map[string]any{"command": fmt.Sprintf("echo %d; sleep 0.1; true &", i)}))
			if err != nil {
				results <- err.Error()
				return
			}
			first, _, _ := strings.Cut(result.Output, "\n") // a note follows if true was still running
			results <- first
		}()
	}
	seen := map[string]bool{}
	for range 20 {
		seen[<-results] = true
	}
	for i := range 20 {
		if !seen[strconv.Itoa(i)] {
			t.Errorf("no output of command %d in %v", i, seen)
		}
	}
}

// TestHostKilled: a command and all that it started end with a host that dies by SIGKILL.
func TestHostKilled(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"one process": `echo $$ > pids; mv pids ready; exec sleep 1000`,
		"a session":   `setsid sh -c 'echo $$ > pids; exec sleep 1000' & sleep 0.2; echo $$ >> pids; mv pids ready; sleep 1002; echo`,
		"a tree":      `(sleep 1000 & echo $! > pids; (sleep 1001 & echo $! >> pids)); echo $$ >> pids; mv pids ready; sleep 1002; echo`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0])
			tmp := t.TempDir()
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "TENON_TEST_HOST="+command, "TMPDIR="+tmp)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var list []byte
			eventually(t, "the command runs", func() bool {
				var err error
				list, err = os.ReadFile(filepath.Join(dir, "ready"))
				return err == nil
			})
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if stderr.Len() > 0 {
				t.Errorf("the host wrote %q", stderr.String())
			}
			wantGone(t, string(list))
			eventually(t, "temporary files are gone", func() bool {
				left, err := filepath.Glob(filepath.Join(tmp, "tenon-*"))
				return err == nil && len(left) == 0
			})
		})
	}
}

// pids returns the numbers that fill a line.
func pids(text string) []int {
	var out []int
	for _, line := range strings.Split(text, "\n") {
		if pid, err := strconv.Atoi(line); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// wantGone fails when one of the processes listed in text runs.
func wantGone(t *testing.T, text string) {
	t.Helper()
	list := pids(text)
	if len(list) == 0 {
		t.Fatalf("no process in %q", text)
	}
	for _, pid := range list {
		eventually(t, fmt.Sprintf("process %d is gone", pid), func() bool { return !alive(pid) })
	}
}

// alive reports whether a process runs; one that waits for its parent to take notice does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return runtime.GOOS != "linux"
	}
	return !bytes.Contains(stat, []byte(") Z "))
}

// eventually waits for what other processes do.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("not true after 10 s: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestNoShell: a machine without a shell is a warning at the start, not only the error of the first command.
func TestNoShell(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	h := testhost.New(t)
	if err := shell.New().Start(t.Context(), h); err != nil || !strings.Contains(h.Log.String(), "looked for bash, sh") {
		t.Errorf("Start = %v, log %q", err, &h.Log)
	}
}

//go:build unix

package commandhooks_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenonhq/tenon/builtin/commandhooks"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// Everything that goes wrong is an error of the hook, reported with its place, and not a decision: the call continues.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ command, text string }{
		"exit code 1":                {"echo oops >&2; exit 1", "exit code 1, want 0 (continue) or 2 (block): oops"},
		"exit code 3":                {"exit 3", "exit code 3, want 0 (continue) or 2 (block): no message"},
		"no such command":            {"tenon-no-such-command", "exit code 127"},
		"not executable":             {"touch x; ./x", "exit code 126"},
		"no interpreter":             {"printf '#!/no/such\\n' > x; chmod +x x; ./x", "exit code 12"},
		"script missing":             {"sh ./missing.sh", "missing.sh"},
		"python, script missing":     {"echo \"python3: can't open file '/x/y.py': [Errno 2] No such file or directory\" >&2; exit 2", "could not run: python3"},
		"perl, script missing":       {"perl ./missing.pl", "missing.pl"},
		"syntax error":               {"echo (", "yntax error"},
		"script with a syntax error": {"echo 'echo (' > x; sh ./x", "yntax error"},
		"killed":                     {"kill -KILL $$", "was ended by signal: killed"},
		"crashed":                    {"kill -SEGV $$", "was ended by signal: segmentation fault"},
		"child killed":               {"sh -c 'kill -KILL $$'; exit $?", "exit code 137"},
		"bad JSON":                   {"echo '{\"decision\": '", "is not a valid answer"},
		"JSON of a wrong type":       {"echo '{\"decision\": 1}'", "is not a valid answer"},
		"two objects":                {"echo '{}{}'", "is not a valid answer"},
		"unknown decision":           {"echo '{\"decision\": \"perhaps\"}'", `decision is "perhaps", want allow, deny, ask, approve or block`},
		"unknown permission":         {"echo '{\"hookSpecificOutput\": {\"permissionDecision\": \"no\"}}'", `hookSpecificOutput.permissionDecision is "no"`},
		"answer to another event":    {"echo '{\"hookSpecificOutput\": {\"hookEventName\": \"Stop\"}}'", `hookEventName is "Stop", but the event is PreToolUse`},
		"arguments of a wrong type":  {"echo '{\"hookSpecificOutput\": {\"updatedInput\": [1]}}'", "updatedInput: want an object"},
		"deep arguments":             {nested(value.MaxAnswerDepth + 1), "nested deeper than 256 levels"},
		"bottomless arguments":       {nested(200_000), "exceeded max depth"},
		"huge arguments":             {`printf '{"hookSpecificOutput": {"updatedInput": {"a": "'; head -c 17000000 /dev/zero | tr '\0' x; echo '"}}}'`, "more than 1048576 bytes"},
		"100,000 arguments":          {`awk 'BEGIN { printf "{\"hookSpecificOutput\": {\"updatedInput\": {\"k\": 0"; for (i = 0; i < 100000; i++) printf ",\"k%d\": 1", i; print "}}}" }'`, "more than 1048576 bytes"},
		"flood":                      {"yes", "more than 1048576 bytes to its standard output"},
		"flood of errors":            {"yes >&2", "more than 1048576 bytes to its standard error"},
		"exactly too much":           {"head -c 1048577 /dev/zero", "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, shell(t, "PreToolUse", "", c.command))
			result, args := r.before(bashCall("1"), sdk.Object{"command": "ls"})
			if result.Verdict != "" || args["command"] != "ls" {
				t.Errorf("the call was %q %q, arguments %v; want it untouched", result.Verdict, result.Reason, args)
			}
			if f := r.failures(); !strings.Contains(f, c.text) || !strings.Contains(f, "tenon.json: PreToolUse[0].hooks[0]: ") {
				t.Errorf("told %q, want the place and %q", f, c.text)
			}
		})
	}
}

// nested is a command that answers with arguments of so many levels.
func nested(levels int) string {
	return fmt.Sprintf(`printf '{"hookSpecificOutput": {"updatedInput": {"a": '; head -c %d /dev/zero | tr '\0' '['; head -c %[1]d /dev/zero | tr '\0' ']'; echo '}}}'`, levels)
}

// A missing interpreter that exits with the code for "block" must not block the tools. This tests the real interpreters on this machine.
func TestRealInterpreters(t *testing.T) {
	t.Parallel()
	found := 0
	for _, interpreter := range []string{"sh", "bash", "dash", "zsh", "ksh", "python3", "perl", "ruby", "node", "jq -f", "awk -f"} {
		if _, err := exec.LookPath(strings.Fields(interpreter)[0]); err != nil {
			continue
		}
		found++
		r := newRig(t, shell(t, "PreToolUse", "", interpreter+" ./missing-script"))
		result, _ := r.before(bashCall("1"), sdk.Object{})
		if result.Verdict != "" || r.failures() == "" {
			t.Errorf("%s without its script = %q %q, told %q", interpreter, result.Verdict, result.Reason, r.failures())
		}
	}
	if found < 2 {
		t.Errorf("only %d interpreters were tried", found)
	}
}

// The dialect's shell is bash. A command with a quote that is not closed cannot run, and one can crash, which must not block the call.
func TestBash(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "PreToolUse", "", `if [[ "$(cat)" =~ "rm -rf" ]]; then echo no >&2; exit 2; fi`))
	if result, _ := r.before(bashCall("1"), sdk.Object{"command": "rm -rf x"}); result.Verdict != sdk.VerdictDeny {
		t.Errorf("the call was %q, told %q; want denied", result.Verdict, r.failures())
	}
	for _, broken := range []string{`echo "x`, `x=$(echo`, `x=${y`, `printf 'panic: x\n\ngoroutine 1 [running]:\n' >&2; exit 2`} {
		r := newRig(t, shell(t, "PreToolUse", "", broken))
		if result, _ := r.before(bashCall("1"), sdk.Object{}); result.Verdict != "" || r.failures() == "" {
			t.Errorf("%s: %q %q, told %q", broken, result.Verdict, result.Reason, r.failures())
		}
	}
}

// A command with "if" runs for the calls that its rule selects.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, tool string
		args       sdk.Object
		want       bool
	}{
		{"Bash(git push *--force*)", "bash", sdk.Object{"command": "git push origin --force"}, true},
		{"Bash(git push *--force*)", "bash", sdk.Object{"command": "cd x && GIT_TRACE=1 git push -u x --force-with-lease"}, true},
		{"Bash(git push *--force*)", "bash", sdk.Object{"command": "git push origin"}, false},
		{"Bash(git push *--force*)", "bash", sdk.Object{"command": "bash -c 'git push --force x'"}, true},
		{"Bash(git commit:*)", "bash", sdk.Object{"command": "git commit"}, true},
		{"Bash(git push:*)", "bash", sdk.Object{"command": "git  -C . \\\npush"}, true},
		{"Bash(git push *)", "bash", sdk.Object{"command": "git push"}, true},
		{"Bash(rm:*)", "bash", sdk.Object{"command": "\\rm -rf x"}, true},
		{"Bash(rm:*)", "bash", sdk.Object{"command": "npm run format"}, false},
		{"Bash(rm:*)", "bash", sdk.Object{"command": "$x -rf y"}, true},
		{"Bash(rm *)", "bash", sdk.Object{"command": "r\\\nm x"}, true},
		{"Bash(rm *)", "bash", sdk.Object{"command": "{rm,x}"}, true},
		{"Bash(rm *)", "bash", sdk.Object{"command": "ls; /bin/r? x"}, true},
		{"Bash(rm *)", "bash", sdk.Object{"command": "A=1 sudo /bin/r? x"}, true},
		{"Bash(rm *)", "bash", sdk.Object{"command": "if /bin/[r]m x; then ls; fi"}, true},
		{"Bash(rm *)", "bash", sdk.Object{"command": "[ -f x ] && ls *.go | find . -name {}"}, false},
		{"Edit(*.{ts,tsx})", "edit", sdk.Object{"filePath": "a.ts"}, true},
		{"Edit(*.ts)", "edit", sdk.Object{"filePath": "a.ts"}, true},
		{"Edit(*.ts)", "edit", sdk.Object{"filePath": "a.go"}, false},
		{"Edit(/src/**)", "edit", sdk.Object{"filePath": `C:\p\src\a.ts`}, true},
		{"Bash(git commit:*)", "bash", sdk.Object{"command": "ls"}, false},
		{"Bash", "bash", sdk.Object{"command": "ls"}, true},
		{"Bash", "read", sdk.Object{"filePath": "ls"}, false},
		{"Write(.env*)", "write", sdk.Object{"filePath": "/p/.env.local"}, true},
		{"Write(.env*)", "write", sdk.Object{"filePath": "/p/env.go"}, false},
		{"Edit(/src/**)", "edit", sdk.Object{"filePath": "src/a.go"}, true},
		{"Edit(/sub/**)", "edit", sdk.Object{"filePath": "a.go"}, true}, // sub is the working directory
		{"Edit(sub/x/*)", "write", sdk.Object{"filePath": "x/a.go"}, false},
		{"Edit(TestRules*)", "edit", sdk.Object{"filePath": "a.go"}, false}, // a directory above the project
		{"Edit(secret/**)", "edit", sdk.Object{"filePath": "linked/a.go"}, true},
		{"Edit(//**/TestRules*)", "edit", sdk.Object{"filePath": "a.go"}, true},
		{"Edit(sub/x/*)", "apply_patch", sdk.Object{"patchText": "*** Begin Patch\n*** Delete File: x/a\n*** End Patch"}, true},
		{"Edit(**/*.go)", "apply_patch", sdk.Object{"patchText": "x"}, true},
		{"Edit(src/a)", "apply_patch", sdk.Object{"patchText": "*** Begin Patch\n*** Delete File: src/x/../a\n*** End Patch"}, true},
		{"Edit(src/a)", "edit", sdk.Object{"filePath": "src//./a"}, true},
		{"WebFetch(domain:go.dev)", "webfetch", sdk.Object{"url": "https://go.dev/doc"}, true},
		{"WebFetch(domain:go.dev)", "webfetch", sdk.Object{"url": "https://GO.dev/doc"}, true},
		{"WebFetch(domain:go.dev)", "webfetch", sdk.Object{"url": "https://other.dev/"}, false},
	} {
		r := newRig(t, `{"PreToolUse": [{"hooks": [{"type": "command", "command": "touch ran", "if": "`+c.rule+`"}]}]}`)
		if err := os.Symlink("../secret", filepath.Join(r.dir, "linked")); err != nil {
			t.Fatal(err)
		}
		in := bashCall("1")
		in.Tool = c.tool
		r.before(in, c.args)
		if got := r.exists("ran"); got != c.want {
			t.Errorf("%s, %s %v: ran %v, want %v; told %q", c.rule, c.tool, c.args, got, c.want, r.failures())
		}
	}
}

// A command with "args" is a program: no shell reads its words or the input.
func TestArguments(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"PreToolUse": [{"hooks": [
		{"type": "command", "command": "sh", "args": ["${CLAUDE_PROJECT_DIR}/sub/save", "${CLAUDE_PROJECT_DIR}", "$(touch ran)", "${other}"]},
		{"type": "command", "command": "cat", "args": []}
	]}]}`)
	if err := os.WriteFile(filepath.Join(r.dir, "save"), []byte(`printf '%s\n' "$@" > words`), 0o600); err != nil {
		t.Fatal(err)
	}
	r.before(bashCall("1"), sdk.Object{"command": "$(touch ran)"})
	words, err := os.ReadFile(filepath.Join(r.dir, "words"))
	if want := filepath.Dir(r.dir) + "\n$(touch ran)\n${other}\n"; err != nil || string(words) != want || r.exists("ran") {
		t.Errorf("words %q, %v, ran %v, told %q", words, err, r.exists("ran"), r.failures())
	}
}

// A command that writes its own reason next to the error messages of a shell means to block.
func TestDeliberateDenialWithNoise(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "PreToolUse", "", "tenon-no-such-command; echo not on main >&2; exit 2"))
	if result, _ := r.before(bashCall("1"), sdk.Object{}); result.Verdict != sdk.VerdictDeny || !strings.HasSuffix(result.Reason, "not on main") {
		t.Errorf("the call was %q %q, want denied", result.Verdict, result.Reason)
	}
}

// A refused call cannot make the refusal look like an error of the command, which would let the call through.
func TestQuotedComplaint(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"Blocked: ", "blocked: ", "sh: 1: ", ""} {
		for _, args := range []string{"x: No such file or directory", "x: No\n such file  or directory", "Permission denied", "x: not found", "sh: 1: Syntax error: x", "panic: x\n\ngoroutine 1 [running]", "line 1: `x'", `x #: 1: \0123yntax error`, "sh: 1: Syntax"} {
			r := newRig(t, shell(t, "PreToolUse", "", `c=$(sed 's/.*"command":"\([^"]*\)".*/\1/'); printf '%s%b\n' '`+reason+`' "$c" >&2; exit 2`))
			if result, _ := r.before(bashCall("1"), sdk.Object{"command": args}); result.Verdict != sdk.VerdictDeny {
				t.Errorf("%q %q: %q, told %q", reason, args, result.Verdict, r.failures())
			}
		}
	}
}

// Events that do not wait for an answer cannot be blocked.
func TestNothingToBlock(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "SessionStart", "", "echo no >&2; exit 2"))
	r.start(sdk.Session{ID: "ses_1"})
	r.settle()
	if f := r.failures(); !strings.Contains(f, "exit code 2, but SessionStart cannot be blocked: no") {
		t.Errorf("told %q", f)
	}
}

// Output up to the limit is fine, and unread input does not hang.
func TestLargeOutputAndInput(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"PreToolUse": [{"hooks": [
		{"type": "command", "command": "head -c 1048576 /dev/zero"},
		{"type": "command", "command": "true"},
		{"type": "command", "command": "exec <&-; sleep 0.1"},
		{"type": "command", "command": "wc -c > size"}
	]}]}`)
	r.before(bashCall("1"), sdk.Object{"command": strings.Repeat("x", 3<<20)})
	r.clean()
	if n, err := strconv.Atoi(strings.TrimSpace(r.file("size"))); err != nil || n < 3<<20 {
		t.Errorf("the command read %d bytes, %v", n, err)
	}
}

// short bounds the commands of the events.
func short(events string) string {
	return strings.Replace(events, `"type":"command"`, `"type":"command","timeout":0.3`, 1)
}

// At the deadline, the command ends with everything that it started, including processes that ignore signals.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"sleeps":          "echo $$ > pid; exec sleep 100",
		"ignores signals": "trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 1; done",
		"has children":    "sh -c 'echo $$ > pid; sleep 100' & sleep 100",
		"drips":           "echo $$ > pid; while :; do echo x; sleep 0.01; done",
		"spins":           "echo $$ > pid; while :; do :; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, short(shell(t, "PreToolUse", "", command)))
			if result, _ := r.before(bashCall("1"), sdk.Object{}); result.Verdict != "" {
				t.Errorf("verdict %q", result.Verdict)
			}
			if f := r.failures(); !strings.Contains(f, "time") {
				t.Errorf("told %q, want a timeout", f)
			}
			if err := r.plugin.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if pid := r.file("pid"); pid != "" {
				waitGone(t, pid)
			}
		})
	}
}

// Background processes of a command do not delay the caller, although they hold the pipes, and they end
// with the command.
func TestBackgroundProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "PreToolUse", "", `sleep 100 & echo $! > pid; echo '{"decision": "block", "reason": "no"}'`))
	// If it waited, the hook would reach its deadline of a minute.
	if result, _ := r.before(bashCall("1"), sdk.Object{}); result.Verdict != sdk.VerdictDeny {
		t.Errorf("verdict %q", result.Verdict)
	}
	r.clean()
	waitGone(t, r.file("pid"))
}

// A process that left the group keeps the pipes open, but is not waited for.
func TestProcessOutsideOfTheGroup(t *testing.T) {
	t.Parallel()
	setsid, err := exec.LookPath("setsid")
	if err != nil {
		t.Logf("setsid not found: %v", err)
		return
	}
	r := newRig(t, shell(t, "PreToolUse", "", fmt.Sprintf(
		`%s sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 100' &
		while [ ! -e pid ]; do sleep 0.01; done
		echo '{"decision": "block", "reason": "no"}'`, setsid)))
	// If the hook waited for it, it would reach its deadline of a minute.
	if result, _ := r.before(bashCall("1"), sdk.Object{}); result.Verdict != sdk.VerdictDeny {
		t.Errorf("verdict %q", result.Verdict)
	}
	r.clean()
	left, err := strconv.Atoi(strings.TrimSpace(r.file("pid")))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(left, syscall.SIGKILL); err != nil {
		t.Errorf("what left the group ended before the hook: %v", err)
	}
	waitGone(t, strconv.Itoa(left))
}

// An answer counts even if the time to read it passed before it was read, as on a machine that stalls.
func TestAnswerReadLate(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close() // as a process outside of the group holds it
	if err := r.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("answer"); err != nil {
		t.Fatal(err)
	}
	if got := string(commandhooks.Collect(r)); got != "answer" {
		t.Errorf("output %q", got)
	}
}

// TestAsync: a call does not wait for an async command, whose answer decides nothing; Close ends it.
func TestAsync(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"PreToolUse": [{"hooks": [
		{"type": "command", "async": true, "timeout": 300, "command": "cat > in; echo $$ > pid.new; mv pid.new pid; exec sleep 100"},
		{"type": "command", "async": true, "command": "while [ ! -e go ]; do sleep 0.01; done; echo no >&2; touch done; exit 2"},
		{"type": "command", "async": true, "asyncRewake": false, "command": "exit 1"}
	]}]}`)
	if result, _ := r.before(bashCall("1"), sdk.Object{"command": "ls"}); result.Verdict != "" {
		t.Errorf("verdict %q", result.Verdict)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.await("pid")
	r.await("done")
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for tries := 0; tries < 2000 && !strings.Contains(r.host.logged(), "hooks[2]: exit code 1"); tries++ {
		<-tick.C
	}
	for range 2 {
		if err := r.plugin.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if in := r.input("in"); in["tool_use_id"] != "1" || in["hook_event_name"] != "PreToolUse" {
		t.Errorf("input %v", in)
	}
	waitGone(t, r.file("pid"))
	r.clean()
	if log := r.host.logged(); !strings.Contains(log, "PreToolUse[0].hooks[2]: exit code 1") || strings.Contains(log, "hooks[0]") || strings.Contains(log, "hooks[1]") {
		t.Errorf("log:\n%s", log)
	}
}

// At the end of a turn, tenon waits for async commands like for others.
func TestAsyncAtTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"Stop": [{"hooks": [{"type": "command", "async": true, "command": "touch done"}]}]}`)
	r.start(sdk.Session{ID: "ses_1"})
	r.stop("ses_1", "build")
	if !r.exists("done") {
		t.Error("not waited for")
	}
	r.clean()
}

// TestAsyncRewake: a command that is to wake the model, or whose async is not a boolean, is waited for.
func TestAsyncRewake(t *testing.T) {
	t.Parallel()
	for _, fields := range []string{`"asyncRewake": true, "async": true`, `"async": "true"`, `"async": null`} {
		r := newRig(t, `{"PreToolUse": [{"hooks": [{"type": "command", `+fields+`, "command": "echo no >&2; exit 2"}]}]}`)
		if result, _ := r.before(bashCall("1"), sdk.Object{}); result.Verdict != sdk.VerdictDeny {
			t.Errorf("%s: verdict %q", fields, result.Verdict)
		}
	}
}

func TestCloseEndsCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "SessionStart", "", "echo $$ > pid.new; mv pid.new pid; exec sleep 100"))
	r.start(sdk.Session{ID: "ses_1"})
	r.await("pid")
	for range 2 {
		if err := r.plugin.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	waitGone(t, r.file("pid"))
	r.before(bashCall("1"), sdk.Object{})
}

// Three commands in a row that fail quarantine the plugin, also when hooks between them have nothing to run.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	failing := `{"type": "command", "command": "echo x >> ran; exit 1"}`
	for name, events := range map[string]string{
		"alone":              `{"PreToolUse": [{"hooks": [` + failing + `]}]}`,
		"beside another":     `{"PreToolUse": [{"hooks": [` + failing + `]}, {"matcher": "Read", "hooks": [{"type": "command", "command": "true"}]}]}`,
		"at another event":   `{"PermissionRequest": [{"hooks": [` + failing + `]}]}`,
		"beside the session": `{"UserPromptSubmit": [], "Stop": [{"hooks": [{"type": "command", "command": "true"}]}], "PreToolUse": [{"hooks": [` + failing + `]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, events)
			use := func() {
				in := bashCall("1")
				r.before(in, sdk.Object{})
				if got := r.ask(request(in, "bash", "{}")); got.Verdict != "" {
					t.Errorf("leave = %+v, want none of our business", got)
				}
			}
			for range 8 {
				use()
			}
			if r.file("ran") != "x\nx\nx\n" || !strings.Contains(r.failures(), "quarantined") {
				t.Errorf("ran %q, told %q", r.file("ran"), r.failures())
			}
		})
	}
}

// A command that works again ends the row.
func TestFailuresInARow(t *testing.T) {
	t.Parallel()
	r := newRig(t, shell(t, "PreToolUse", "", "echo x >> ran; [ $(($(wc -l < ran) % 3)) = 0 ]"))
	for range 12 {
		r.before(bashCall("1"), sdk.Object{})
	}
	if strings.Count(r.file("ran"), "x") != 12 || strings.Contains(r.failures(), "quarantined") {
		t.Errorf("ran %q, told %q", r.file("ran"), r.failures())
	}
}

// waitGone waits until a process has ended; it may be a zombie that its parent has not reaped yet.
func waitGone(tb testing.TB, text string) {
	tb.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		tb.Fatal(err)
	}
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for range 6000 {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || isZombie(pid) {
			return
		}
		<-ticker.C
	}
	tb.Errorf("process %d is still there", pid)
}

func isZombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

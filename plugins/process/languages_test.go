package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// languages are those with a library in sdk/, and how their guest in testdata is started.
var languages = map[string]func(tb testing.TB) []string{
	"node": func(tb testing.TB) []string { return []string{program(tb, "node"), source(tb, "guest.mjs")} },
	"python": func(tb testing.TB) []string {
		// Not the shim of a version manager: it takes longer to start than the plugin.
		path, err := exec.Command(program(tb, "python3"), "-c", "import sys; print(sys.executable)").Output()
		if err != nil {
			tb.Fatal(err)
		}
		return []string{strings.TrimSpace(string(path)), source(tb, "guest.py")}
	},
	"rust": func(tb testing.TB) []string {
		out := filepath.Join(tb.TempDir(), "guest")
		args := []string{"--edition", "2021", "-o", out, source(tb, "guest.rs")}
		if _, ok := tb.(*testing.B); ok {
			args = append(args, "-O") // takes four times as long to compile
		}
		cmd := exec.Command(program(tb, "rustc"), args...)
		if text, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("%s: %v\n%s", cmd, err, text)
		}
		return []string{out}
	},
}

func program(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

func source(tb testing.TB, name string) string {
	tb.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// speak starts the guest with a command.
func speak(tb testing.TB, command []string, o process.Options) sdk.Plugin {
	tb.Helper()
	return started(tb, o, unitOf(tb, command), nil)
}

// unitOf has the guest with a command describe itself.
func unitOf(tb testing.TB, command []string) remote.Unit {
	tb.Helper()
	cmd := exec.Command(command[0], append(command[1:len(command):len(command)], "--describe")...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	text, err := cmd.Output()
	if err != nil {
		tb.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		tb.Fatal(err)
	}
	unit := guestSpec(tb, "plain")
	spec := remote.Unit{Command: command, Root: root, Broker: unit.Broker, DataDir: unit.DataDir}
	if err := json.Unmarshal(text, &spec.Description); err != nil {
		tb.Fatal(err)
	}
	return spec
}

// TestLanguages runs the guest of each language.
func TestLanguages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compilers and interpreters")
	}
	for language := range languages {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			command := languages[language](t)
			p := speak(t, command, process.Options{})
			t.Run("hooks", func(t *testing.T) { speaksHooks(t, p) })
			t.Run("tools", func(t *testing.T) { speaksTools(t, p) })
			t.Run("stdio", func(t *testing.T) {
				p := speak(t, command, process.LinesOnStdio(process.Options{}))
				if _, err := callTool(t, p, "kv", `{}`, nil); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Programs that a plugin starts do not inherit its connection.
func TestChildrenInheritNoConnection(t *testing.T) {
	t.Parallel()
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("compilers and interpreters; lines use the standard streams on Windows")
	}
	plugins := map[string]sdk.Plugin{"go": wire("lines").started(t, process.Options{}, "plain", nil)}
	for language, command := range languages {
		plugins[language] = speak(t, command(t), process.Options{})
	}
	for language, p := range plugins {
		if result, err := callTool(t, p, "inherit", `{}`, nil); err != nil || result.Output != "false" {
			t.Errorf("%s: a child has file descriptor 3: %+v, %v", language, result, err)
		}
	}
}

// Text that a plugin in JavaScript or Python prints, also before the handshake, is in the host's log while it runs.
func TestPrintedByLanguages(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"node", "python"} {
		log := &logged{}
		p := started(t, process.Options{}, unitOf(t, languages[language](t)), &testHost{log: log.logger()})
		if _, err := callHook(t, p, "print"); err != nil {
			t.Fatal(err)
		}
		log.wait(t, `line="while it is imported"`)
		log.wait(t, `stream=stdout line="on stdout"`)
	}
}

// An exception outside of calls ends a process in JavaScript, and its message is the reason.
func TestUncaughtException(t *testing.T) {
	t.Parallel()
	p := speak(t, languages["node"](t), process.Options{})
	if _, err := callTool(t, p, "crash", `{}`, nil); err == nil || !strings.Contains(err.Error(), "exit status 1: fatal error: too late") {
		t.Errorf("error %v", err)
	}
}

func speaksHooks(t *testing.T, p sdk.Plugin) {
	for name, want := range map[string]string{
		"warm":    `[{"pointer":"/temperature","value":1.5}]`,
		"nothing": `null`,
		"itself":  `[{"pointer":"/message","value":{"role":"user"}}]`,
		"list":    `[{"pointer":"/options/list/-","value":"a"}] [{"pointer":"/options/list","value":["a"]}]`, // the host takes both
	} {
		answer, err := callHook(t, p, name)
		got, _ := json.Marshal(answer.Changes)
		if err != nil || !strings.Contains(want, string(got)) {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	if answer, err := callHook(t, p, "refuse"); err != nil || answer.Verdict != sdk.VerdictDeny || answer.Reason != "not today" {
		t.Errorf("refuse: %+v, %v", answer, err)
	}
	if answer, err := callHook(t, p, "count"); err != nil || answer.Reason != "1" {
		t.Errorf("a hook that asks the host: %+v, %v", answer, err)
	}
	for name, want := range map[string]string{
		"error": "no luck today", "blind": "; if the hook needs /options, list it in reads", "huge": "at most 16 MiB are passed on", "returned": `changes its value in place`,
	} {
		if _, err := callHook(t, p, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %.200v, want %q", name, err, want)
		}
	}
}

func speaksTools(t *testing.T, p sdk.Plugin) {
	var shown []string
	var asked []string
	host := &toolHost{
		progress: func(title string, m sdk.Object) { shown = append(shown, fmt.Sprint(title, " ", m["n"])) },
		ask:      func(req sdk.PermissionRequest) error { asked = append(asked, req.Permission); return nil },
	}
	for id, want := range map[string]string{"echo": `{"a":[1,"東"]}`, "steps": "done", "ask": "granted", "kv": "v"} {
		result, err := callTool(t, p, id, `{"a":[1,"東"]}`, host)
		if err == nil && id == "echo" {
			var text any
			err = json.Unmarshal([]byte(result.Output), &text)
			result.Output = fmt.Sprint(text)
			want = "map[a:[1 東]]"
		}
		if err != nil || result.Output != want {
			t.Errorf("%s: %+v, %v, want %s", id, result, err, want)
		}
	}
	long := fmt.Sprintf(`{"a":%q}`, strings.Repeat("東", 1<<20)) // comes in several reads, some of which end inside a character
	result, err := callTool(t, p, "echo", long, host)
	var back, want map[string]string
	if json.Unmarshal([]byte(long), &want) != nil || err != nil || json.Unmarshal([]byte(result.Output), &back) != nil || !maps.Equal(back, want) {
		t.Errorf("echo of a long text: %.80s, %v", result.Output, err)
	}
	if want := []string{"step 0 0", "step 1 1", "step 2 2"}; !slices.Equal(shown, want) || !slices.Equal(asked, []string{"deploy"}) {
		t.Errorf("progress %q, asked %q", shown, asked)
	}
	for id, want := range map[string]string{"throw": "boom", "secret": "not granted", "big": "at most 16 MiB are passed on"} {
		if _, err := callTool(t, p, id, `{}`, host); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
	var refusal *sdk.Refusal
	if _, err := callTool(t, p, "refuse", `{}`, host); !errors.As(err, &refusal) || !refusal.Halt || refusal.Reason != "not on a Sunday" {
		t.Errorf("refuse: %#v", err)
	}
	needs, err := toolOf(t, p, "deploy").(sdk.ToolPreparer).Prepare(t.Context(), &sdk.ToolCall{Tool: "deploy", Args: []byte(`{"to":"prod"}`)})
	if err != nil || len(needs) != 1 || needs[0].Patterns[0] != "prod" {
		t.Errorf("prepare: %+v, %v", needs, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	host.progress = func(string, sdk.Object) { cancel() }
	if _, err := toolOf(t, p, "wait").Execute(ctx, &sdk.ToolCall{SessionID: "s", Args: []byte("{}"), Host: host}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tenonhq/tenon/internal/confine"
	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/plugins/plugintest"
	"github.com/tenonhq/tenon/plugins/scaffold/scaffoldtest"
)

// TestScript runs the command as users do. Scripts have these commands beside testscript's own:
//
//	llm FILE           starts a model server that answers with the replies in FILE, one JSON object a line, and
//	                   makes it the configured model; $LLM is its address
//	code N prog arg…   runs a program that must end with exit code N
//	serves MODEL…      the server lists these models
//	asked N            the server got so many requests, titles not counted
//	last REGEXP        the latest request matches
//	modules            uses the compiled WASM modules of all tests, see plugintest.CompiledModules
//	damage F OLD NEW   overwrites OLD in the file, wherever it stands, with NEW, which is as long; both are Go strings without
//	                   quotes
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scriptParams(t, "testdata/script"))
}

// scriptParams are those of the scripts in a directory.
func scriptParams(t *testing.T, dir string) testscript.Params {
	t.Helper()
	goEnv := toolchain(t)
	path := os.Getenv("PATH")
	if rustc, err := exec.LookPath("rustc"); err == nil {
		path = hastyRust(t, rustc) + string(os.PathListSeparator) + path
	}
	var once sync.Once
	return testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			// testscript removes the directory of all scripts after the last one: never, if -run selects some of them.
			once.Do(func() { t.Cleanup(func() { _ = os.Remove(filepath.Dir(e.WorkDir)) }) })
			// Beside the project: one that contains the home directory, or tenon's data, is not confined, and each command asks.
			own := filepath.Join(filepath.Dir(e.WorkDir), "own-"+filepath.Base(e.WorkDir))
			e.Defer(func() {
				_ = filepath.WalkDir(own, func(path string, d fs.DirEntry, err error) error { // sealed copies are read-only
					if err == nil && d.IsDir() {
						err = os.Chmod(path, 0o700)
					}
					return err
				})
				if err := os.RemoveAll(own); err != nil {
					t.Error(err)
				}
			})
			home := filepath.Join(own, "home")
			e.Setenv("HOME", home)
			e.Setenv("USERPROFILE", home)
			e.Setenv("APPDATA", filepath.Join(home, "config"))
			e.Setenv("LOCALAPPDATA", filepath.Join(home, "local"))
			e.Setenv("TENON_DATA_DIR", filepath.Join(own, "data"))
			e.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, "gitconfig"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
			// Scripts that build plugins do so with the module cache alone, and in the way of this test, so that they compile no package again.
			for name, value := range goEnv {
				e.Setenv(name, value)
			}
			e.Setenv("GOPROXY", "off")
			e.Setenv("PATH", path)
			if rustup, err := os.UserHomeDir(); err == nil { // where rustup keeps its compilers; Debian's needs no such directory
				e.Setenv("RUSTUP_HOME", filepath.Join(rustup, ".rustup"))
			}
			for _, kv := range []string{leaveAtOnce, rareCollection} {
				name, value, _ := strings.Cut(kv, "=")
				e.Setenv(name, value)
			}
			e.Values[serverKey{}] = &served{}
			return os.MkdirAll(home, 0o700)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "landlock":
				_, err := confine.Supported()
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"rust-wasm": func(ts *testscript.TestScript, _ bool, _ []string) { // puts the rustc with the target first
				wasm := hastyRust(t, filepath.Join(scaffoldtest.RustDir(t), "rustc"))
				ts.Setenv("PATH", wasm+string(os.PathListSeparator)+ts.Getenv("PATH"))
			},
			"modules": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Check(shareModules(ts.Getenv("TENON_DATA_DIR")))
			},
			"llm": cmdLLM, "code": cmdCode, "serves": cmdServes, "asked": cmdAsked, "last": cmdLast, "damage": cmdDamage,
		},
		RequireExplicitExec: true,
	}
}

// hastyRust returns a directory with a rustc that does not optimize, nor splits its work, and keeps what it compiled of an unchanged program. A
// build takes two thirds of the time of the compiler, and the next one a fifth. The tests of plugins/scaffold build with the flags of the plugins.
func hastyRust(t *testing.T, compiler string) string {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\" -C opt-level=0 -C codegen-units=1 -C incremental='%s'\n", compiler, filepath.Join(dir, "compiled"))
	if err := os.WriteFile(filepath.Join(dir, "rustc"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// toolchain returns the environment of the Go toolchain, whose caches lie in a home that scripts do not have. Packages are compiled once for all
// builds with the same flags and with or without cgo.
func toolchain(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOROOT", "GOFLAGS", "CGO_ENABLED").Output()
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	if err := json.Unmarshal(out, &env); err != nil {
		t.Fatal(err)
	}
	return env
}

// shareModules links the cache of compiled WASM modules in a data directory to the directory that all tests share, if there is one. A module that the
// Go compiler made takes seconds to compile.
func shareModules(dataDir string) error {
	shared := plugintest.CompiledModules("")
	if shared == "" {
		return nil
	}
	return errors.Join(os.MkdirAll(filepath.Join(dataDir, "cache"), 0o700), os.Symlink(shared, filepath.Join(dataDir, "cache", "wasm")))
}

type serverKey struct{}

// served holds the script's server, once there is one.
type served struct{ *fakellm.Server }

func server(ts *testscript.TestScript) *fakellm.Server {
	s := ts.Value(serverKey{}).(*served)
	if s.Server == nil {
		ts.Fatalf("no llm command ran before")
	}
	return s.Server
}

func cmdLLM(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: llm FILE")
	}
	s := fakellm.Start(readReplies(ts, args[0])...)
	ts.Defer(s.Close)
	ts.Value(serverKey{}).(*served).Server = s
	ts.Setenv("LLM", s.URL())
	ts.Setenv("TENON_CONFIG_CONTENT", fakeConfig(s.URL()))
}

func cmdServes(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: serves MODEL…")
	}
	server(ts).SetModels(args...)
}

// scriptReply is one line of a script's replies.
type scriptReply struct {
	Reasoning []string          `json:"reasoning"`
	Text      []string          `json:"text"`
	Call      string            `json:"call"` // a tool
	Args      json.RawMessage   `json:"args"`
	Error     int               `json:"error"` // a status
	Message   string            `json:"message"`
	Header    map[string]string `json:"header"`
	Cut       bool              `json:"cut"`
}

func readReplies(ts *testscript.TestScript, file string) []fakellm.Reply {
	var replies []fakellm.Reply
	lines := bufio.NewScanner(strings.NewReader(ts.ReadFile(file)))
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var r scriptReply
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			ts.Fatalf("%s: %v", file, err)
		}
		replies = append(replies, r.reply())
	}
	return replies
}

func (r *scriptReply) reply() fakellm.Reply {
	if r.Error != 0 {
		reply := fakellm.Error(r.Error, "scripted", r.Message)
		for name, value := range r.Header {
			reply = reply.Header(name, value)
		}
		return reply
	}
	reply := fakellm.Reply{}
	if len(r.Reasoning) > 0 {
		reply = reply.Reasoning("reasoning_content", r.Reasoning...)
	}
	reply = reply.Text(r.Text...)
	if r.Call != "" {
		reply = reply.Call(r.Call, string(r.Args))
	}
	if r.Cut {
		reply = reply.Cut()
	}
	return reply
}

func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N prog arg…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	have := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		have = exit.ExitCode()
	}
	if have != want || panicked(ts.ReadFile("stderr")) {
		ts.Fatalf("exit code %d, want %d without a panic", have, want)
	}
}

// panicked reports whether a program panicked, which has the exit code of a usage error.
func panicked(stderr string) bool { return strings.Contains(stderr, "\ngoroutine ") }

func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: asked N")
	}
	if have := strconv.Itoa(len(server(ts).Turns())); have != args[0] {
		ts.Fatalf("%s requests, want %s", have, args[0])
	}
}

func cmdLast(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: last REGEXP")
	}
	re, err := regexp.Compile(args[0])
	ts.Check(err)
	turns := server(ts).Turns()
	if len(turns) == 0 {
		ts.Fatalf("there was no request")
	}
	raw := turns[len(turns)-1].Raw
	if matches := re.Match(raw); matches == neg {
		ts.Fatalf("match of %s is %v in %s", re, matches, raw)
	}
}

func cmdDamage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: damage FILE OLD NEW")
	}
	var texts [2][]byte
	for i := range texts {
		text, err := strconv.Unquote("`" + args[i+1] + "`")
		if strings.Contains(args[i+1], `\x`) {
			text, err = strconv.Unquote(`"` + strings.ReplaceAll(args[i+1], `"`, `\"`) + `"`)
		}
		ts.Check(err)
		texts[i] = []byte(text)
	}
	file := ts.MkAbs(args[0])
	data, err := os.ReadFile(file)
	ts.Check(err)
	if len(texts[0]) != len(texts[1]) || !bytes.Contains(data, texts[0]) {
		ts.Fatalf("%q is not in %s, or %q has another length", texts[0], args[0], texts[1])
	}
	ts.Check(os.WriteFile(file, bytes.ReplaceAll(data, texts[0], texts[1]), 0o600))
}

// fakeConfig is a configuration whose only provider is the scripted server.
func fakeConfig(url string) string {
	return fmt.Sprintf(`{"model": "fake/fake-model", "retry": {"delay_ms": 10}, "provider": {"fake": {
		"protocol": "openai-chat", "options": {"baseURL": %q, "apiKey": "sk-fake-key-123456"},
		"models": {"fake-model": {"limit": {"context": 100000, "output": 4000}, "cost": {"input": 1, "output": 2}}}}}}`, url)
}

// patience bounds every wait for a process; a test that needs it has failed. It is longer than a run waits for MCP servers, on a busy machine too.
const patience = 2 * time.Minute

// process is the real command in its own project and home.
type process struct {
	binary, work string
	env          []string
}

// leaveAtOnce is a variable that keeps the race detector from waiting a second before a process ends, see https://go.dev/doc/articles/race_detector#Options.
// The tests start hundreds of them.
const leaveAtOnce = "GORACE=atexit_sleep_ms=0"

// rareCollection is a variable that lets processes end before their first garbage collection. Test binaries allocate so much before main that
// tenon, which delays the first one, would be too late. It takes a fifth of a short command. Processes whose memory is measured go without it.
const rareCollection = "GOGC=400"

// newProcess returns the command with the provider at url configured, in its own directories.
func newProcess(tb testing.TB, url string) *process {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	binary := filepath.Join(tb.TempDir(), "tenon")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if err := os.Symlink(self, binary); err != nil {
		tb.Skipf("symlink: %v", err)
	}
	home := tb.TempDir()
	return &process{binary: binary, work: tb.TempDir(), env: []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm", leaveAtOnce, rareCollection, "TENON_DATA_DIR=" + filepath.Join(home, "data"),
		"TENON_CONFIG_CONTENT=" + fakeConfig(url),
	}}
}

func (p *process) dataDir() string {
	for _, kv := range p.env {
		if dir, ok := strings.CutPrefix(kv, "TENON_DATA_DIR="); ok {
			return dir
		}
	}
	return ""
}

// command returns a command that is not started yet.
func (p *process) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.binary, args...)
	cmd.Dir, cmd.Env = p.work, p.env
	cmd.WaitDelay = patience
	return cmd
}

// output runs the command, which must end with the code, and returns what it wrote to stdout and stderr.
func (p *process) output(tb testing.TB, code int, args ...string) (string, string) {
	tb.Helper()
	var out, errs strings.Builder
	cmd := p.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // the code tells
	if have := cmd.ProcessState.ExitCode(); have != code || panicked(errs.String()) {
		tb.Fatalf("tenon %q: exit code %d, want %d without a panic\nstdout: %s\nstderr: %s", args, have, code, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

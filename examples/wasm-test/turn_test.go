// Package wasmtest builds the WASM examples with the real toolchain and runs each through turns of a real host, with the model that
// needs no network.
package wasmtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/agents"
	"github.com/tenonhq/tenon/builtin/providers/offline"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/plugintest"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

// compiled is where the tests keep compiled modules: the same example need not be compiled twice.
var compiled string

func TestMain(m *testing.M) {
	var err error
	if compiled, err = os.MkdirTemp("", "tenon-wasm-examples"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(compiled); err != nil && code == 0 {
			code = 1
		}
		os.Exit(code)
	}))
}

// open builds an example and opens it with the grants.
func open(t *testing.T, name string, grants ...sdk.Capability) sdk.Plugin {
	t.Helper()
	source := filepath.Join("..", name)
	about, err := os.ReadFile(filepath.Join(source, "plugin.json"))
	if err != nil {
		t.Fatal(err)
	}
	return openPackage(t, about, source, grants)
}

// openPackage makes a package of a plugin.json and of what go build makes of the source, and opens it with the grants.
func openPackage(t *testing.T, about []byte, source string, grants []sdk.Capability, flags ...string) sdk.Plugin {
	t.Helper()
	pkg := t.TempDir()
	if err := os.WriteFile(filepath.Join(pkg, "plugin.json"), about, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := manifest.ReadUnbuilt(pkg)
	if err != nil {
		t.Fatal(err)
	}
	module := filepath.Join(pkg, p.Description.Runtime.Module)
	build := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-buildmode=c-shared", "-o", module}, flags...), source)...)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	if p, err = manifest.Read(pkg); err != nil {
		t.Fatal(err)
	}
	if len(p.Warnings) > 0 {
		t.Errorf("plugin.json of %s: %s", source, strings.Join(p.Warnings, "\n"))
	}
	log := slog.New(slog.DiscardHandler)
	// The race detector makes compiling slow.
	runtime := wasm.New(wasm.Options{CacheDir: plugintest.CompiledModules(filepath.Join(compiled, "cache")), CompileTimeout: 10 * time.Minute, Logger: log})
	plugin, err := runtime.Open(remote.Unit{
		Description: p.Description, Program: filepath.Join(p.Root, p.Description.Runtime.Module), Grants: grants, Logger: log,
		Broker: ability.New(ability.Options{Plugin: p.Description.Name, Grants: grants, DataDir: filepath.Join(t.TempDir(), "data"), Logger: log}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := plugin.(remote.Precompiler).Precompile(t.Context()); err != nil {
		t.Fatal(err)
	}
	described(t, runtime, p)
	return plugin
}

// described checks that plugin.json describes a plugin as the plugin describes itself.
func described(t *testing.T, runtime *wasm.Runtime, p *manifest.Package) {
	t.Helper()
	d, err := runtime.Describe(t.Context(), remote.Unit{Program: filepath.Join(p.Root, p.Description.Runtime.Module)})
	if err != nil {
		t.Fatal(err)
	}
	said := p.Description
	said.Runtime, said.Build = nil, nil
	for _, hooks := range [][]sdk.HookDescription{said.Hooks, d.Hooks} {
		for i := range hooks {
			hooks[i].Name = cmp.Or(hooks[i].Name, hooks[i].Point)
		}
	}
	if diff := gocmp.Diff(value(t, said), value(t, d)); diff != "" {
		t.Errorf("plugin.json (-) says something else than the module (+):\n%s", diff)
	}
}

// value returns a description as JSON has it.
func value(t *testing.T, d sdk.Description) (v map[string]any) {
	t.Helper()
	raw, err := json.Marshal(d)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// witness is a plugin that keeps what the model gets to see and has tools to call.
type witness struct {
	sdk.Bundle

	mu       sync.Mutex
	system   []string
	messages string
}

func newWitness() *witness {
	w := &witness{}
	w.Info = sdk.Manifest{Name: "witness", Carrier: sdk.CarrierBuiltin}
	system := sdk.OnChatSystem(func(_ context.Context, in *sdk.ChatInput, v *sdk.ChatSystemValue) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if in.Purpose == sdk.PurposeTurn {
			w.system = slices.Clone(v.System)
		}
		return nil
	})
	messages := sdk.OnChatMessages(func(_ context.Context, _ *sdk.ChatInput, v *sdk.ChatMessagesValue) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		text, err := json.Marshal(v)
		w.messages += string(text)
		return err
	})
	system.Priority, messages.Priority = 10_000, 10_000 // after everybody else
	w.HookList = []sdk.Hook{system, messages}
	w.ToolList = []sdk.Tool{asking{"bash", "command"}, asking{"edit", "filePath"}}
	return w
}

// asking is a tool that needs leave for its argument, and returns it.
type asking struct{ id, arg string }

func (a asking) Definition() sdk.ToolDefinition {
	return sdk.ToolDefinition{ID: a.id, Description: "A tool of a test.", Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (a asking) Prepare(_ context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	return []sdk.PermissionRequest{{Permission: a.id, Patterns: []string{a.value(call.Args)}}}, nil
}

func (a asking) Execute(_ context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
	return &sdk.ToolResult{Output: "did " + a.value(call.Args)}, nil
}

func (a asking) value(raw json.RawMessage) string {
	var args map[string]string
	_ = json.Unmarshal(raw, &args) // what the test wrote
	return args[a.arg]
}

// turn runs one turn with the plugin and returns the answer and the tool calls.
func turn(t *testing.T, p sdk.Plugin, options, prompt string) (w *witness, answer string, calls []*sdk.ToolPart) {
	t.Helper()
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "tenon.db"), Version: "test", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	w = newWitness()
	h, err := host.New(t.Context(), host.Options{
		Config: &sdk.Config{
			Model: "offline/offline", Permission: sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}},
			Plugins: []sdk.PluginConfig{{Path: p.Manifest().Name, Options: json.RawMessage(options)}},
		},
		Store: store, Logger: log, Version: "test", ReloadOptions: host.ReloadOptions{Plugins: []sdk.Plugin{offline.New(), agents.New(), w, p}},
		Project: sdk.Project{ID: "global", Directory: dir, Worktree: dir, Home: dir, ConfigDir: dir, DataDir: filepath.Join(t.TempDir(), "data")},
	})
	if err != nil {
		t.Fatal(errors.Join(err, store.Close()))
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := errors.Join(h.Close(ctx), store.Close()); err != nil {
			t.Error(err)
		}
	}()
	session, err := h.CreateSession(t.Context(), host.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	events := h.Subscribe(10_000, false)
	defer events.Close()
	m, err := h.Prompt(t.Context(), host.PromptInput{SessionID: session.ID, Text: prompt})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range m.Parts {
		if text, ok := part.(*sdk.TextPart); ok {
			answer += text.Text
		}
	}
	return w, answer, finished(events)
}

// finished returns the tool calls that ended, in the order they did.
func finished(events *host.Subscription) (calls []*sdk.ToolPart) {
	for {
		select {
		case e := <-events.Events():
			if info, ok := e.Properties.(*sdk.PartInfo); ok {
				if call, ok := info.Part.(*sdk.ToolPart); ok && !call.State.Open() {
					calls = append(calls, call)
				}
			}
		default:
			return calls
		}
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	p := open(t, "wasm-prompt", sdk.Capability{Name: sdk.CapabilityClock})
	w, _, _ := turn(t, p, `{"rules":["No tabs."],"date":true}`, "hello")
	n := len(w.system)
	if n < 2 || w.system[n-2] != "No tabs." || !strings.HasPrefix(w.system[n-1], "Today is ") {
		t.Errorf("system prompt %q", w.system)
	}
}

func TestPromptWithoutClock(t *testing.T) {
	t.Parallel()
	w, _, _ := turn(t, open(t, "wasm-prompt"), `{"rules":["No tabs."],"date":true}`, "hello")
	if n := len(w.system); n == 0 || w.system[n-1] != "No tabs." {
		t.Errorf("system prompt %q", w.system)
	}
}

func TestRedactor(t *testing.T) {
	t.Parallel()
	const secret = "AKIAABCDEFGHIJKLMNOP"
	w, answer, calls := turn(t, open(t, "wasm-redactor"), `{"patterns":["hunter[0-9]"]}`, `bash {"command": "login hunter2 `+secret+`"}`)
	if strings.Contains(w.messages, secret) || strings.Contains(w.messages, "hunter2") || !strings.Contains(w.messages, "[redacted]") {
		t.Errorf("the model saw %s", w.messages)
	}
	if strings.Contains(answer, secret) {
		t.Errorf("answer %q", answer)
	}
	if len(calls) != 1 || calls[0].State.Output != "did login [redacted] [redacted]" {
		t.Errorf("calls %+v, answer %q", calls, answer)
	}
}

func TestGate(t *testing.T) {
	t.Parallel()
	_, answer, calls := turn(t, open(t, "wasm-gate"), `{"editable":["lib"]}`, strings.Join([]string{
		`bash {"command": "git push"}`, `bash {"command": "git push --force"}`, `edit {"filePath": "lib/a.go"}`, `edit {"filePath": "go.mod"}`,
	}, "\n"))
	got := map[string]sdk.ToolStatus{}
	for _, c := range calls {
		got[asking{arg: "command"}.value(c.State.Input)+asking{arg: "filePath"}.value(c.State.Input)] = c.State.Status
		if c.State.Status == sdk.ToolError && !strings.Contains(c.State.Error, "forced push") && !strings.Contains(c.State.Error, "outside of lib") {
			t.Errorf("%s: %s", c.State.Input, c.State.Error)
		}
	}
	want := map[string]sdk.ToolStatus{
		"git push": sdk.ToolCompleted, "git push --force": sdk.ToolError, "lib/a.go": sdk.ToolCompleted, "go.mod": sdk.ToolError,
	}
	if !maps.Equal(got, want) {
		t.Errorf("calls ended %v, want %v; answer %q", got, want, answer)
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/example.org/!a/@latest" || r.Header.Get("Accept") != "application/json" {
			t.Errorf("asked for %s with %v", r.URL, r.Header)
		}
		_, _ = w.Write([]byte(`{"Version":"v1.2.3","Time":"2026-10-01T10:00:00Z"}`)) // what fails here fails the call
	}))
	t.Cleanup(server.Close)
	const prompt = `go_module_version {"module": "example.org/A"}`
	options := `{"proxy":"` + server.URL + `"}`

	granted := open(t, "wasm-fetch", sdk.Capability{Name: sdk.CapabilityHTTP, Scope: []string{server.URL}})
	if _, answer, calls := turn(t, granted, options, prompt); len(calls) != 1 || calls[0].State.Output != "example.org/A v1.2.3, of 2026-10-01" {
		t.Errorf("calls %+v, answer %q", calls, answer)
	}
	elsewhere := open(t, "wasm-fetch", sdk.Capability{Name: sdk.CapabilityHTTP, Scope: []string{"https://proxy.golang.org"}})
	if _, answer, calls := turn(t, elsewhere, options, prompt); len(calls) != 1 || !strings.Contains(calls[0].State.Error, "not granted") {
		t.Errorf("calls %+v, answer %q", calls, answer)
	}
}

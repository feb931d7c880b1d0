// Package processtest builds the process examples and runs each through turns of a real host.
package processtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
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

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/agents"
	"github.com/tenonhq/tenon/builtin/providers/offline"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// goPackage makes a package of an example in Go: its plugin.json and what go build makes of it.
func goPackage(t *testing.T, name string) *manifest.Package {
	t.Helper()
	pkg := t.TempDir()
	copyFile(t, filepath.Join("..", name, "plugin.json"), pkg)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(pkg, "plugin"), filepath.Join("..", name))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return read(t, pkg)
}

// nodePackage is the example in JavaScript.
func nodePackage(t *testing.T) *manifest.Package {
	t.Helper()
	pkg := t.TempDir()
	for _, name := range []string{"plugin.json", "main.mjs", "tenon.mjs"} {
		copyFile(t, filepath.Join("..", "process-node", name), pkg)
	}
	return read(t, pkg)
}

func copyFile(t *testing.T, from, dir string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(from)), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir string) *manifest.Package {
	t.Helper()
	p, err := manifest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Warnings) > 0 {
		t.Errorf("plugin.json: %s", strings.Join(p.Warnings, "\n"))
	}
	return p
}

// readsProject is what plugins that read the project are granted.
var readsProject = sdk.Capability{Name: sdk.CapabilityRead, Scope: []string{"$PROJECT"}}

// open opens the plugin of a package with the grants, as the loader does: with the digest of the file that is started.
func open(t *testing.T, p *manifest.Package, grants ...sdk.Capability) sdk.Plugin {
	t.Helper()
	spec := specOf(t, p)
	spec.Grants, spec.DataDir = grants, filepath.Join(t.TempDir(), "data")
	spec.Broker = ability.New(ability.Options{Plugin: p.Description.Name, Grants: grants, DataDir: spec.DataDir})
	plugin, err := process.New(process.Options{}).Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	return plugin
}

func specOf(t *testing.T, p *manifest.Package) remote.Unit {
	t.Helper()
	command := slices.Clone(p.Description.Runtime.Command)
	program := filepath.Join(p.Root, command[len(command)-1])
	if strings.HasPrefix(command[0], "./") {
		command[0] = program
	} else {
		path, err := exec.LookPath(command[0])
		if err != nil {
			t.Fatal(err)
		}
		command[0] = path
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return remote.Unit{Description: p.Description, Command: command, Program: program, Checksum: hex.EncodeToString(sum[:]), Root: p.Root}
}

// plugin.json describes a plugin as the plugin describes itself.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	packages := map[string]func(*testing.T) *manifest.Package{
		"process-progress": func(t *testing.T) *manifest.Package { return goPackage(t, "process-progress") },
		"process-provider": func(t *testing.T) *manifest.Package { return goPackage(t, "process-provider") },
		"process-node":     nodePackage,
	}
	for name, make := range packages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := make(t)
			got, err := process.New(process.Options{}).Describe(t.Context(), specOf(t, p))
			if err != nil {
				t.Fatal(err)
			}
			want := p.Description
			want.Runtime, want.Build, got.Runtime, got.Build = nil, nil, nil, nil
			if gotJSON, wantJSON := normal(t, got), normal(t, want); gotJSON != wantJSON {
				t.Errorf("the plugin says\n%s\nplugin.json says\n%s", gotJSON, wantJSON)
			}
		})
	}
}

// normal encodes a description with the schemas in one form.
func normal(t *testing.T, d sdk.Description) string {
	t.Helper()
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	data, err = json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// outcome is what a turn gave.
type outcome struct {
	answer string
	system []string // of the turn's last model request
	calls  []*sdk.ToolPart
	titles []string // of running tool calls
}

// turn runs one turn with the plugin in a project of the test.
func turn(t *testing.T, p sdk.Plugin, model, project, prompt string) outcome {
	t.Helper()
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "tenon.db"), Version: "test", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	var out outcome
	var mu sync.Mutex
	system := sdk.OnChatSystem(func(_ context.Context, in *sdk.ChatInput, v *sdk.ChatSystemValue) error {
		mu.Lock()
		defer mu.Unlock()
		if in.Purpose == sdk.PurposeTurn {
			out.system = slices.Clone(v.System)
		}
		return nil
	})
	system.Priority = 10_000 // after everybody else
	witness := &sdk.Bundle{Info: sdk.Manifest{Name: "witness", Carrier: sdk.CarrierBuiltin}, HookList: []sdk.Hook{system}}
	h, err := host.New(t.Context(), host.Options{
		Config: &sdk.Config{Model: model, Permission: sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}}},
		Store:  store, Logger: log, Version: "test", ReloadOptions: host.ReloadOptions{Plugins: []sdk.Plugin{offline.New(), agents.New(), witness, p}},
		Project: sdk.Project{ID: "global", Directory: project, Worktree: project, Home: dir, ConfigDir: dir, DataDir: filepath.Join(dir, "data")},
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
	events := h.Subscribe(100_000, false)
	defer events.Close()
	m, err := h.Prompt(t.Context(), host.PromptInput{SessionID: session.ID, Text: prompt})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range m.Parts {
		if text, ok := part.(*sdk.TextPart); ok {
			out.answer += text.Text
		}
	}
	for {
		select {
		case e := <-events.Events():
			out.see(e)
			continue
		default:
		}
		return out
	}
}

// see takes what an event tells of tool calls.
func (o *outcome) see(e sdk.Event) {
	info, ok := e.Properties.(*sdk.PartInfo)
	if !ok {
		return
	}
	call, ok := info.Part.(*sdk.ToolPart)
	switch {
	case !ok:
	case !call.State.Open():
		o.calls = append(o.calls, call)
	case call.State.Title != "":
		o.titles = append(o.titles, call.State.Title)
	}
}

func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestProgress(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"a/one": "1234", "a/b/two": "1234", "c/three": "12", "four": "1"})
	if err := os.Symlink("/etc", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	p := open(t, goPackage(t, "process-progress"), readsProject)
	got := turn(t, p, "offline/offline", dir, `disk_usage {"top": 2}`)
	if len(got.calls) != 1 || got.calls[0].State.Output != "8\ta\n2\tc\n" || got.calls[0].State.Title != "4 files" {
		t.Errorf("calls %+v, answer %q", got.calls, got.answer)
	}
	if len(got.titles) == 0 || !strings.HasPrefix(got.titles[0], "1 files, in ") {
		t.Errorf("progress %q", got.titles)
	}
}

func TestProgressStaysInside(t *testing.T) {
	t.Parallel()
	p := open(t, goPackage(t, "process-progress"), readsProject)
	got := turn(t, p, "offline/offline", project(t, nil), `disk_usage {"directory": "../"}`)
	if len(got.calls) != 1 || !strings.Contains(got.calls[0].State.Error, "escapes") {
		t.Errorf("calls %+v, answer %q", got.calls, got.answer)
	}
}

// A plugin in another language, written from the documentation: it starts, answers hooks, runs tools and asks the host.
func TestNode(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"package.json": `{"scripts":{"build":"tsc -p .","test":"node --test"}}`})
	p := open(t, nodePackage(t), readsProject, sdk.Capability{Name: sdk.CapabilityKV})
	got := turn(t, p, "offline/offline", dir, "npm_scripts {}\nnpm_scripts {\"directory\": \"../\"}")
	if n := len(got.system); n == 0 || !strings.Contains(got.system[n-1], "build: tsc -p .\ntest: node --test") {
		t.Errorf("system prompt %q", got.system)
	}
	if len(got.calls) != 2 {
		t.Fatalf("calls %+v, answer %q", got.calls, got.answer)
	}
	slices.SortFunc(got.calls, func(a, b *sdk.ToolPart) int { return len(a.State.Error) - len(b.State.Error) })
	if first := got.calls[0].State; first.Output != "build: tsc -p .\ntest: node --test" || first.Metadata["asked"] != 1.0 {
		t.Errorf("result %+v", first)
	}
	if second := got.calls[1].State; !strings.Contains(second.Error, "outside of the project") {
		t.Errorf("result %+v", second)
	}
	if !slices.Contains(got.titles, "reading package.json") {
		t.Errorf("progress %q", got.titles)
	}
}

func TestNodeWithoutGrant(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"package.json": `{}`})
	got := turn(t, open(t, nodePackage(t), readsProject), "offline/offline", dir, "npm_scripts {}")
	if len(got.calls) != 1 || !strings.Contains(got.calls[0].State.Error, "kv.get: not granted") {
		t.Errorf("calls %+v, answer %q", got.calls, got.answer)
	}
}

// The copy of the library that is part of the example is the library.
func TestNodeLibrary(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile(filepath.Join("..", "..", "sdk", "node", "tenon.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "process-node", "tenon.mjs"))
	if err != nil || string(got) != string(want) {
		t.Errorf("examples/process-node/tenon.mjs is not sdk/node/tenon.mjs; copy it (%v)", err)
	}
}

// A turn with a model that a plugin speaks to: a tool call, then an answer.
func TestProvider(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/api/chat" {
			t.Errorf("asked for %s, %v", r.URL, err)
		}
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, string(body))
		lines := []string{`{"message":{"role":"assistant","content":"A title"},"done":false}`, `{"message":{"content":""},"done":true,"done_reason":"stop"}`}
		switch {
		case strings.Contains(string(body), `"role":"tool"`):
			lines = []string{`{"message":{"content":"It has "}}`, `{"message":{"content":"two files."}}`, `{"done":true,"done_reason":"stop","prompt_eval_count":11,"eval_count":7}`}
		case strings.Contains(string(body), `"tools":`):
			lines = []string{
				`{"message":{"thinking":"I need to look."}}`,
				`{"message":{"tool_calls":[{"function":{"name":"count","arguments":{"of":"files"}}}]}}`, `{"done":true,"done_reason":"stop"}`,
			}
		}
		for _, line := range lines {
			_, _ = io.WriteString(w, line+"\n") // what fails here fails the request
		}
	}))
	t.Cleanup(server.Close)
	pkg := goPackage(t, "process-provider")
	pkg.Description.Providers[0].BaseURL = server.URL
	p := open(t, pkg)
	got := turn(t, &withTool{p.(modelPlugin)}, "ollama-native/llama3", project(t, nil), "how many files are there?")
	if got.answer != "It has two files." {
		t.Errorf("answer %q", got.answer)
	}
	if len(got.calls) != 1 || got.calls[0].State.Output != `counted {"of":"files"}` {
		t.Errorf("calls %+v", got.calls)
	}
	mu.Lock()
	defer mu.Unlock()
	last := requests[len(requests)-1]
	for _, want := range []string{`"model":"llama3"`, `"role":"system"`, `"tool_name":"count"`, `"arguments":{"of":"files"}`} {
		if !strings.Contains(strings.Join(requests, "\n"), want) {
			t.Errorf("no %s in the requests, the last of which is %s", want, last)
		}
	}
}

// Errors of the server reach the host as what they are.
func TestProviderErrors(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/tags":
			_, _ = io.WriteString(w, `{"models":[{"name":"llama3"},{"name":"qwen3"}]}`) // what fails here fails the request
		case "/api/chat":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"error":"the model is being loaded"}`)
		}
	}))
	t.Cleanup(server.Close)
	p := open(t, goPackage(t, "process-provider"))
	host := &fixedHost{slog.New(slog.DiscardHandler)}
	if err := p.Start(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	client, err := p.(sdk.ProtocolSource).Protocols()[0].Open(sdk.ProviderInfo{ID: "remote", BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if models, err := client.(sdk.ModelLister).ListModels(t.Context()); err != nil || len(models) != 2 || models[1].ID != "qwen3" {
		t.Errorf("models %+v, %v", models, err)
	}
	err = client.Stream(t.Context(), &sdk.ModelRequest{Model: sdk.Model{ID: "llama3"}}, func(sdk.StreamEvent) error { return nil })
	var failed *sdk.ProviderError
	if !errors.As(err, &failed) || failed.StatusCode != 503 || failed.Headers["retry-after"] != "7" || failed.Message != "the model is being loaded" {
		t.Errorf("%#v", err)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if client, err = p.(sdk.ProtocolSource).Protocols()[0].Open(sdk.ProviderInfo{ID: "remote", BaseURL: gone.URL}); err != nil {
		t.Fatal(err)
	}
	err = client.Stream(t.Context(), &sdk.ModelRequest{Model: sdk.Model{ID: "llama3"}}, func(sdk.StreamEvent) error { return nil })
	if !errors.As(err, &failed) || failed.StatusCode != 0 || failed.ProviderID != "remote" || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%#v: %v", err, err)
	}
}

// modelPlugin is the plugin of a provider.
type modelPlugin interface {
	sdk.Plugin
	sdk.ProviderSource
	sdk.ProtocolSource
}

// withTool adds a tool for the model to call.
type withTool struct{ modelPlugin }

func (*withTool) Tools() []sdk.Tool {
	return []sdk.Tool{sdk.FuncTool(sdk.ToolDefinition{ID: "count", Description: "Counts.", Parameters: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
			return &sdk.ToolResult{Output: "counted " + string(call.Args)}, nil
		})}
}

// fixedHost is a host without a project.
type fixedHost struct{ log *slog.Logger }

func (h *fixedHost) Logger() *slog.Logger   { return h.log }
func (*fixedHost) Project() sdk.Project     { return sdk.Project{} }
func (*fixedHost) Options() json.RawMessage { return json.RawMessage("null") }

package wasm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// These tests run guests in several languages, made by their real compilers, through the carrier.

// guestUnderTest is an opened module and what it is opened with.
type guestUnderTest struct {
	sdk.Plugin
	t    *testing.T
	logs *bytes.Buffer
}

// openGuest opens a module that describes itself and starts it. cache is where compiled code is kept; it may be empty.
func openGuest(t *testing.T, cache string, module []byte, h *sdktest.Host, grants ...sdk.Capability) *guestUnderTest {
	t.Helper()
	g := &guestUnderTest{t: t, logs: &bytes.Buffer{}}
	log := slog.New(slog.NewTextHandler(g.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	runtime := wasm.New(wasm.Options{Logger: log, CacheDir: cache, CompileTimeout: 10 * time.Minute})
	t.Cleanup(func() {
		if g.Plugin == nil {
			return
		}
		if err := g.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	code := moduleOf(t, module)
	d, err := runtime.Describe(t.Context(), remote.Unit{Program: code})
	if err != nil {
		t.Fatal(err)
	}
	spec := remote.Unit{Description: d, Program: code, Grants: grants, Logger: log, Broker: ability.New(ability.Options{
		Plugin: d.Name, Grants: grants, DataDir: filepath.Join(t.TempDir(), "data"), Logger: log,
		Secret: func(name string) (string, bool) { return "s3cret", name == "TOKEN" },
	})}
	if g.Plugin, err = runtime.Open(spec); err != nil {
		t.Fatal(err)
	}
	if err := g.Start(t.Context(), withLogger{h, log}); err != nil {
		t.Fatal(err)
	}
	return g
}

// withLogger is a host whose plugins log elsewhere.
type withLogger struct {
	*sdktest.Host
	log *slog.Logger
}

func (h withLogger) Logger() *slog.Logger { return h.log }

// hook calls hook n of the guest, past the engine.
func (g *guestUnderTest) hook(n int, input, value string) (sdk.Answer, error) {
	g.t.Helper()
	h := g.Plugin.(sdk.Hooker).Hooks()[n]
	call := &sdk.RemoteCall{Point: h.Point, Hook: h.Name, Input: json.RawMessage(input)}
	if value != "" {
		call.Value = json.RawMessage(value)
	}
	return h.Remote.HandleRemote(g.t.Context(), call)
}

func (g *guestUnderTest) wantAnswer(n int, input, v, want string) {
	g.t.Helper()
	answer, err := g.hook(n, input, v)
	got, encodeErr := value.AppendJSON(nil, answer)
	if err = errors.Join(err, encodeErr); err != nil || string(got) != want {
		g.t.Errorf("hook %d with %s = %s, %v, want %s", n, v, got, err, want)
	}
}

// buildGo compiles a guest below testdata/go with the plain Go toolchain.
func buildGo(t *testing.T, name string) []byte {
	t.Helper()
	if testing.Short() {
		t.Skip("a guest written in Go takes minutes to compile under the race detector; runs without -short")
	}
	out := filepath.Join(t.TempDir(), name+".wasm")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-o", out, ".")
	build.Dir = filepath.Join("testdata", "go", name)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, output)
	}
	return readGuest(t, out)
}

func readGuest(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestGuestInGo(t *testing.T) {
	t.Parallel()
	module, cache := buildGo(t, "everything"), guestCache(t)
	t.Run("hooks", func(t *testing.T) { // first, so that the others find its code in the cache
		g := openGuest(t, cache, module, sdktest.New(&sdk.Bundle{}, sdktest.Options{Options: json.RawMessage(`{"a":1}`)}))
		g.wantAnswer(0, `{"agent":"build"}`, `{"system":["hi","<ü>"]}`, `{"changes":[{"pointer":"/system/0","value":"HI"}]}`)
		g.wantAnswer(1, `{}`, `{"text":"keep"}`, `{}`)
		g.wantAnswer(1, `{}`, `{"text":"a\nb"}`, `{"changes":[{"pointer":"/text","value":"[a\nb]"}]}`)
		g.wantAnswer(2, `{}`, `{"args":{}}`, `{"verdict":"halt","reason":"stop it"}`)
		g.wantAnswer(3, `{"permission":"bash","patterns":["ls"]}`, "", `{"verdict":"deny","reason":"bash ls"}`)
		g.wantAnswer(4, `{"continued":0}`, "", `{"verdict":"continue","message":"and now?"}`)
		g.wantAnswer(4, `{"continued":1}`, "", `{"verdict":"allow"}`)
		for text, want := range map[string]string{"error": "no such luck", "panic": "panic: ", "memory": "fatal error: out of memory"} {
			if _, err := g.hook(1, `{}`, `{"text":"`+text+`"}`); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("hook with %s: %v", text, err)
			}
		}
		if logs := g.logs.String(); strings.Contains(logs, `level=WARN msg="fatal error`) { // a trace of Go's runtime has a hundred lines
			t.Errorf("logs: %s", logs)
		}
		if _, err := g.hook(1, `{"sessionID":7}`, `{"text":""}`); err == nil || !strings.Contains(err.Error(), "sessionID") {
			t.Errorf("hook with a bad input: %v", err)
		}
		large := strings.Repeat(`0123456789\n`, 100_000)
		g.wantAnswer(1, `{}`, `{"text":"`+large+`"}`, `{"changes":[{"pointer":"/text","value":"[`+large+`]"}]}`)
		if logs := g.logs.String(); !strings.Contains(logs, "level=WARN") || !strings.Contains(logs, `started project=global`) {
			t.Errorf("logs: %s", logs)
		}
	})
	t.Run("tools", func(t *testing.T) {
		t.Parallel()
		testGoTools(t, cache, module)
	})
	t.Run("models", func(t *testing.T) {
		t.Parallel()
		g := openGuest(t, cache, module, sdktest.New(&sdk.Bundle{}, sdktest.Options{}))
		client, err := g.Plugin.(sdk.ProtocolSource).Protocols()[0].Open(sdk.ProviderInfo{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.(sdk.ModelLister).ListModels(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a client without a list: %v", err)
		}
	})
	t.Run("garbage", func(t *testing.T) {
		t.Parallel()
		testGoGarbage(t, cache, module)
	})
}

// testGoGarbage makes more garbage than an instance has memory for. Go bounds the share of time it spends collecting: by a clock
// that stands still except when it is read, as wazero's own, it seems to do nothing else, and stops at call 563.
func testGoGarbage(t *testing.T, cache string, module []byte) {
	g := openGuest(t, cache, module, sdktest.New(&sdk.Bundle{}, sdktest.Options{}))
	value := `{"text":"` + strings.Repeat(`0123456789\n`, 6000) + `"}`
	for i := range 1000 {
		if _, err := g.hook(1, `{}`, value); err != nil {
			t.Fatalf("call %d: %v; does the guest's monotonic clock run with the real time?", i, err)
		}
	}
}

// answers is a host that gives what the guest asks for.
func answers() *sdktest.Host {
	return sdktest.New(&sdk.Bundle{}, sdktest.Options{
		Config:   &sdk.Config{Model: "offline/offline"},
		Messages: []sdk.MessageWithParts{{Info: &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: "msg_1"}}}},
		Ask:      func(sdk.PermissionRequest) error { return &sdk.Refusal{Reason: "no flying", By: "user"} },
		Tool: func(_ context.Context, req sdk.ToolRequest) (*sdk.ToolResult, error) {
			return &sdk.ToolResult{Output: req.Tool + string(req.Args)}, nil
		},
		Question: func([]sdk.Question) ([][]string, error) { return [][]string{{"yes", "no"}}, nil },
		Sample: func(_ context.Context, req sdk.SampleRequest) (*sdk.SampleResult, error) {
			return &sdk.SampleResult{Text: req.System}, nil
		},
	})
}

// toolHost is the host of one tool call, which answers like the host of the plugin.
type toolHost struct {
	*sdktest.Host
	shown string
}

func (h *toolHost) Progress(title string, metadata sdk.Object) { h.shown = title }

func (h *toolHost) Ask(ctx context.Context, req sdk.PermissionRequest) error {
	return h.AskPermission(ctx, req)
}

func (h *toolHost) Messages(ctx context.Context) ([]sdk.MessageWithParts, error) {
	return h.SessionMessages(ctx, "")
}

func (h *toolHost) Question(ctx context.Context, questions []sdk.Question) ([][]string, error) {
	return h.AskUser(ctx, "", questions)
}

func testGoTools(t *testing.T, cache string, module []byte) {
	host := answers()
	granted := openGuest(t, cache, module, host, sdk.Capability{Name: sdk.CapabilityKV}, sdk.Capability{Name: sdk.CapabilitySecret, Scope: []string{"TOKEN"}},
		sdk.Capability{Name: sdk.CapabilityConfig}, sdk.Capability{Name: sdk.CapabilityTool, Scope: []string{"other"}},
		sdk.Capability{Name: sdk.CapabilitySession}, sdk.Capability{Name: sdk.CapabilityAsk}, sdk.Capability{Name: sdk.CapabilityModel})
	bare := openGuest(t, cache, module, host)
	calls := &toolHost{Host: host}
	do := func(g *guestUnderTest, what string) (string, error) {
		tool := g.Plugin.(sdk.ToolSource).Tools()[0]
		result, err := tool.Execute(t.Context(), &sdk.ToolCall{Tool: "do", CallID: "c", SessionID: "ses_1", Args: json.RawMessage(`{"do":"` + what + `"}`), Host: calls})
		if err != nil {
			return "", err
		}
		return result.Output, nil
	}
	for what, want := range map[string]string{
		"secret": "s3cret", "tool": `other{"a":1}`, "session": "1", "ask": "refused: no flying",
		"question": "[[yes no]]", "sample": "be brief", "kv": `"1\xff" true [a]`,
	} {
		if got, err := do(granted, what); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, %v, want %q", what, got, err, want)
		}
		if got, err := do(bare, what); what != "ask" && (err != nil || !strings.HasPrefix(got, "denied: ")) {
			t.Errorf("%s without a grant: %q, %v", what, got, err)
		}
	}
	if got, err := do(granted, "config"); err != nil || got != "offline/offline" {
		t.Errorf("config: %q, %v", got, err)
	}
	if calls.shown != "asking" {
		t.Errorf("progress: %q", calls.shown)
	}
	for what, want := range map[string]string{"exit": "panic: the tool fell over", "dance": `cannot do "dance"`} {
		if _, err := do(granted, what); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	preparer, ok := granted.Plugin.(sdk.ToolSource).Tools()[0].(sdk.ToolPreparer)
	if !ok {
		t.Fatal("the tool does not prepare")
	}
	requests, err := preparer.Prepare(t.Context(), &sdk.ToolCall{Tool: "do", Args: json.RawMessage(`{"do":"kv"}`)})
	want := []sdk.PermissionRequest{{Permission: "do", Patterns: []string{`{"do":"kv"}`}}}
	if diff := cmp.Diff(want, requests); err != nil || diff != "" {
		t.Errorf("Prepare() = %v: %s", err, diff)
	}
}

func TestGuestInRust(t *testing.T) {
	t.Parallel()
	module := readGuest(t, "testdata", "rust", "guest.wasm")
	host := sdktest.New(&sdk.Bundle{}, sdktest.Options{})
	g := openGuest(t, "", module, host, sdk.Capability{Name: sdk.CapabilityKV})
	const input = `{"sessionID":"ses_1","agent":"build"}`
	g.wantAnswer(0, input, `{"system":["say \"]}\" [","ü"]}`, `{"changes":[{"pointer":"/system","value":["say \"]}\" [","ü","Rust was here (call 1)."]}]}`)
	g.wantAnswer(0, input, `{"system":[]}`, `{"changes":[{"pointer":"/system","value":["Rust was here (call 2)."]}]}`)
	if _, err := g.hook(0, input, `{}`); err == nil || !strings.Contains(err.Error(), "no value.system") {
		t.Errorf("hook without its field: %v", err)
	}
	bare := openGuest(t, "", module, host)
	bare.wantAnswer(0, input, `{"system":["a"]}`, `{"changes":[{"pointer":"/system","value":["a","Rust was here."]}]}`)
	if !strings.Contains(bare.logs.String(), "not counted") {
		t.Errorf("logs: %s", bare.logs)
	}
}

func TestGuestInAssemblyScript(t *testing.T) {
	t.Parallel()
	module := readGuest(t, "testdata", "as", "guest.wasm")
	host := sdktest.New(&sdk.Bundle{}, sdktest.Options{})
	g := openGuest(t, "", module, host, sdk.Capability{Name: sdk.CapabilityKV})
	for _, want := range []string{"Be brief. (1)", "Be brief. (2)"} {
		g.wantAnswer(0, `{"sessionID":"ses_1"}`, `{"message":{"role":"user","id":"msg_1"}}`, `{"changes":[{"pointer":"/message/system","value":"`+want+`"}]}`)
	}
	g.wantAnswer(0, `{"sessionID":"ses_1"}`, `{"message":{"role":"user","id":"msg_1","system":"Be long."}}`, `{}`)
	bare := openGuest(t, "", module, host)
	bare.wantAnswer(0, `{"sessionID":"ses_1"}`, `{"message":{"role":"user","id":"msg_1"}}`, `{"changes":[{"pointer":"/message/system","value":"Be brief."}]}`)
	if !strings.Contains(bare.logs.String(), "not counted") {
		t.Errorf("logs: %s", bare.logs)
	}
}

// compiler runs a script of the compilers that npm installs beside the AssemblyScript guest.
func compiler(t *testing.T, stdin io.Reader, args ...string) []byte {
	t.Helper()
	dir := filepath.Join("testdata", "as")
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		t.Fatalf("%v; run go run ./internal/testdeps in the root of the repository", err)
	}
	cmd := exec.CommandContext(t.Context(), "node", args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, stdin, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, &stderr)
	}
	return out
}

// TestGuestInAssemblyScriptIsCurrent checks that the committed module is what the source compiles to.
func TestGuestInAssemblyScriptIsCurrent(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	compiler(t, nil, "node_modules/assemblyscript/bin/asc.js", "guest.ts", "--outFile", out, "--optimize", "--runtime", "incremental", "--use", "abort=guest/stop")
	if !bytes.Equal(readGuest(t, out), readGuest(t, "testdata", "as", "guest.wasm")) {
		t.Error("guest.wasm is not what guest.ts compiles to; run testdata/as/build.sh")
	}
}

// blocks returns the code blocks of the page about the ABI in a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	pieces := strings.Split(string(readGuest(t, "..", "..", "docs", "wasm-abi.md")), "```"+language+"\n")
	for i := range pieces {
		pieces[i], _, _ = strings.Cut(pieces[i], "```")
	}
	return pieces[1:]
}

// TestGuestOfTheDocs runs the guest that the page about the ABI shows, from its text.
func TestGuestOfTheDocs(t *testing.T) {
	t.Parallel()
	wat := blocks(t, "wat")
	module := compiler(t, strings.NewReader(wat[0]), "wat.mjs")
	g := openGuest(t, "", module, sdktest.New(&sdk.Bundle{}, sdktest.Options{}))
	g.wantAnswer(0, `{"sessionID":"ses_1"}`, `{}`, `{"changes":[{"pointer":"/temperature","value":0}]}`)
	if m := g.Manifest(); m.Name != "cool" {
		t.Errorf("manifest %+v", m)
	}
	// The signatures of all imports are what the host links.
	imports := "(module " + wat[1] + ` (memory (export "memory") 1)
		(func (export "tenon_abi") (result i32) (i32.const 0x10000)) (func (export "tenon_call") (param i32 i32) (result i32) (i32.const 2)))`
	runtime := wasm.New(wasm.Options{})
	if _, err := runtime.Describe(t.Context(), remote.Unit{Program: moduleOf(t, compiler(t, strings.NewReader(imports), "wat.mjs"))}); err != nil && errors.Is(err, wasm.ErrModule) {
		t.Errorf("a module with all imports: %v", err)
	}
}

// TestJSONOfTheDocs checks that the page's JSON has the shapes of the contract, in the order the page shows them.
func TestJSONOfTheDocs(t *testing.T) {
	t.Parallel()
	shapes := []any{
		&sdk.Description{}, &guest.StartRequest{}, &guest.HookRequest{}, &sdk.Answer{}, &sdk.Answer{}, &sdk.ToolCall{}, &sdk.ToolResult{}, &guest.PrepareResponse{},
		&guest.StreamRequest{}, &guest.StreamFailure{},
	}
	text := blocks(t, "json")
	if len(text) != len(shapes) {
		t.Fatalf("the page has %d blocks of JSON, want %d", len(text), len(shapes))
	}
	for i, shape := range shapes {
		d := json.NewDecoder(strings.NewReader(text[i]))
		d.DisallowUnknownFields()
		if err := d.Decode(shape); err != nil {
			t.Errorf("block %d as %T: %v", i, shape, err)
		}
	}
	request := shapes[2].(*guest.HookRequest)
	if err := json.Unmarshal(request.Input, &sdk.ToolInput{}); err != nil {
		t.Error(err)
	}
	if err := value.Apply(&sdk.ToolBeforeValue{Args: sdk.Object{"command": "ls", "old": 1}}, shapes[3].(*sdk.Answer).Changes); err != nil {
		t.Error(err)
	}
}

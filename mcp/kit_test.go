package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("TENON_MCP_FAKE"); mode != "" {
		runFake(mode)
	}
	goleak.VerifyTestMain(m)
}

// fake returns a server of the user's own that runs the test binary as a server.
func fake(t testing.TB, mode string, env ...string) mcp.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.Server{
		Name: "fake", Transport: mcp.TransportStdio, Command: self, Own: true,
		Env:     map[string]string{"TENON_MCP_FAKE": mode, "GORACE": "atexit_sleep_ms=0"}, // the race detector waits a second at the end
		Timeout: time.Minute,
	}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		s.Env[name] = value
	}
	return s
}

// testHost is the host as a plugin sees it.
type testHost struct {
	project sdk.Project
	log     syncBuffer
	sample  func(sdk.SampleRequest) (*sdk.SampleResult, error)
	ask     func(session string, q []sdk.Question) ([][]string, error)
}

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newTestHost(t testing.TB) *testHost {
	dir := t.TempDir()
	return &testHost{project: sdk.Project{Directory: dir, Worktree: dir, DataDir: filepath.Join(dir, ".data"), Home: dir}}
}

func (h *testHost) Logger() *slog.Logger     { return slog.New(slog.NewTextHandler(&h.log, nil)) }
func (h *testHost) Project() sdk.Project     { return h.project }
func (h *testHost) Options() json.RawMessage { return nil }

func (h *testHost) Sample(_ context.Context, r sdk.SampleRequest) (*sdk.SampleResult, error) {
	if h.sample == nil {
		return nil, &sdk.Refusal{Reason: "no"}
	}
	return h.sample(r)
}

func (h *testHost) AskUser(_ context.Context, session string, q []sdk.Question) ([][]string, error) {
	if h.ask == nil {
		return nil, sdk.ErrHeadless
	}
	return h.ask(session, q)
}

// start starts a plugin for the test.
func start(t testing.TB, h *testHost, s mcp.Server, o mcp.Options) *mcp.Plugin {
	t.Helper()
	p := mcp.New(s, o)
	if err := p.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closePlugin(t, p) })
	return p
}

func closePlugin(t testing.TB, p *mcp.Plugin) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// begin starts a plugin and waits until its server is there or cannot be started.
func begin(t testing.TB, h *testHost, s mcp.Server, o mcp.Options) *mcp.Plugin {
	t.Helper()
	p := start(t, h, s, o)
	eventually(t, "start", func() bool { return p.Status().State == "ready" || p.Status().State == "failed" })
	return p
}

// ready starts a plugin and waits until its server is there.
func ready(t testing.TB, h *testHost, s mcp.Server) *mcp.Plugin {
	t.Helper()
	p := begin(t, h, s, mcp.Options{})
	eventually(t, "ready", func() bool { return p.Status().State == "ready" })
	return p
}

// eventually waits for a condition that another process brings about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%s: did not happen", what)
		}
	}
}

// toolHost is the host as a tool call sees it.
type toolHost struct {
	mu       sync.Mutex
	progress []string
	answers  func([]sdk.Question) ([][]string, error)
	gone     func() // if set, a question waits until it is withdrawn, and calls it
}

func (h *toolHost) Progress(title string, _ sdk.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.progress = append(h.progress, title)
}

func (h *toolHost) Ask(context.Context, sdk.PermissionRequest) error { return nil }

func (h *toolHost) Question(ctx context.Context, q []sdk.Question) ([][]string, error) {
	if h.gone != nil {
		<-ctx.Done()
		h.gone()
		return nil, ctx.Err()
	}
	if h.answers == nil {
		return nil, sdk.ErrHeadless
	}
	return h.answers(q)
}

func find(t testing.TB, p *mcp.Plugin, id string) sdk.Tool {
	t.Helper()
	var ids []string
	for _, one := range p.Tools() {
		if one.Definition().ID == id {
			return one
		}
		ids = append(ids, one.Definition().ID)
	}
	t.Fatalf("tool %s not found, only %v; status %+v", id, ids, p.Status())
	return nil
}

// run calls a tool.
func run(ctx context.Context, t testing.TB, p *mcp.Plugin, id, args string) (*sdk.ToolResult, error) {
	t.Helper()
	return runOn(ctx, t, p, id, args, &toolHost{})
}

func runOn(ctx context.Context, t testing.TB, p *mcp.Plugin, id, args string, h sdk.ToolHost) (*sdk.ToolResult, error) {
	t.Helper()
	c := toolCall(args)
	c.Host = h
	return find(t, p, id).Execute(ctx, c)
}

func toolCall(args string) *sdk.ToolCall {
	return &sdk.ToolCall{CallID: "c1", SessionID: "ses_1", Args: json.RawMessage(args), Host: &toolHost{}}
}

func mustRun(t testing.TB, p *mcp.Plugin, id, args string) *sdk.ToolResult {
	t.Helper()
	r, err := run(t.Context(), t, p, id, args)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return r
}

func lines(t testing.TB, path string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(strings.ReplaceAll(string(raw), " ", "_"))
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// newPlugin starts a plugin that the caller closes.
func newPlugin(t testing.TB, h *testHost, s mcp.Server) *mcp.Plugin {
	t.Helper()
	p := mcp.New(s, mcp.Options{})
	if err := p.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	return p
}

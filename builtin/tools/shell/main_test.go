package shell_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/tools/shell"
	"github.com/tenonhq/tenon/sdk"
)

// TestMain lets the test binary be the host that gets killed (kill_unix_test.go).
func TestMain(m *testing.M) {
	if command := os.Getenv("TENON_TEST_HOST"); command != "" {
		beHost(command)
		return
	}
	goleak.VerifyTestMain(m)
}

// beHost runs one command as a host would and never returns before it ended.
func beHost(command string) {
	p := shell.New()
	args, _ := json.Marshal(map[string]any{"command": command})
	dir, _ := os.Getwd()
	if err := p.Start(context.Background(), &host{dir: dir}); err != nil {
		panic(err)
	}
	_, err := p.Tools()[0].Execute(context.Background(), &sdk.ToolCall{Args: args, Directory: dir, Worktree: dir, Host: &callHost{}})
	if err != nil {
		panic(err)
	}
}

// host is what a plugin gets.
type host struct {
	home, dir string
	config    sdk.Config
}

func (*host) Logger() *slog.Logger     { return slog.New(slog.DiscardHandler) }
func (*host) Options() json.RawMessage { return nil }
func (h *host) Config() *sdk.Config    { return &h.config }
func (h *host) Project() sdk.Project {
	return sdk.Project{Directory: h.dir, Worktree: h.dir, Home: h.home, ConfigDir: filepath.Join(h.home, ".config", "tenon")}
}
func (*callHost) Ask(context.Context, sdk.PermissionRequest) error { return nil }

// callHost is what a call gets. It keeps what is shown.
type callHost struct {
	mu    sync.Mutex
	shown []sdk.Object
	seen  chan struct{} // when set, gets a value when something with output is shown
	env   []string
}

func (h *callHost) Progress(_ string, metadata sdk.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shown = append(h.shown, metadata)
	if text, _ := metadata["output"].(string); text != "" && h.seen != nil {
		select {
		case h.seen <- struct{}{}:
		default:
		}
	}
}

func (h *callHost) ShellEnv(context.Context, string) ([]string, error) {
	return append(os.Environ(), h.env...), nil
}

// fixture is a started plugin with a project.
type fixture struct {
	tool sdk.Tool
	host *callHost
	dir  string
}

func newFixture(t testing.TB, wanted string) *fixture {
	t.Helper()
	p, dir := shell.New(), t.TempDir()
	if err := p.Start(t.Context(), &host{home: "/home/user", dir: dir, config: sdk.Config{Shell: wanted}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 {
			if err := p.Close(context.Background()); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
	})
	return &fixture{tool: p.Tools()[0], host: &callHost{}, dir: dir}
}

func (f *fixture) call(t testing.TB, args map[string]any) *sdk.ToolCall {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return &sdk.ToolCall{Tool: "bash", Args: data, Directory: f.dir, Worktree: f.dir, Host: f.host}
}

func (f *fixture) run(t *testing.T, args map[string]any) *sdk.ToolResult {
	t.Helper()
	result, err := f.tool.Execute(t.Context(), f.call(t, args))
	if err != nil {
		t.Fatalf("Execute(%v): %v", args, err)
	}
	return result
}

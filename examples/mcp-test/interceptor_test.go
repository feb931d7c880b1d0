package mcptest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/agents"
	"github.com/tenonhq/tenon/builtin/providers/offline"
	"github.com/tenonhq/tenon/builtin/tools/files"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// approved reads the configuration of the example and approves its server, as "tenon plugin trust" does.
func approved(t *testing.T) sdk.Plugin {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "mcp-interceptor", ".mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	servers, warnings, err := mcp.ReadConfig(content, path, os.LookupEnv)
	if err != nil || len(warnings) > 0 || len(servers) != 1 {
		t.Fatalf("servers %v, warnings %q, error %v", servers, warnings, err)
	}
	o := mcp.Options{Dir: t.TempDir()}
	definition, err := mcp.Probe(t.Context(), servers[0], sdk.Project{}, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := mcp.Approve(mcp.FilePins(o.Dir), servers[0], definition); err != nil {
		t.Fatal(err)
	}
	return mcp.New(servers[0], o)
}

// run runs a turn with the model that makes the tool calls written in the prompt, and returns the calls.
func run(t *testing.T, dir, prompt string) []*sdk.ToolPart {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "tenon.db"), Version: "test", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(t.Context(), host.Options{
		Config: &sdk.Config{
			Model: "offline/offline", Permission: sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}},
			HookConfig: map[string]sdk.HookOverride{"mcp.key-guard": {Timeout: 60_000}}, // the server is still starting
		},
		Store: s, Logger: log, Version: "test", ReloadOptions: host.ReloadOptions{Plugins: []sdk.Plugin{offline.New(), agents.New(), files.New(), approved(t)}},
		Project: sdk.Project{ID: "global", Directory: dir, Worktree: dir, Home: dir, ConfigDir: dir, DataDir: t.TempDir()},
	})
	if err != nil {
		t.Fatal(errors.Join(err, s.Close()))
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		if err := errors.Join(h.Close(ctx), s.Close()); err != nil {
			t.Error(err)
		}
	})
	session, err := h.CreateSession(t.Context(), host.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Prompt(t.Context(), host.PromptInput{SessionID: session.ID, Text: prompt}); err != nil {
		t.Fatal(err)
	}
	messages, err := s.Messages(t.Context(), session.ID, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	var calls []*sdk.ToolPart
	for _, m := range messages {
		for _, p := range m.Parts {
			if c, ok := p.(*sdk.ToolPart); ok {
				calls = append(calls, c)
			}
		}
	}
	return calls
}

func TestInterceptors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"notes.txt": "the key is sk-0123456789abcdefghij, keep it", "a.env": "TOKEN=1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	calls := run(t, dir, `read {"filePath": "notes.txt"}
read {"filePath": "a.env"}
key-guard_check {"text": "AKIA0123456789ABCDEF"}`)
	if len(calls) != 3 {
		t.Fatalf("%d calls, want 3", len(calls))
	}
	if got := calls[0].State.Output; strings.Contains(got, "sk-0123") || !strings.Contains(got, "the key is [key removed], keep it") {
		t.Errorf("notes.txt was read as %q, %s", got, calls[0].State.Error)
	}
	if got := calls[1].State; got.Status != sdk.ToolError || !strings.Contains(got.Error, "keep-env: arguments: a.env is off limits") {
		t.Errorf("a.env: %s %q %q", got.Status, got.Output, got.Error)
	}
	if got := calls[2].State.Output; got != "It holds a key." {
		t.Errorf("check = %q, %s", got, calls[2].State.Error)
	}
}

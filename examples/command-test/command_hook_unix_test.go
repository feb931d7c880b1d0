//go:build unix

package commandtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/agents"
	"github.com/tenonhq/tenon/builtin/commandhooks"
	"github.com/tenonhq/tenon/builtin/providers/offline"
	"github.com/tenonhq/tenon/builtin/tools/files"
	"github.com/tenonhq/tenon/builtin/tools/shell"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// project copies the example into a repository of its own, on the branch "trial".
func project(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "command-hook"))); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", "-b", "trial", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	return dir
}

// commandHooks makes the plugin of the example's configuration.
func commandHooks(t *testing.T, dir string) sdk.Plugin {
	t.Helper()
	path := filepath.Join(dir, "tenon.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := commandhooks.New(commandhooks.Source{Name: "hooks-project", Where: path, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return plugin
}

// transcript keeps what the model gets to see.
type transcript struct {
	sdk.Bundle
	mu   sync.Mutex
	text string
}

func newTranscript() *transcript {
	tr := &transcript{}
	tr.Info = sdk.Manifest{Name: "transcript", Carrier: sdk.CarrierBuiltin}
	tr.HookList = []sdk.Hook{sdk.OnChatMessages(func(_ context.Context, in *sdk.ChatInput, v *sdk.ChatMessagesValue) error {
		if in.Purpose != sdk.PurposeTurn {
			return nil
		}
		text, err := json.Marshal(v)
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.text = string(text)
		return err
	})}
	return tr
}

// turn gives a session of the project a prompt and returns what the model saw.
func turn(t *testing.T, prompt string) string {
	t.Helper()
	dir, log := project(t), slog.New(slog.DiscardHandler)
	data := t.TempDir()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(data, "tenon.db"), Version: "test", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	tr := newTranscript()
	h, err := host.New(t.Context(), host.Options{
		Config: &sdk.Config{Model: "offline/offline", Permission: sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}}},
		Store:  store, Logger: log, Version: "test", Environ: os.Environ(),
		ReloadOptions: host.ReloadOptions{Plugins: []sdk.Plugin{offline.New(), agents.New(), files.New(), shell.New(), commandHooks(t, dir), tr}},
		Project:       sdk.Project{ID: "global", Directory: dir, Worktree: dir, Home: data, ConfigDir: data, DataDir: data, Git: true},
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
	if _, err := h.Prompt(t.Context(), host.PromptInput{SessionID: session.ID, Text: prompt}); err != nil {
		t.Fatal(err)
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.text
}

// The scripts run in turns of a real host, with the model that needs no network.
func TestExample(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prompt string
		saw    []string
		not    string
	}{
		"the branch":    {"hello", []string{`"text":"hello"`, "The git branch is trial."}, "not for agents"},
		"a forced push": {`bash {"command": "git push --force"}`, []string{"Forced pushes are not for agents.", "refused by plugin hooks-project"}, "fatal"},
		"another one":   {`bash {"command": "git push -f"}`, []string{"Forced pushes are not for agents."}, "fatal"},
		"a command":     {`bash {"command": "echo all is well"}`, []string{`"output":"all is well`}, "not for agents"},
		"a new file":    {`write {"filePath": "a.txt", "content": "x"}`, []string{`"status":"completed"`, "Run the tests before you say that you are done."}, "not for agents"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			saw := turn(t, c.prompt)
			for _, want := range c.saw {
				if !strings.Contains(saw, want) {
					t.Errorf("the model did not see %q:\n%s", want, saw)
				}
			}
			if strings.Contains(saw, c.not) {
				t.Errorf("the model saw %q:\n%s", c.not, saw)
			}
		})
	}
}

package mcp_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/builtin/agents"
	"github.com/tenonhq/tenon/builtin/providers/offline"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/sdk"
)

// turns runs one turn for each prompt with the offline model, which makes the tool calls written in it, and returns the calls.
func turns(t *testing.T, dir string, prompts []string, plugins ...sdk.Plugin) []*sdk.ToolPart {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "tenon.db"), Version: "test", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(t.Context(), host.Options{
		Config: &sdk.Config{Model: "offline/offline", Permission: sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}}},
		Store:  s, Logger: log, Version: "test", ReloadOptions: host.ReloadOptions{Plugins: append([]sdk.Plugin{offline.New(), agents.New()}, plugins...)},
		Project: sdk.Project{ID: "global", Directory: dir, Worktree: dir, Home: dir, ConfigDir: dir, DataDir: filepath.Join(t.TempDir(), "data")},
	})
	if err != nil {
		t.Fatal(errors.Join(err, s.Close()))
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := errors.Join(h.Close(ctx), s.Close()); err != nil {
			t.Error(err)
		}
	})
	session, err := h.CreateSession(t.Context(), host.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	for _, prompt := range prompts {
		if _, err := h.Prompt(t.Context(), host.PromptInput{SessionID: session.ID, Text: prompt}); err != nil {
			t.Fatal(err)
		}
	}
	messages, err := s.Messages(t.Context(), session.ID, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	var calls []*sdk.ToolPart
	for _, m := range messages {
		for _, p := range m.Parts {
			if call, ok := p.(*sdk.ToolPart); ok {
				calls = append(calls, call)
			}
		}
	}
	return calls
}

// Every tool of the reference servers is called through a turn.
func TestReferenceServersInATurn(t *testing.T) {
	t.Parallel()
	list, dir := references(t)
	for _, r := range list {
		t.Run(r.server.Name, func(t *testing.T) {
			t.Parallel()
			o := mcp.Options{Dir: t.TempDir()}
			definition, err := mcp.Probe(t.Context(), r.server, newTestHost(t).project, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := mcp.Approve(mcp.FilePins(o.Dir), r.server, definition); err != nil {
				t.Fatal(err)
			}
			var prompts []string
			var wants []referenceCall
			for _, c := range r.calls {
				prompts = append(prompts, toolID(r.server.Name, c.tool)+" "+c.args)
				wants = append(wants, c)
			}
			calls := turns(t, dir, prompts, mcp.New(r.server, o))
			if len(calls) != len(wants) {
				t.Fatalf("%d calls, want %d", len(calls), len(wants))
			}
			for i, c := range calls {
				if c.State.Status != sdk.ToolCompleted || !strings.Contains(c.State.Output, wants[i].want) {
					t.Errorf("%s: %s %.300s%s, want %q", c.Tool, c.State.Status, c.State.Output, c.State.Error, wants[i].want)
				}
			}
		})
	}
}

// A server that never answers does not delay a turn, which would otherwise take an hour.
func TestServerThatHangsDelaysNoTurn(t *testing.T) {
	t.Parallel()
	hang := fake(t, "hang")
	hang.Name, hang.Timeout = "stuck", time.Hour
	far := remote(mcp.TransportHTTP, listen(t, hanging()).URL)
	far.Timeout = time.Hour
	good := fake(t, "plain")
	o := mcp.Options{Dir: t.TempDir()}
	definition, err := mcp.Probe(t.Context(), good, newTestHost(t).project, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := mcp.Approve(mcp.FilePins(o.Dir), good, definition); err != nil {
		t.Fatal(err)
	}
	calls := turns(t, t.TempDir(), []string{`fake_echo {"text":"quick"}`}, mcp.New(hang, o), mcp.New(far, o), mcp.New(good, o))
	if len(calls) != 1 || calls[0].State.Output != "quick" {
		t.Errorf("calls = %+v", calls)
	}
}

package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/builtin/agents"
	"github.com/tenonhq/tenon/builtin/providers/offline"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/sdk"
)

// machine is a host with a store, the offline model and one tool, "repeat".
type machine struct {
	t     *testing.T
	host  *host.Host
	store store.Store
	told  *lines
	close func() // at the latest at the end of the test
}

// lines keeps the lines of the log that users see: warnings and errors.
type lines struct {
	mu   sync.Mutex
	list []string
	more chan struct{} // has room for one; sent to with each line
}

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *lines) WithGroup(string) slog.Handler                    { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += fmt.Sprintf(" %s=%s", a.Key, a.Value)
		return true
	})
	l.mu.Lock()
	l.list = append(l.list, line)
	l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return nil
}

// about returns the lines that name the plugin.
func (l *lines) about(plugin string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.list), func(line string) bool { return !strings.Contains(line, "plugin="+plugin) })
}

// await waits until there are n lines about the plugin.
func (l *lines) await(t *testing.T, plugin string, n int) []string {
	t.Helper()
	timeout := time.NewTimer(time.Minute)
	defer timeout.Stop()
	for {
		if list := l.about(plugin); len(list) >= n {
			return list
		}
		select {
		case <-l.more:
		case <-timeout.C:
			t.Fatalf("%d lines about %s, want %d: %q", len(l.about(plugin)), plugin, n, l.about(plugin))
		}
	}
}

// newMachine starts a host with the plugins.
func newMachine(t *testing.T, plugins ...sdk.Plugin) *machine {
	t.Helper()
	dir := t.TempDir()
	told := &lines{more: make(chan struct{}, 1)}
	log := slog.New(told)
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "tenon.db"), Version: "test", Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	tools := &sdk.Bundle{Info: sdk.Manifest{Name: "tools", Carrier: sdk.CarrierBuiltin}, ToolList: []sdk.Tool{repeat()}}
	h, err := host.New(t.Context(), host.Options{
		Config: &sdk.Config{
			Model:      "offline/offline",
			Permission: sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}},
		},
		Store: s, Logger: log, Version: "test", ReloadOptions: host.ReloadOptions{Plugins: append([]sdk.Plugin{offline.New(), agents.New(), tools}, plugins...)},
		Project: sdk.Project{ID: "global", Directory: dir, Worktree: dir, Home: dir, ConfigDir: dir, DataDir: dir},
	})
	if err != nil {
		t.Fatal(errors.Join(err, s.Close()))
	}
	m := &machine{t: t, host: h, store: s, told: told}
	m.close = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := errors.Join(h.Close(ctx), s.Close()); err != nil {
			t.Errorf("close the host: %v", err)
		}
	})
	t.Cleanup(m.close)
	return m
}

// repeat gives back its arguments.
func repeat() sdk.Tool {
	def := sdk.ToolDefinition{ID: "repeat", Description: "Repeats.", Parameters: json.RawMessage(`{"type":"object"}`)}
	return sdk.FuncTool(def, func(_ context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		return &sdk.ToolResult{Output: string(call.Args)}, nil
	})
}

// turn is what came of one turn.
type turn struct {
	answer string
	result string // of the tool call, or why there is none
	took   time.Duration
}

// turn runs a turn with one call of the tool, in a session of its own.
func (m *machine) turn() turn {
	m.t.Helper()
	ctx := m.t.Context()
	s, err := m.host.CreateSession(ctx, host.NewSession{Title: "A test"})
	if err != nil {
		m.t.Fatal(err)
	}
	begin := time.Now()
	answer, err := m.host.Prompt(ctx, host.PromptInput{SessionID: s.ID, Text: `repeat {"text": "hello"}`})
	if err != nil {
		m.t.Fatalf("the turn ended with an error: %v", err)
	}
	out := turn{took: time.Since(begin)}
	for _, p := range answer.Parts {
		if text, ok := p.(*sdk.TextPart); ok {
			out.answer += text.Text
		}
	}
	list, err := m.store.Messages(ctx, s.ID, store.Page{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, message := range list {
		for _, p := range message.Parts {
			if tool, ok := p.(*sdk.ToolPart); ok {
				out.result = tool.State.Output + tool.State.Error
			}
		}
	}
	return out
}

// faultyHook is a hook of the conformance plugin that goes wrong.
func faultyHook(point sdk.Point, timeout time.Duration, f conformance.Fault) (conformance.Options, sdk.HookDescription) {
	return conformance.Options{Hooks: map[string]conformance.Script{string(point): {Fault: f}}}, hookAt(point, timeout)
}

func hookAt(point sdk.Point, timeout time.Duration) sdk.HookDescription {
	return sdk.HookDescription{Point: string(point), Reads: []string{""}, Writes: []string{""}, TimeoutMS: timeout.Milliseconds()}
}

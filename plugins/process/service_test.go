package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/sdk"
)

func TestTools(t *testing.T) { eachWire(t, testTools) }

func testTools(t *testing.T, w wire) {
	p := w.started(t, process.Options{}, "plain", nil)
	t.Run("result", func(t *testing.T) {
		result, err := callTool(t, p, "echo", `{"a":[1,2]}`, nil)
		if err != nil || result.Output != `{"a":[1,2]}` || result.Title != "echo" {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("panic", func(t *testing.T) {
		if _, err := callTool(t, p, "throw", `{}`, nil); err == nil || err.Error() != "panic: boom" {
			t.Error(err)
		}
	})
	t.Run("refusal", func(t *testing.T) {
		_, err := callTool(t, p, "refuse", `{}`, nil)
		var refusal *sdk.Refusal
		if !errors.As(err, &refusal) || !refusal.Halt || refusal.Reason != "not on a Sunday" || refusal.By != "plugin guest-plain" {
			t.Errorf("%#v", err)
		}
	})
	t.Run("progress in order", func(t *testing.T) {
		var shown []string
		host := &toolHost{progress: func(title string, m sdk.Object) { shown = append(shown, fmt.Sprint(title, " ", m["n"])) }}
		if _, err := callTool(t, p, "steps", `{}`, host); err != nil {
			t.Error(err)
		}
		if want := []string{"step 0 0", "step 1 1", "step 2 2"}; !slices.Equal(shown, want) {
			t.Errorf("progress %v, want %v", shown, want)
		}
	})
	t.Run("ask", func(t *testing.T) {
		var asked sdk.PermissionRequest
		host := &toolHost{ask: func(req sdk.PermissionRequest) error { asked = req; return nil }}
		if result, err := callTool(t, p, "ask", `{}`, host); err != nil || result.Output != "granted" || asked.Permission != "deploy" || asked.SessionID != "ses_1" {
			t.Errorf("%+v, %v, asked %+v", result, err, asked)
		}
		host.ask = func(sdk.PermissionRequest) error { return &sdk.Refusal{Reason: "no", By: "user"} }
		var refusal *sdk.Refusal
		if _, err := callTool(t, p, "ask", `{}`, host); !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, "no") {
			t.Error(err)
		}
	})
	t.Run("kv", func(t *testing.T) {
		if result, err := callTool(t, p, "kv", `{}`, nil); err != nil || result.Output != "vtrue" {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		host := &toolHost{progress: func(string, sdk.Object) { cancel() }}
		if _, err := toolOf(t, p, "wait").Execute(ctx, &sdk.ToolCall{SessionID: "s", Args: []byte("{}"), Host: host}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestPrepare(t *testing.T) { eachWire(t, testPrepare) }

func testPrepare(t *testing.T, w wire) {
	p := w.started(t, process.Options{}, "plain", nil)
	preparer, ok := toolOf(t, p, "deploy").(sdk.ToolPreparer)
	if !ok {
		t.Fatal("the tool does not prepare")
	}
	needs, err := preparer.Prepare(t.Context(), &sdk.ToolCall{Tool: "deploy", SessionID: "ses_1", Args: []byte(`{"to":"prod"}`)})
	if err != nil || len(needs) != 1 || needs[0].Permission != "deploy" || needs[0].Patterns[0] != "prod" {
		t.Errorf("%+v, %v", needs, err)
	}
	if _, err := preparer.Prepare(t.Context(), &sdk.ToolCall{Tool: "deploy", Args: []byte(`{}`)}); err == nil || err.Error() != "to: missing" {
		t.Error(err)
	}
	if _, ok := toolOf(t, p, "echo").(sdk.ToolPreparer); ok {
		t.Error("a tool that does not say so prepares")
	}
	if got := toolOf(t, p, "deploy").(sdk.ToolPermission).Permission(); got != "release" {
		t.Errorf("permission %q", got)
	}
	if got := toolOf(t, p, "deploy").(sdk.ToolDeadline).Deadline(); got != 3*time.Second {
		t.Errorf("deadline %s", got)
	}
}

// Of the events, the plugin sees those that were granted.
func TestEvents(t *testing.T) {
	t.Parallel()
	send := func(h *testHost, types ...string) {
		for _, typ := range types {
			h.events <- sdk.Event{ID: "e", Type: typ, Properties: sdk.Object{}}
		}
	}
	t.Run("granted", func(t *testing.T) {
		t.Parallel()
		h := &testHost{events: make(chan sdk.Event)}
		spec := guestSpec(t, "plain")
		spec.Grants = []sdk.Capability{{Name: sdk.CapabilityEvents, Scope: []string{"session.*"}}}
		p := started(t, process.Options{}, spec, h)
		go send(h, "file.edited", "session.idle", "message.updated", "session.status")
		if result, err := callTool(t, p, "events", `{}`, nil); err != nil || result.Output != "session.idle session.status" {
			t.Errorf("%+v, %v", result, err)
		}
	})
	t.Run("not granted", func(t *testing.T) {
		t.Parallel()
		told := make(chan string, 1)
		p := started(t, process.Options{}, guestSpec(t, "plain"), &testHost{log: slog.New(announce{slog.DiscardHandler, "no events", told})})
		if result, err := callTool(t, p, "events", `{}`, nil); err != nil || result.Output != "" {
			t.Errorf("%+v, %v", result, err)
		}
		<-told
	})
}

// The plugin's output and log are in the host's log.
func TestLog(t *testing.T) {
	t.Parallel()
	log := &logged{}
	p := started(t, process.Options{}, guestSpec(t, "plain"), &testHost{log: log.logger()})
	if _, err := callHook(t, p, "print"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`stream=stdout line="on stdout"`, `stream=stderr line="on stderr"`, `level=WARN msg=careful n=3 why="a test"`} {
		log.wait(t, want)
	}
}

// A line of a plugin stays one line and cannot control a terminal.
func TestLogIsClean(t *testing.T) {
	t.Parallel()
	told := make(chan string, 1)
	p := started(t, process.Options{}, guestSpec(t, "plain"), &testHost{
		log: slog.New(announce{slog.DiscardHandler, `fine WARN approved\u{1b}[31m`, told}),
	})
	if _, err := callHook(t, p, "forge"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-told:
	case <-time.After(30 * time.Second):
		t.Error("the line was not logged in a clean form")
	}
}

// Too many or too long lines are not logged.
func TestNoise(t *testing.T) {
	t.Parallel()
	log := &logged{}
	p := started(t, process.Options{}, guestSpec(t, "plain"), &testHost{log: log.logger()})
	began := time.Now()
	if _, err := callHook(t, p, "noise"); err != nil {
		t.Fatal(err)
	}
	log.wait(t, "stream=stdout")
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	most := 200 * (int(time.Since(began).Seconds()) + 2)
	if got := strings.Count(log.String(), "stream=stdout"); got > most {
		t.Errorf("%d lines logged, at most %d are to be", got, most)
	}
	for line := range strings.Lines(log.String()) {
		if len(line) > 5000 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

// An event that is too large for a message is left out.
func TestHugeEvents(t *testing.T) { eachWire(t, testHugeEvents) }

func testHugeEvents(t *testing.T, w wire) {
	h := &testHost{events: make(chan sdk.Event)}
	spec := guestSpec(t, "plain")
	spec.Grants = []sdk.Capability{{Name: sdk.CapabilityEvents, Scope: []string{"*"}}}
	p := w.startedWith(t, process.Options{}, spec, h)
	go func() {
		h.events <- sdk.Event{Type: "huge", Properties: sdk.Object{"x": strings.Repeat("x", 17<<20)}}
		h.events <- sdk.Event{Type: "one"}
		h.events <- sdk.Event{Type: "two"}
	}()
	result, err := callTool(t, p, "events", `{}`, nil)
	if err != nil || result.Output != "one two" {
		t.Errorf("%+v, %v", result, err)
	}
}

// A message that is too large is an error of the call, and the process continues.
func TestHugeMessages(t *testing.T) { eachWire(t, testHugeMessages) }

func testHugeMessages(t *testing.T, w wire) {
	p := w.started(t, process.Options{Restarts: -1}, "plain", nil)
	if _, err := callHook(t, p, "huge"); err == nil || !strings.Contains(err.Error(), "at most 16 MiB are passed on") {
		t.Errorf("error %.200v", err)
	}
	if _, err := callTool(t, p, "echo", `{"x":"`+strings.Repeat("x", 17<<20)+`"}`, nil); err == nil || !strings.Contains(err.Error(), "larger than the 16 MiB") {
		t.Errorf("error %.200v", err)
	}
	hook := p.(sdk.Hooker).Hooks()[0]
	value := json.RawMessage(`{"temperature":1,"options":{"x":"` + strings.Repeat("x", 17<<20) + `"}}`)
	_, err := hook.Remote.HandleRemote(t.Context(), &sdk.RemoteCall{Point: hook.Point, Hook: hook.Name, Input: json.RawMessage(`{}`), Value: value})
	if !errors.Is(err, hooks.ErrNotCalled) || !strings.Contains(err.Error(), "at most 16 MiB are passed on") {
		t.Errorf("error %.200v, want %v, which does not count against the plugin", err, hooks.ErrNotCalled)
	}
	if _, err := callTool(t, p, "steps", `{"huge":true}`, nil); err != nil && !strings.Contains(err.Error(), "larger than the 16 MiB") { // over gRPC, it is an error
		t.Errorf("a huge progress: %.200v", err)
	}
	if _, _, err := ask(t.Context(), clientOf(t, p, "acme", "k"), "huge"); err == nil || strings.Contains(err.Error(), "ended") {
		t.Errorf("a huge event of a model: %.200v, want an error of the call", err)
	}
	if _, err := callHook(t, p, "warm"); err != nil {
		t.Error(err)
	}
}

// The calls of a plugin that violates the contract fail, in bounded time.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ hook, tool string }{
		"rawtruncated": {"answer of the hook: unexpected end of JSON", "ended without a result"},
		"rawtypes":     {"answer of the hook: changes: want a list, have number", `want an object, have array: "[]"`},
		"rawclose":     {"the stream of hooks ended: EOF", ""},
		"rawstranger":  {"deadline exceeded", "ended without a result"},
		"rawdeaf":      {"deadline exceeded", "ended without a result"},
		"rawflood":     {"larger than the 16 MiB", "deadline exceeded"},
	}
	for kind, tt := range tests {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			spec := guestSpec(t, kind)
			spec.Description = rawDescription(kind)
			p := started(t, unbounded(), spec, nil)
			patience := func(want string) (context.Context, context.CancelFunc) {
				if want == "deadline exceeded" {
					return context.WithTimeout(t.Context(), time.Second)
				}
				return context.WithTimeout(t.Context(), time.Minute)
			}
			ctx, cancel := patience(tt.hook)
			defer cancel()
			if _, err := callHookIn(ctx, t, p, "warm"); err == nil || !strings.Contains(err.Error(), tt.hook) {
				t.Errorf("hook: %v, want %q", err, tt.hook)
			}
			if tt.tool == "" {
				return
			}
			ctx, cancel = patience(tt.tool)
			defer cancel()
			_, err := toolOf(t, p, "echo").Execute(ctx, &sdk.ToolCall{SessionID: "s", Args: []byte(`{}`), Host: &toolHost{}})
			if err == nil || !strings.Contains(err.Error(), tt.tool) {
				t.Errorf("tool: %v, want %q", err, tt.tool)
			}
		})
	}
}

// An answer without the permissions of a tool call is an error: the call must not run without permission.
func TestEmptyPrepare(t *testing.T) {
	t.Parallel()
	spec := guestSpec(t, "rawprepare")
	spec.Description = rawDescription("rawprepare")
	preparer := toolOf(t, started(t, unbounded(), spec, nil), "deploy").(sdk.ToolPreparer)
	if needs, err := preparer.Prepare(t.Context(), &sdk.ToolCall{Args: []byte(`{"to":"prod"}`)}); !errors.Is(err, sdk.ErrWire) {
		t.Errorf("permissions %+v, error %v", needs, err)
	}
}

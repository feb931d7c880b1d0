package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/mcp"
	"github.com/tenonhq/tenon/sdk"
)

// intercepting returns an engine that calls the interceptors of a server, which are given as JSON.
func intercepting(t testing.TB, interceptors string, env ...string) (*hooks.Engine, *testHost) {
	t.Helper()
	h, o := newTestHost(t), mcp.Options{Dir: t.TempDir()}
	s := fake(t, "plain", append(env, "INTERCEPTORS="+interceptors)...)
	definition, err := mcp.Probe(t.Context(), s, h.project, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := mcp.Approve(mcp.FilePins(o.Dir), s, definition); err != nil {
		t.Fatal(err)
	}
	return engine(t, start(t, h, s, o)), h
}

func engine(t testing.TB, p *mcp.Plugin) *hooks.Engine {
	t.Helper()
	m := p.Manifest()
	e, err := hooks.New(hooks.Options{
		Logger:  slog.New(slog.DiscardHandler),
		Plugins: []hooks.Plugin{{Name: m.Name, Carrier: m.Carrier, Hooks: p.Hooks()}},
		// The first hooks wait until the server has started.
		Overrides: map[string]sdk.HookOverride{m.Name: {Timeout: sdk.MaxHookTimeout.Milliseconds()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return e
}

func before(t testing.TB, e *hooks.Engine, args sdk.Object) (sdk.Object, hooks.Result, error) {
	t.Helper()
	v := &sdk.ToolBeforeValue{Args: args}
	in := &sdk.ToolInput{Tool: "echo", SessionID: "ses_1", CallID: "call_1", Agent: "build"}
	r, err := e.Transform(t.Context(), sdk.PointToolBefore, hooks.Scope{}, in, v)
	return v.Args, r, err
}

func after(t testing.TB, e *hooks.Engine, output string) (*sdk.ToolAfterValue, error) {
	t.Helper()
	v := &sdk.ToolAfterValue{Output: output, Attachments: []*sdk.FilePart{{Mime: "image/png", URL: "data:,"}}}
	in := &sdk.ToolAfterInput{ToolInput: sdk.ToolInput{Tool: "echo", SessionID: "ses_1", CallID: "call_1"}, Outcome: sdk.OutcomeOK}
	_, err := e.Transform(t.Context(), sdk.PointToolAfter, hooks.Scope{}, in, v)
	return v, err
}

func permit(t testing.TB, e *hooks.Engine, args string) (hooks.Result, error) {
	t.Helper()
	return e.Gate(t.Context(), sdk.PointPermissionAsk, hooks.Scope{}, &sdk.PermissionRequest{
		SessionID: "ses_1", Permission: "key", Args: json.RawMessage(args), Tool: &sdk.CallRef{MessageID: "m", CallID: "call_1", ID: "echo"},
	})
}

func TestMutations(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "invoked")
	e, h := intercepting(t, `[
		{"name":"append-B","type":"mutation","hook":{"events":["tools/call"],"phase":"both"},"priorityHint":5},
		{"name":"append-A","type":"mutation","hook":{"events":["*/request"],"phase":"request"},"priorityHint":{"request":5}},
		{"name":"append-first","type":"mutation","hook":{"events":["tools/call"],"phase":"request"},"priorityHint":-1},
		{"name":"append-audit","type":"mutation","mode":"audit","hook":{"events":["*"],"phase":"request"}},
		{"name":"redact","type":"mutation","hook":{"events":["*"],"phase":"response"}}]`, "INVOKED="+log)
	args, _, err := before(t, e, sdk.Object{"text": "END", "deep": map[string]any{"n": 1.0}})
	if err != nil || args["text"] != "-first-A-BEND" || args["deep"].(map[string]any)["n"] != 1.0 {
		t.Errorf("args = %v, %v", args, err)
	}
	v, err := after(t, e, "the secret END")
	if err != nil || v.Output != "the [redacted] -BEND" || len(v.Attachments) != 1 {
		t.Errorf("output = %q, %v", v.Output, err)
	}
	text := &sdk.TextCompleteValue{Text: "a secret"}
	if _, err := e.Transform(t.Context(), sdk.PointTextComplete, hooks.Scope{}, &sdk.TextCompleteInput{SessionID: "ses_1"}, text); err != nil || text.Text != "a [redacted]" {
		t.Errorf("text = %q, %v", text.Text, err)
	}
	if first := linesWith(t, log, "append-first"); len(first) != 1 || !strings.Contains(first[0], `"sessionId":"ses_1"`) || !strings.Contains(first[0], `"timeoutMs":`) ||
		!strings.Contains(first[0], `{"name":"echo","arguments":{`) {
		t.Errorf("the interceptor got %q", first)
	}
	if audit := linesWith(t, log, "append-audit"); len(audit) == 0 {
		t.Error("the interceptor in audit mode was not called")
	}
	if !strings.Contains(h.log.String(), "would have changed") || strings.Contains(h.log.String(), "END") {
		t.Errorf("the log lacks the change in audit mode, or has its text: %s", h.log.String())
	}
}

func TestValidations(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "invoked")
	e, h := intercepting(t, `[
		{"name":"deny-1","type":"validation","hook":{"events":["tools/call"],"phase":"both"}},
		{"name":"deny-2","type":"validation","hook":{"events":["tools/call"],"phase":"request"}},
		{"name":"warn","type":"validation","hook":{"events":["tools/call"],"phase":"request"}},
		{"name":"crash open","type":"validation","failOpen":true,"hook":{"events":["tools/call"],"phase":"request"}},
		{"name":"deny-audit","type":"validation","mode":"audit","hook":{"events":["tools/call"],"phase":"both"}}]`, "INVOKED="+log)
	if _, _, err := before(t, e, sdk.Object{}); err != nil {
		t.Fatal(err)
	}
	if r, err := permit(t, e, `{"a":1}`); err != nil || r.Verdict != sdk.VerdictAbstain {
		t.Errorf("verdict = %+v, %v", r, err)
	}
	if r, err := permit(t, e, `{"a":"forbidden"}`); err != nil || r.Verdict != sdk.VerdictDeny || r.Reason != "deny-1: arguments: no; deny-2: arguments: no" {
		t.Errorf("verdict = %+v, %v", r, err)
	}
	if got := linesWith(t, log, `"name":"echo"`); len(got) == 0 {
		t.Error("the interceptors were not told which tool it is")
	}
	if v, err := after(t, e, "forbidden fruit"); err != nil || v.Output != "[withheld: deny-1: arguments: no]" || len(v.Attachments) != 0 {
		t.Errorf("result = %+v, %v", v, err)
	}
	for _, want := range []string{"crash open", "would have refused", "hm"} {
		if !strings.Contains(h.log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, h.log.String())
		}
	}
}

// The failure of an interceptor that must not fail denies the call, or stops the turn where nothing can be denied. Changes
// before it is taken back.
func TestFailedInterceptors(t *testing.T) {
	t.Parallel()
	e, _ := intercepting(t, `[
		{"name":"append-A","type":"mutation","hook":{"events":["*"],"phase":"both"}},
		{"name":"crash","type":"mutation","hook":{"events":["*"],"phase":"both"},"priorityHint":9}]`)
	args, r, err := before(t, e, sdk.Object{"text": "END"})
	if err != nil || r.Verdict != sdk.VerdictDeny || args["text"] != "END" || !strings.Contains(r.Reason, "interceptor crashed") {
		t.Errorf("args = %v, %+v, %v", args, r, err)
	}
	var failed *hooks.Error
	if v, err := after(t, e, "END"); !errors.As(err, &failed) || v.Output != "END" {
		t.Errorf("output = %q, %v, want an error that stops the turn", v.Output, err)
	}
}

func TestMutationsThatDoNotFit(t *testing.T) {
	t.Parallel()
	e, _ := intercepting(t, `[{"name":"rename","type":"mutation","hook":{"events":["tools/call"],"phase":"request"}}]`)
	if _, r, err := before(t, e, sdk.Object{"text": "x"}); err != nil || r.Verdict != sdk.VerdictDeny || !strings.Contains(r.Reason, "cannot be replaced by another") {
		t.Errorf("result = %+v, %v", r, err)
	}
}

// TestHostileMutations checks that what an interceptor returns is within the bounds of every plugin's answer.
func TestHostileMutations(t *testing.T) {
	t.Parallel()
	for kind, reason := range map[string]string{
		"deep":       "nested deeper than 256 levels",
		"bottomless": "nested deeper than 256 levels",
		"huge":       "a message of more than 16 MiB",
		"keys":       "changes; the limit is 4096",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e, _ := intercepting(t, `[{"name":"hostile-`+kind+`","type":"mutation","hook":{"events":["tools/call"],"phase":"request"}}]`)
			args, r, err := before(t, e, sdk.Object{"text": "END"})
			if err != nil || r.Verdict != sdk.VerdictDeny || len(args) != 1 || args["text"] != "END" {
				t.Errorf("%d arguments, %.300s %v, want a denial and the arguments as they were", len(args), r.Reason, err)
			}
			if !strings.Contains(r.Reason, reason) && !strings.Contains(r.Reason, "timed out") { // the deadline includes the checks
				t.Errorf("reason %.300q, want %q", r.Reason, reason)
			}
		})
	}
}

func TestModelRequests(t *testing.T) {
	t.Parallel()
	e, _ := intercepting(t, `[{"name":"redact","type":"mutation","hook":{"events":["llm/completion"],"phase":"request"}},
		{"name":"deny","type":"validation","hook":{"events":["llm/completion"],"phase":"request"}}]`)
	in := &sdk.ChatInput{SessionID: "ses_1", Model: sdk.Model{ID: "m", ProviderID: "p"}, Purpose: sdk.PurposeTurn}
	system := &sdk.ChatSystemValue{System: []string{"keep the secret", "other"}}
	if _, err := e.Transform(t.Context(), sdk.PointChatSystem, hooks.Scope{}, in, system); err != nil || system.System[0] != "keep the [redacted]" {
		t.Errorf("system = %q, %v", system.System, err)
	}
	head := sdk.PartHead{ID: "prt_1", SessionID: "ses_1", MessageID: "msg_1"}
	messages := &sdk.ChatMessagesValue{Messages: []sdk.MessageWithParts{
		{Info: &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: "msg_1"}}, Parts: sdk.Parts{&sdk.TextPart{PartHead: head, Text: "my secret"}, &sdk.TextPart{PartHead: head, Text: "plain"}}},
		{Info: &sdk.AssistantMessage{MessageHead: sdk.MessageHead{ID: "msg_2"}}, Parts: sdk.Parts{&sdk.ToolPart{
			PartHead: head, CallID: "c", Tool: "read", State: sdk.ToolState{Status: sdk.ToolCompleted, Input: json.RawMessage(`{"secret":1}`), Output: "secret output"},
		}}},
	}}
	if _, err := e.Transform(t.Context(), sdk.PointChatMessages, hooks.Scope{}, in, messages); err != nil {
		t.Fatal(err)
	}
	if got := messages.Messages[0].Parts[0].(*sdk.TextPart).Text; got != "my [redacted]" {
		t.Errorf("text = %q", got)
	}
	if got := messages.Messages[1].Parts[0].(*sdk.ToolPart).State; got.Output != "[redacted] output" || string(got.Input) != `{"secret":1}` {
		t.Errorf("state = %+v", got)
	}
	params := &sdk.ChatParams{MaxOutputTokens: 10}
	if _, err := e.Transform(t.Context(), sdk.PointChatParams, hooks.Scope{}, in, params); err != nil || params.MaxOutputTokens != 10 {
		t.Errorf("params = %+v, %v", params, err)
	}
	system.System = []string{"forbidden"}
	if _, err := e.Transform(t.Context(), sdk.PointChatSystem, hooks.Scope{}, in, system); err == nil || !strings.Contains(err.Error(), "deny: ") {
		t.Errorf("error = %v, want that the request was refused", err)
	}
}

// Every hook point is an event of our own.
func TestOwnEvents(t *testing.T) {
	t.Parallel()
	e, _ := intercepting(t, `[{"name":"redact","type":"mutation","hook":{"events":["tenon/shell.env","tenon/chat.message"],"phase":"request"}},
		{"name":"deny","type":"validation","hook":{"events":["tenon/tool.execute.before"],"phase":"request"}}]`)
	v := &sdk.ShellEnvValue{Env: map[string]string{"TOKEN": "secret", "A": "b"}}
	if _, err := e.Transform(t.Context(), sdk.PointShellEnv, hooks.Scope{}, &sdk.ShellEnvInput{Cwd: "/"}, v); err != nil || v.Env["TOKEN"] != "[redacted]" || v.Env["A"] != "b" {
		t.Errorf("env = %v, %v", v.Env, err)
	}
	if _, r, err := before(t, e, sdk.Object{"a": "forbidden"}); err != nil || r.Verdict != sdk.VerdictDeny {
		t.Errorf("result = %+v, %v", r, err)
	}
	if _, h := intercepting(t, `[{"name":"deny-never","type":"validation","hook":{"events":["prompts/get"],"phase":"request"}}]`); !strings.Contains(h.log.String(), "deny-never") {
		t.Error("no notice that an interceptor is never called")
	}
	if e.Has(sdk.PointToolAfter) || e.Has(sdk.PointTextComplete) {
		t.Error("there are unexpected hooks")
	}
}

// A tool that the configuration makes a hook.
func TestToolAsHook(t *testing.T) {
	t.Parallel()
	s := fake(t, "plain")
	s.Hooks = []sdk.MCPHookConfig{{
		Tool:            "hook",
		HookDescription: sdk.HookDescription{Point: "tool.execute.after", Reads: []string{"/output"}, Writes: []string{"/output"}, OnError: sdk.OnErrorStop},
	}}
	e := engine(t, ready(t, newTestHost(t), s))
	if v, err := after(t, e, "a secret"); err != nil || v.Output != "a ******" || len(v.Attachments) != 1 {
		t.Errorf("result = %+v, %v", v, err)
	}
	s.Hooks[0].Tool = "fails"
	e = engine(t, ready(t, newTestHost(t), s))
	if _, err := after(t, e, "a secret"); err == nil || !strings.Contains(err.Error(), "it went wrong") {
		t.Errorf("error = %v", err)
	}
	s.Hooks[0].Point = "nowhere"
	if err := mcp.New(s, mcp.Options{}).Start(t.Context(), newTestHost(t)); err == nil || !strings.Contains(err.Error(), `hooks[0].point`) {
		t.Errorf("error = %v", err)
	}
}

// Interceptors that changed since they were approved are not called, and the call they guard does not pass.
func TestChangedInterceptor(t *testing.T) {
	t.Parallel()
	h, o := newTestHost(t), mcp.Options{Dir: t.TempDir()}
	s := fake(t, "plain", `INTERCEPTORS=[{"name":"deny","type":"validation","hook":{"events":["tools/call"],"phase":"request"}}]`)
	definition, err := mcp.Probe(t.Context(), s, h.project, o)
	if err != nil {
		t.Fatal(err)
	}
	definition.Interceptors[0].Description = "what it was"
	if err := mcp.Approve(mcp.FilePins(o.Dir), s, definition); err != nil {
		t.Fatal(err)
	}
	definition.Interceptors[0].Hooks[0].Events = []string{"tools/call", "llm/completion"}
	p := start(t, h, s, o)
	eventually(t, "withheld", func() bool { return len(p.Status().Withheld) > 2 })
	if r, err := permit(t, engine(t, p), `{}`); err != nil || r.Verdict != sdk.VerdictDeny || !strings.Contains(r.Reason, "not what was approved") {
		t.Errorf("verdict = %+v, %v", r, err)
	}
}

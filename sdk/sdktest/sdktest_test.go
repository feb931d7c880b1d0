package sdktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundle makes a plugin of hooks.
func bundle(hooks ...sdk.Hook) *sdk.Bundle {
	return &sdk.Bundle{Info: sdk.Manifest{Name: "test", Carrier: sdk.CarrierBuiltin}, HookList: hooks}
}

// system is a hook at chat.system.transform.
func system(f func(v *sdk.ChatSystemValue) error) sdk.Hook {
	return sdk.OnChatSystem(func(_ context.Context, _ *sdk.ChatInput, v *sdk.ChatSystemValue) error { return f(v) })
}

// appends adds a line.
func appends(name, line string, priority int) sdk.Hook {
	h := system(func(v *sdk.ChatSystemValue) error { v.System = append(v.System, line); return nil })
	h.Name, h.Priority = name, priority
	return h
}

// remoteFunc is a hook behind a carrier.
type remoteFunc func(ctx context.Context, call *sdk.RemoteCall) (sdk.Answer, error)

func (f remoteFunc) HandleRemote(ctx context.Context, call *sdk.RemoteCall) (sdk.Answer, error) {
	return f(ctx, call)
}

func remote(h sdk.Hook, f remoteFunc) sdk.Hook {
	h.Handler, h.Remote = nil, f
	return h
}

func TestFireCallsInOrder(t *testing.T) {
	t.Parallel()
	h := sdktest.Start(t, bundle(appends("a", "second", 1), appends("b", "third", 1), appends("c", "first", -1)), sdktest.Options{})
	v := &sdk.ChatSystemValue{System: []string{"zero"}}
	answer, err := h.Fire(t.Context(), sdk.PointChatSystem, &sdk.ChatInput{}, v)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"zero", "first", "second", "third"}, v.System); diff != "" {
		t.Errorf("system (-want +got):\n%s", diff)
	}
	want := []sdk.Change{{Pointer: "/system/1", Value: json.RawMessage(`"first"`)}, {Pointer: "/system/2", Value: json.RawMessage(`"second"`)}, {Pointer: "/system/3", Value: json.RawMessage(`"third"`)}}
	if diff := cmp.Diff(want, answer.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// TestFields: a hook sees what it reads and changes what it writes, in this process and behind a carrier.
func TestFields(t *testing.T) {
	t.Parallel()
	for name, carry := range map[string]func(sdk.Hook, *sdk.ToolBeforeValue) sdk.Hook{
		"handler": func(h sdk.Hook, _ *sdk.ToolBeforeValue) sdk.Hook { return h },
		"remote": func(h sdk.Hook, seen *sdk.ToolBeforeValue) sdk.Hook {
			return remote(h, func(_ context.Context, call *sdk.RemoteCall) (sdk.Answer, error) {
				err := json.Unmarshal(call.Value, seen)
				return sdk.Answer{Changes: []sdk.Change{
					{Pointer: "/args/a", Value: json.RawMessage("2")}, {Pointer: "/args/b", Value: json.RawMessage("3")},
					{Pointer: "/args/new", Value: json.RawMessage(`{"x~/": 4, "y": 5}`)},
				}}, err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen sdk.ToolBeforeValue
			hook := sdk.OnToolBefore(func(_ context.Context, _ *sdk.ToolInput, v *sdk.ToolBeforeValue) error {
				seen.Args = v.Args.Clone()
				v.Args["a"], v.Args["b"], v.Args["new"] = 2, 3, sdk.Object{"x~/": 4, "y": 5}
				return nil
			})
			hook.Reads, hook.Writes = []string{"/args/a"}, []string{"/args/a", "/args/new/x~0~1"}
			h := sdktest.Start(t, bundle(carry(hook, &seen)), sdktest.Options{})
			v := &sdk.ToolBeforeValue{Args: sdk.Object{"a": 1.0, "b": 1.0, "secret": "s"}}
			if _, err := h.Fire(t.Context(), sdk.PointToolBefore, &sdk.ToolInput{}, v); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sdk.Object{"a": 1.0}, seen.Args); diff != "" {
				t.Errorf("the hook saw (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(`{"args":{"a":2,"b":1,"new":{"x~/":4},"secret":"s"}}`, toJSON(t, v)); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"/args/b", "/args/new/y"}, h.Dropped()); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
		})
	}
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	gate := func(name string, v sdk.Verdict) sdk.Hook {
		h := sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) {
			return sdk.Decision{Verdict: v, Reason: name}, nil
		})
		h.Name = name
		return h
	}
	stop := func(name, message string) sdk.Hook {
		h := sdk.OnTurnStop(func(context.Context, *sdk.TurnStopInput) (sdk.StopDecision, error) {
			return sdk.StopDecision{Continue: message != "", Message: message, Reason: name}, nil
		})
		h.Name = name
		return h
	}
	cases := map[string]struct {
		hooks []sdk.Hook
		point sdk.Point
		input any
		want  sdk.Answer
	}{
		"no hook answers": {[]sdk.Hook{gate("a", "")}, sdk.PointPermissionAsk, &sdk.PermissionRequest{}, sdk.Answer{}},
		"the strictest": {
			[]sdk.Hook{gate("a", sdk.VerdictAllow), gate("b", sdk.VerdictDeny), gate("c", sdk.VerdictAsk)}, sdk.PointPermissionAsk,
			&sdk.PermissionRequest{}, sdk.Answer{Verdict: sdk.VerdictDeny, Reason: "b"},
		},
		"two of one mind": {
			[]sdk.Hook{gate("a", sdk.VerdictAsk), gate("b", ""), gate("c", sdk.VerdictAsk)}, sdk.PointPermissionAsk,
			&sdk.PermissionRequest{}, sdk.Answer{Verdict: sdk.VerdictAsk, Reason: "a; c"},
		},
		"go on": {
			[]sdk.Hook{stop("a", "more"), stop("b", ""), stop("c", "and more")}, sdk.PointTurnStop,
			&sdk.TurnStopInput{}, sdk.Answer{Verdict: sdk.VerdictContinue, Reason: "a; c", Message: "more\n\nand more"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := sdktest.Start(t, bundle(c.hooks...), sdktest.Options{}).Fire(t.Context(), c.point, c.input, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefusal: a transform that refuses changes nothing, and no later hook is called.
func TestRefusal(t *testing.T) {
	t.Parallel()
	refuses := sdk.OnToolBefore(func(_ context.Context, _ *sdk.ToolInput, v *sdk.ToolBeforeValue) error {
		v.Args["a"] = 1
		return sdk.Halt("enough")
	})
	later := sdk.OnToolBefore(func(context.Context, *sdk.ToolInput, *sdk.ToolBeforeValue) error {
		t.Error("a hook was called after the call was refused")
		return nil
	})
	later.Name = "later"
	v := &sdk.ToolBeforeValue{Args: sdk.Object{}}
	got, err := sdktest.Start(t, bundle(refuses, later), sdktest.Options{}).Fire(t.Context(), sdk.PointToolBefore, &sdk.ToolInput{}, v)
	if err != nil || got.Verdict != sdk.VerdictHalt || got.Reason != "enough" || len(v.Args) > 0 {
		t.Errorf("Fire = %+v, %v with %v, want a halt that changes nothing", got, err, v.Args)
	}
}

func TestFireErrors(t *testing.T) {
	t.Parallel()
	slow := system(func(*sdk.ChatSystemValue) error { return nil })
	slow.Timeout = time.Millisecond
	slow = remote(slow, func(ctx context.Context, _ *sdk.RemoteCall) (sdk.Answer, error) {
		<-ctx.Done()
		return sdk.Answer{}, ctx.Err()
	})
	answers := func(a sdk.Answer) sdk.Hook {
		return remote(system(nil), func(context.Context, *sdk.RemoteCall) (sdk.Answer, error) { return a, nil })
	}
	cases := map[string]struct {
		hook  sdk.Hook
		point sdk.Point
		value any
		want  string
	}{
		"error":         {system(func(*sdk.ChatSystemValue) error { return errors.New("no luck") }), sdk.PointChatSystem, &sdk.ChatSystemValue{}, "plugin test: hook chat.system.transform: no luck"},
		"panic":         {system(func(*sdk.ChatSystemValue) error { panic("oh") }), sdk.PointChatSystem, &sdk.ChatSystemValue{}, "panicked: oh"},
		"deadline":      {slow, sdk.PointChatSystem, &sdk.ChatSystemValue{}, "deadline exceeded"},
		"denial":        {answers(sdk.Answer{Verdict: sdk.VerdictDeny}), sdk.PointChatSystem, &sdk.ChatSystemValue{}, "no meaning"},
		"bad change":    {answers(sdk.Answer{Changes: []sdk.Change{{Pointer: "/system", Value: json.RawMessage("1")}}}), sdk.PointChatSystem, &sdk.ChatSystemValue{}, "/system"},
		"no hook":       {system(nil), sdk.PointChatParams, &sdk.ChatParams{}, "has no hook"},
		"no point":      {system(nil), "chat.nothing", nil, "unknown hook point"},
		"wrong value":   {system(nil), sdk.PointChatSystem, &sdk.ChatParams{}, "the value is"},
		"missing value": {system(nil), sdk.PointChatSystem, nil, "the value is"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := sdktest.Start(t, bundle(c.hook), sdktest.Options{}).Fire(t.Context(), c.point, &sdk.ChatInput{}, c.value)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Fire = %v, want %q", err, c.want)
			}
		})
	}
}

// TestHost has a plugin ask for everything.
func TestHost(t *testing.T) {
	t.Parallel()
	b := bundle()
	b.OnStart = func(ctx context.Context, h sdk.Host) error {
		h.Logger().With("a", 1).WithGroup("g").Warn("careful", "b", "two", slog.Group("h", "c", 3))
		kv := h.(sdk.KeyValue)
		value, found, err := kv.Get(ctx, "old")
		if err != nil || !found || string(value) != "1" {
			t.Errorf("Get = %q, %t, %v", value, found, err)
		}
		if err := errors.Join(kv.Set(ctx, "new/b", []byte("2")), kv.Set(ctx, "new/a", nil), kv.Delete(ctx, "old")); err != nil {
			t.Error(err)
		}
		if keys, err := kv.Keys(ctx, "new/"); err != nil || !slices.Equal(keys, []string{"new/a", "new/b"}) {
			t.Errorf("Keys = %v, %v", keys, err)
		}
		secrets := h.(sdk.SecretReader)
		if s, err := secrets.Secret(ctx, "TOKEN"); err != nil || s != "t" {
			t.Errorf("Secret = %q, %v", s, err)
		}
		if _, err := secrets.Secret(ctx, "OTHER"); !errors.Is(err, sdk.ErrNotGranted) {
			t.Errorf("Secret = %v, want %v", err, sdk.ErrNotGranted)
		}
		fetcher := h.(sdk.Fetcher)
		if r, err := fetcher.Fetch(ctx, &sdk.FetchRequest{URL: "https://example.org"}); err != nil || r.Status != 204 {
			t.Errorf("Fetch = %+v, %v", r, err)
		}
		if _, err := fetcher.Fetch(ctx, &sdk.FetchRequest{URL: "https://example.org"}); err == nil {
			t.Error("Fetch behind the end of the list gave an answer")
		}
		if r, err := h.(sdk.ToolCaller).CallTool(ctx, sdk.ToolRequest{Tool: "helper"}); err != nil || r.Output != "helped" {
			t.Errorf("CallTool = %+v, %v", r, err)
		}
		if _, err := h.(sdk.UserQuestioner).AskUser(ctx, "s", []sdk.Question{{Header: "q"}}); !errors.Is(err, sdk.ErrHeadless) {
			t.Errorf("AskUser = %v, want %v", err, sdk.ErrHeadless)
		}
		if _, err := h.(sdk.Sampler).Sample(ctx, sdk.SampleRequest{System: "s"}); err == nil {
			t.Error("Sample without a model gave an answer")
		}
		var refusal *sdk.Refusal
		if err := h.(sdk.Asker).AskPermission(ctx, sdk.PermissionRequest{Permission: "deploy"}); !errors.As(err, &refusal) {
			t.Errorf("AskPermission = %v, want a refusal", err)
		}
		return nil
	}
	h := sdktest.Start(t, b, sdktest.Options{
		Values: map[string][]byte{"old": []byte("1")}, Secrets: map[string]string{"TOKEN": "t"},
		Fetch: sdktest.Responses(sdk.FetchResponse{Status: 204}),
		Tool: func(context.Context, sdk.ToolRequest) (*sdk.ToolResult, error) {
			return &sdk.ToolResult{Output: "helped"}, nil
		},
		Ask: func(sdk.PermissionRequest) error { return &sdk.Refusal{Reason: "no"} },
	})
	if diff := cmp.Diff([]sdktest.Log{{Level: slog.LevelWarn, Message: "careful", Attrs: map[string]any{"a": 1.0, "g": map[string]any{"b": "two", "h": map[string]any{"c": 3.0}}}}}, h.Logs()); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]byte{"new/a": nil, "new/b": []byte("2")}, h.Values()); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if len(h.Fetched()) != 2 || len(h.Called()) != 1 || len(h.Questions()) != 1 || len(h.Sampled()) != 1 || len(h.Asked()) != 1 {
		t.Errorf("kept %d fetches, %d calls, %d questions, %d samples, %d permissions", len(h.Fetched()), len(h.Called()), len(h.Questions()), len(h.Sampled()), len(h.Asked()))
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	h := sdktest.New(bundle(), sdktest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	events := h.Events(ctx, 2)
	for _, id := range []string{"a", "b", "c"} {
		h.Publish(sdk.Event{ID: id})
	}
	cancel()
	var got []string
	for e := range events {
		got = append(got, e.ID)
	}
	if diff := cmp.Diff([]string{"b", "c"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// prepared is a tool with a permission key and requests of its own.
type prepared struct{ sdk.Tool }

func (prepared) Prepare(_ context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	return []sdk.PermissionRequest{{Permission: "edit", Patterns: []string{string(call.Args)}}}, nil
}

func (prepared) Deadline() time.Duration { return time.Hour }

func TestCall(t *testing.T) {
	t.Parallel()
	b := bundle()
	write := sdk.FuncTool(sdk.ToolDefinition{ID: "write"}, func(ctx context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		call.Host.Progress("half", sdk.Object{"n": 1})
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) < 30*time.Minute {
			t.Errorf("deadline = %s, want the tool's own", deadline)
		}
		if _, err := call.Host.(sdk.MessageReader).Messages(ctx); err != nil {
			t.Error(err)
		}
		return &sdk.ToolResult{Output: call.SessionID + " " + string(call.Args)}, nil
	})
	breaks := sdk.FuncTool(sdk.ToolDefinition{ID: "breaks"}, func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) { panic("oh") })
	nothing := sdk.FuncTool(sdk.ToolDefinition{ID: "nothing"}, func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) { return nil, nil })
	b.ToolList = []sdk.Tool{prepared{write}, breaks, nothing}
	h := sdktest.Start(t, b, sdktest.Options{Ask: func(req sdk.PermissionRequest) error {
		if slices.Contains(req.Patterns, `{"path":"b"}`) {
			return &sdk.Refusal{Reason: "not b"}
		}
		return nil
	}})
	result, err := h.Call(t.Context(), "write", map[string]string{"path": "a"})
	if err != nil || result.Output != `ses_test {"path":"a"}` {
		t.Errorf("Call = %+v, %v", result, err)
	}
	if diff := cmp.Diff([]sdktest.Progress{{Title: "half", Metadata: sdk.Object{"n": 1}}}, h.Progress()); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if asked := h.Asked(); len(asked) != 1 || asked[0].Permission != "edit" || asked[0].Tool.CallID != sdktest.CallID {
		t.Errorf("asked for %+v", asked)
	}
	for tool, want := range map[string]string{"write": "not b", "breaks": "panicked: oh", "nothing": "neither", "other": `no tool "other"`} {
		if _, err := h.Call(t.Context(), tool, map[string]string{"path": "b"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Call(%s) = %v, want %q", tool, err, want)
		}
	}
}

// TestStartFails: a plugin that does not start fails the test that starts it.
func TestStartFails(t *testing.T) {
	t.Parallel()
	b := bundle()
	b.OnStart = func(context.Context, sdk.Host) error { return io.ErrUnexpectedEOF }
	if err := sdktest.New(b, sdktest.Options{}).Start(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Start = %v", err)
	}
}

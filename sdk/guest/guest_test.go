package guest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// shout is a plugin with a hook of each kind and two tools.
func shout() *sdk.Bundle {
	system := sdk.OnChatSystem(func(_ context.Context, in *sdk.ChatInput, v *sdk.ChatSystemValue) error {
		if in.Agent == "quiet" {
			return nil
		}
		v.System[0] = strings.ToUpper(v.System[0])
		return nil
	})
	named := sdk.OnToolBefore(func(_ context.Context, in *sdk.ToolInput, v *sdk.ToolBeforeValue) error {
		if v.Args["command"] == "rm" {
			return sdk.Deny("not here")
		}
		v.Args["command"] = "echo <" + fmt.Sprint(v.Args["command"]) + ">"
		delete(v.Args, "old")
		return nil
	})
	named.Name, named.Timeout, named.Reads = "wrap", 3*time.Second, []string{"/args"}
	gate := sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) {
		return sdk.Decision{Verdict: sdk.VerdictAsk, Reason: "who knows"}, nil
	})
	broken := sdk.OnEvent(func(context.Context, *sdk.Event) error { return errors.New("no events please") })
	run := func(_ context.Context, call *sdk.ToolCall) (*sdk.ToolResult, error) {
		call.Host.Progress("half way", sdk.Object{"n": 1.0})
		return &sdk.ToolResult{Title: call.CallID, Output: string(call.Args)}, nil
	}
	return &sdk.Bundle{
		Info: sdk.Manifest{
			Name: "shout", Version: "1.2.3", Description: "speaks up", Carrier: sdk.CarrierWASM,
			Capabilities: []sdk.Capability{{Name: sdk.CapabilityKV}}, Options: json.RawMessage(`{"type":"object"}`),
		},
		HookList: []sdk.Hook{system, named, gate, broken},
		ToolList: []sdk.Tool{
			sdk.FuncTool(sdk.ToolDefinition{ID: "say", Description: "says it", Parameters: json.RawMessage(`{"type":"object"}`)}, run),
			careful{sdk.FuncTool(sdk.ToolDefinition{ID: "think", Parameters: json.RawMessage(`{}`)}, func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
				return nil, nil
			})},
		},
	}
}

// careful is a tool with everything a tool may say of itself.
type careful struct{ sdk.Tool }

func (careful) Permission() string      { return "edit" }
func (careful) Deadline() time.Duration { return time.Second }
func (careful) Prepare(context.Context, *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	return []sdk.PermissionRequest{{Permission: "edit", Patterns: []string{"*.go"}}}, nil
}

// hosted is a tool that calls the host while it lists its permissions.
type hosted struct{ sdk.Tool }

func (hosted) Prepare(_ context.Context, call *sdk.ToolCall) ([]sdk.PermissionRequest, error) {
	call.Host.Progress("reading", nil)
	return nil, nil
}

func TestPrepareHasHost(t *testing.T) {
	t.Parallel()
	tool := sdk.FuncTool(sdk.ToolDefinition{ID: "say", Parameters: json.RawMessage(`{}`)}, nil)
	g := guest.New(&sdk.Bundle{Info: sdk.Manifest{Name: "p"}, ToolList: []sdk.Tool{hosted{tool}}})
	if err := g.Start(t.Context(), &guest.StartRequest{Tools: []string{"say"}}, nil); err != nil {
		t.Fatal(err)
	}
	var asked []string
	side := &guest.Side{Log: slog.New(slog.DiscardHandler), Call: func(_ context.Context, op string, _ []byte) (guest.Status, []byte, error) {
		asked = append(asked, op)
		return guest.StatusOK, []byte("{}"), nil
	}}
	if _, err := g.Answer(t.Context(), &guest.Request{Method: "prepare", Body: json.RawMessage(`{}`)}, side); err != nil || len(asked) != 1 {
		t.Errorf("asked %q of the host, %v", asked, err)
	}
}

func started(t testing.TB) *guest.Guest {
	t.Helper()
	g := guest.New(shout())
	err := g.Start(t.Context(), &guest.StartRequest{
		Hooks: []guest.HookRef{
			{Point: sdk.PointToolBefore, Name: "wrap"}, {Point: sdk.PointChatSystem, Name: "chat.system.transform"},
			{Point: sdk.PointPermissionAsk, Name: "permission.ask"}, {Point: sdk.PointEvent, Name: "event"},
		},
		Tools: []string{"think", "say"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	d, err := guest.New(shout()).Describe()
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != "shout" || d.Version != "1.2.3" || d.Summary != "speaks up" || len(d.Capabilities) != 1 || string(d.Options) != `{"type":"object"}` {
		t.Errorf("Describe() = %+v", d)
	}
	if want := (sdk.HookDescription{Point: "tool.execute.before", Name: "wrap", Reads: []string{"/args"}, Writes: []string{""}, TimeoutMS: 3000}); cmp.Diff(want, d.Hooks[1]) != "" {
		t.Errorf("hook: %s", cmp.Diff(want, d.Hooks[1]))
	}
	if gate := d.Hooks[2]; gate.Reads != nil || gate.Writes != nil {
		t.Errorf("a gate reads %q and writes %q, want no fields: it has no value", gate.Reads, gate.Writes)
	}
	if d.Tools[0].Prepares || !d.Tools[1].Prepares || d.Tools[1].Permission != "edit" || d.Tools[1].TimeoutMS != 1000 {
		t.Errorf("tools = %+v", d.Tools)
	}
}

func TestHook(t *testing.T) {
	t.Parallel()
	g := started(t)
	cases := map[string]struct {
		n           int
		input       string
		answer, err string
	}{
		"change":         {1, `{"input":{"agent":"build"},"value":{"system":["be kind","<&>"]}}`, `{"changes":[{"pointer":"/system/0","value":"BE KIND"}]}`, ""},
		"no change":      {1, `{"input":{"agent":"quiet"},"value":{"system":["be kind"]}}`, `{}`, ""},
		"html":           {0, `{"input":{},"value":{"args":{"command":"a&b","old":1}}}`, `{"changes":[{"pointer":"/args/command","value":"echo <a&b>"},{"pointer":"/args/old","remove":true}]}`, ""},
		"refusal":        {0, `{"input":{},"value":{"args":{"command":"rm"}}}`, `{"verdict":"deny","reason":"not here"}`, ""},
		"gate":           {2, `{"input":{"permission":"bash"}}`, `{"verdict":"ask","reason":"who knows"}`, ""},
		"unknown fields": {1, ` {"input":{"agent":"quiet","model":{"id":"m","new":{"a":1}},"new":1},"value":{"system":["x"]}} `, `{}`, ""},
		"error":          {3, `{"input":{"id":"e","type":"session.idle","properties":{}}}`, "", "no events please"},
		"no such hook":   {9, `{}`, "", "hook number 9 not found"},
		"negative":       {-1, `{}`, "", "hook number -1 not found"},
		"no value":       {1, `{"input":{}}`, "", "value"},
		"wrong type":     {1, `{"input":{"agent":1},"value":{"system":[]}}`, "", "agent"},
		"garbage":        {1, `{"input":`, "", "unexpected end of JSON input"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := g.Hook(t.Context(), c.n, []byte(c.input))
			check(t, &answer, err, c.answer, c.err)
		})
	}
}

func check(t *testing.T, answer *sdk.Answer, err error, want, wantErr string) {
	t.Helper()
	switch {
	case wantErr != "":
		if err == nil || !strings.Contains(err.Error(), wantErr) {
			t.Errorf("error %v, want one with %q", err, wantErr)
		}
	case err != nil:
		t.Error(err)
	default:
		if got, err := value.AppendJSON(nil, answer); err != nil || string(got) != want {
			t.Errorf("answer %s, %v, want %s", got, err, want)
		}
	}
}

func TestTool(t *testing.T) {
	t.Parallel()
	g := started(t)
	shown := ""
	host := guest.NewToolHost(func(_ context.Context, op string, request []byte) (guest.Status, []byte, error) {
		shown = op + string(request)
		return guest.StatusOK, []byte("{}"), nil
	}, nil)
	result, err := g.Tool(t.Context(), 1, &sdk.ToolCall{CallID: "c1", Args: json.RawMessage(`{"a":1}`), Host: host})
	if err != nil || result.Title != "c1" || result.Output != `{"a":1}` {
		t.Errorf("Tool() = %+v, %v", result, err)
	}
	if want := `progress{"title":"half way","metadata":{"n":1}}`; shown != want {
		t.Errorf("progress: %s, want %s", shown, want)
	}
	if _, err := g.Tool(t.Context(), 0, &sdk.ToolCall{}); err == nil || !strings.Contains(err.Error(), "returned nothing") {
		t.Errorf("a tool without a result: %v", err)
	}
	if _, err := g.Tool(t.Context(), 2, &sdk.ToolCall{}); err == nil {
		t.Error("tool 2 of 2 ran")
	}
	prepared, err := g.Prepare(t.Context(), 0, &sdk.ToolCall{})
	if err != nil || len(prepared.Requests) != 1 || prepared.Requests[0].Patterns[0] != "*.go" {
		t.Errorf("Prepare() = %+v, %v", prepared, err)
	}
	if _, err := g.Prepare(t.Context(), 1, &sdk.ToolCall{}); err == nil {
		t.Error("a tool that prepares nothing did")
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]guest.StartRequest{
		`hook "other" at tool`: {Hooks: []guest.HookRef{{Point: sdk.PointToolBefore, Name: "other"}}},
		`tool "sing" is`:       {Tools: []string{"sing"}},
	}
	for name, req := range cases {
		if err := guest.New(shout()).Start(t.Context(), &req, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BenchmarkHook is a whole call: decode, run, find the change, encode.
func BenchmarkHook(b *testing.B) {
	g := started(b)
	for name, size := range map[string]int{"1KB": 400, "64KB": 64 << 10} {
		input, err := value.Select(&sdk.ChatInput{
			SessionID: "ses_1", Agent: "build", Model: sdk.Model{ID: "gpt", ProviderID: "openai", Name: "GPT", Limit: sdk.ModelLimit{Context: 200000, Output: 8000}},
			Provider: sdk.ProviderRef{ID: "openai", Name: "OpenAI", Protocol: "openai-chat"}, Purpose: sdk.PurposeTurn, Step: 1,
			Message: &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: "msg_1", SessionID: "ses_1"}, Agent: "build"},
		}, []string{""})
		if err != nil {
			b.Fatal(err)
		}
		body, err := json.Marshal(sdk.ChatSystemValue{System: []string{strings.Repeat("Be \"kind\".\n", size/14)}})
		if err != nil {
			b.Fatal(err)
		}
		data, err := json.Marshal(guest.HookRequest{Input: input, Value: body})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			var out []byte
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				answer, err := g.Hook(b.Context(), 1, data)
				if err != nil {
					b.Fatal(err)
				}
				if out, err = guest.AppendAnswer(out[:0], &answer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

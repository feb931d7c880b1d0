package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// question is a request to the model.
func question(text string) sdk.SampleRequest {
	return sdk.SampleRequest{System: "Be brief.", MaxTokens: 7, Messages: []sdk.MessageWithParts{
		{Info: &sdk.UserMessage{}, Parts: sdk.Parts{&sdk.TextPart{Text: text}}},
		{Info: &sdk.AssistantMessage{}, Parts: sdk.Parts{&sdk.TextPart{Text: "Yes?"}}},
		{Info: &sdk.UserMessage{}, Parts: sdk.Parts{&sdk.TextPart{Text: "Well?"}}},
	}}
}

// TestPluginAsksTheModel: the plugin needs permission, the request passes the hooks, and the session pays for it.
func TestPluginAsksTheModel(t *testing.T) {
	t.Parallel()
	var got *sdk.SampleResult
	p := asker(func(ctx context.Context, h sdk.Host, call *sdk.ToolCall) (_ string, err error) {
		req := question("What is it?")
		req.SessionID = call.SessionID
		got, err = h.(sdk.Sampler).Sample(ctx, req)
		return "asked", err
	})
	cut := answer{text: "It is a b", err: &sdk.ProviderError{ProviderID: "test", Cut: true, Message: "gone"}}
	m := newModel(t, call("outer", `{}`), say("done")).on(sdk.PurposeSampling, cut, answer{text: "It is a bird.", finish: "length", tokens: sdk.Tokens{Input: 1000, Output: 10}})
	b := base(m)
	b.cost = sdk.ModelCost{Input: sdk.Price(3_000_000)}
	b.limits = sdk.ModelLimit{Context: 100_000, Output: 1000}
	system := sdk.OnChatSystem(func(_ context.Context, in *sdk.ChatInput, v *sdk.ChatSystemValue) error {
		if in.Purpose == sdk.PurposeSampling {
			v.System = append(v.System, "Say it in English.")
		}
		return nil
	})
	redact := sdk.OnChatMessages(func(_ context.Context, in *sdk.ChatInput, v *sdk.ChatMessagesValue) error {
		if in.Purpose == sdk.PurposeSampling {
			v.Messages[0].Parts[0].(*sdk.TextPart).Text = "What is ***?"
		}
		return nil
	})
	k := start(t, asking, b, p, &plugin{name: "hooked", hooks: []sdk.Hook{system, redact}})
	sub := k.Subscribe(4096, false)
	go func() {
		for range 2 {
			r := next(t, sub, ofType(sdk.EventPermissionAsked)).Properties.(*sdk.PermissionRequest)
			if r.Permission == "sampling" {
				want(t, "patterns", []string{"asker"}, r.Patterns)
				want(t, "model", any("test/m"), r.Metadata["model"])
				if text, _ := r.Metadata["prompt"].(string); !strings.Contains(text, "What is it?") {
					t.Errorf("the user is not shown what is asked: %q", text)
				}
			}
			if err := k.ReplyPermission(r.ID, sdk.ReplyOnce, ""); err != nil {
				t.Error(err)
			}
			if r.Permission == "sampling" {
				return
			}
		}
	}()
	id, _ := k.prompt("go")
	want(t, "result", &sdk.SampleResult{Text: "It is a bird.", Model: "test/m", FinishReason: "length"}, got)
	r := m.last(sdk.PurposeSampling)
	want(t, "system", []string{"Be brief.", "Say it in English."}, r.System)
	want(t, "messages", []string{"user: What is ***?", "assistant: Yes?", "user: Well?"}, lines(r))
	if len(r.Tools) > 0 || r.Params.MaxOutputTokens != 7 {
		t.Errorf("%d tools, %d tokens at most; want none and 7", len(r.Tools), r.Params.MaxOutputTokens)
	}
	s, err := k.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if s.Tokens.Input != 1000 || s.Cost == 0 {
		t.Errorf("the session took %+v for %v, want that the answer is accounted", s.Tokens, s.Cost)
	}
	rows, err := k.store.Ledger(t.Context(), id, "")
	if err != nil || len(rows) == 0 {
		t.Fatal(rows, err)
	}
	found := false
	for _, row := range rows {
		found = found || row.Purpose == sdk.PurposeSampling && strings.Contains(string(row.Entries), "chat.messages.transform")
	}
	if !found {
		t.Error("the ledger has nothing of the request")
	}
}

func TestPluginMayNotAskTheModel(t *testing.T) {
	t.Parallel()
	file := question("x")
	file.Messages[0].Parts = sdk.Parts{&sdk.FilePart{Mime: "image/png", URL: "file:///etc/passwd"}}
	roleless := question("x")
	roleless.Messages[1].Info = nil
	bad := question("x")
	bad.Tools = []sdk.ToolDefinition{{ID: "weather"}}
	open := question("x")
	open.Messages[1].Parts = sdk.Parts{&sdk.ToolPart{CallID: "c", Tool: "weather", State: sdk.ToolState{Status: sdk.ToolPending}}}
	cases := map[string]struct {
		change  func(*host.Options)
		request sdk.SampleRequest
		want    string
	}{
		"headless": {change: func(o *host.Options) { o.Config.Permission = nil }, request: question("x"), want: `permission "sampling" for "asker" needs the user's approval`},
		"denied": {change: func(o *host.Options) {
			o.Config.Permission = append(o.Config.Permission, sdk.PermissionRule{Permission: "sampling", Pattern: "as*", Action: sdk.ActionDeny})
		}, request: question("x"), want: "is denied"},
		"no message":     {request: sdk.SampleRequest{}, want: "no message"},
		"no role":        {request: roleless, want: "messages[1] has no role"},
		"a file to read": {request: file, want: "data: URL"},
		"a bad tool":     {request: bad, want: "tools[0].parameters: want a JSON schema"},
		"an open call":   {request: open, want: "want an ID, a tool name and a result"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var failure error
			p := asker(func(ctx context.Context, h sdk.Host, call *sdk.ToolCall) (string, error) {
				c.request.SessionID = call.SessionID
				_, failure = h.(sdk.Sampler).Sample(ctx, c.request)
				return "asked", nil
			})
			k := start(t, withOuter(c.change), base(newModel(t, call("outer", `{}`), say("done"))), p)
			k.prompt("go")
			if failure == nil || !strings.Contains(failure.Error(), c.want) {
				t.Errorf("Sample = %v, want %q", failure, c.want)
			}
			if _, err := p.host.(sdk.Sampler).Sample(t.Context(), question("x")); !errors.Is(err, host.ErrNoTurn) {
				t.Errorf("Sample without a session = %v, want ErrNoTurn", err)
			}
		})
	}
}

// TestSampleOfSmallModel uses the model for small things.
func TestSampleOfSmallModel(t *testing.T) {
	t.Parallel()
	var got *sdk.SampleResult
	p := asker(func(ctx context.Context, h sdk.Host, call *sdk.ToolCall) (_ string, err error) {
		req := question("x")
		req.SessionID, req.Small = call.SessionID, true
		got, err = h.(sdk.Sampler).Sample(ctx, req)
		return "asked", err
	})
	m := newModel(t, call("outer", `{}`), say("done")).on(sdk.PurposeSampling, say("small"))
	k := start(t, func(o *host.Options) { o.Config.SmallModel = "test/tiny" }, base(m), p)
	k.prompt("go")
	want(t, "result", &sdk.SampleResult{Text: "small", Model: "test/tiny", FinishReason: sdk.FinishStop}, got)
	want(t, "the turn's model", "m", m.last(sdk.PurposeTurn).Model.ID)
}

// TestSampleWithTools offers tools to the model, and sends a call of an earlier answer with its result.
func TestSampleWithTools(t *testing.T) {
	t.Parallel()
	var got *sdk.SampleResult
	p := asker(func(ctx context.Context, h sdk.Host, c *sdk.ToolCall) (_ string, err error) {
		req := question("Paris?")
		req.SessionID = c.SessionID
		req.Tools = []sdk.ToolDefinition{{ID: "weather", Description: "Tells the weather.", Parameters: []byte(`{"type":"object"}`)}}
		req.ToolChoice = sdk.ToolChoiceRequired
		state := sdk.ToolState{Status: sdk.ToolCompleted, Input: []byte(`{"city":"Rome"}`), Output: "20 degrees"}
		req.Messages[1].Parts = append(req.Messages[1].Parts, &sdk.ToolPart{CallID: "call_0", Tool: "weather", State: state})
		got, err = h.(sdk.Sampler).Sample(ctx, req)
		return "asked", err
	})
	m := newModel(t, call("outer", `{}`), say("done")).on(sdk.PurposeSampling, call("weather", `{"city":"Paris"}`))
	k := start(t, withOuter(func(o *host.Options) {
		o.Config.Permission = append(o.Config.Permission, sdk.PermissionRule{Permission: "sampling", Pattern: "*", Action: sdk.ActionAllow})
	}), base(m), p)
	k.prompt("go")
	if got == nil || len(got.Calls) != 1 || got.Calls[0].Tool != "weather" || string(got.Calls[0].Args) != `{"city":"Paris"}` || got.Calls[0].ID == "" {
		t.Fatalf("result %+v, want a call of weather", got)
	}
	r := m.last(sdk.PurposeSampling)
	want(t, "messages", []string{"user: Paris?", `assistant: Yes? | call weather {"city":"Rome"}`, "tool: 20 degrees", "user: Well?"}, lines(r))
	if len(r.Tools) != 1 || r.Tools[0].ID != "weather" || r.ToolChoice != sdk.ToolChoiceRequired {
		t.Errorf("tools %+v, choice %q", r.Tools, r.ToolChoice)
	}
}

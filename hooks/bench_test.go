package hooks_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

func benchEngine(b *testing.B, list ...sdk.Hook) *hooks.Engine {
	b.Helper()
	e, err := hooks.New(hooks.Options{
		Logger:  slog.New(slog.DiscardHandler),
		Plugins: []hooks.Plugin{{Name: "bench", Carrier: sdk.CarrierBuiltin, Hooks: list}},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return e
}

func chatInput() *sdk.ChatInput {
	return &sdk.ChatInput{
		SessionID: "ses_1", Agent: "build",
		Model: sdk.Model{
			ID: "gpt", ProviderID: "openai", Name: "GPT", Limit: sdk.ModelLimit{Context: 200000, Output: 8000},
			Modalities: sdk.Modalities{Input: []string{"text", "image"}, Output: []string{"text"}},
		},
		Provider: sdk.ProviderRef{ID: "openai", Name: "OpenAI", Protocol: "openai-chat"},
		Message:  &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: "msg_1", SessionID: "ses_1"}, Agent: "build"},
		Purpose:  sdk.PurposeTurn, Step: 1,
	}
}

func chatParams() *sdk.ChatParams {
	t := 0.7
	return &sdk.ChatParams{Temperature: &t, MaxOutputTokens: 8000, Options: sdk.Object{"store": false}}
}

func BenchmarkTransformNoHooks(b *testing.B) {
	e := benchEngine(b)
	in, v := chatInput(), chatParams()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Transform(ctx, sdk.PointChatParams, hooks.Scope{}, in, v); err != nil {
			b.Fatal(err)
		}
	}
}

func benchTransform(b *testing.B, n int, f func(context.Context, *sdk.ChatInput, *sdk.ChatParams) error) {
	var list []sdk.Hook
	for i := range n {
		h := sdk.OnChatParams(f)
		h.Name = string(rune('a' + i))
		list = append(list, h)
	}
	e := benchEngine(b, list...)
	in, v := chatInput(), chatParams()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var l *hooks.Ledger
	n = 0
	b.ReportAllocs()
	for b.Loop() {
		if n++; n%64 == 1 {
			l = &hooks.Ledger{} // a request has one, of a few dozen entries
		}
		if _, err := e.Transform(ctx, sdk.PointChatParams, hooks.Scope{Ledger: l}, in, v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTransformOneHook(b *testing.B) {
	benchTransform(b, 1, func(context.Context, *sdk.ChatInput, *sdk.ChatParams) error { return nil })
}

func BenchmarkTransformTenHooks(b *testing.B) {
	benchTransform(b, 10, func(context.Context, *sdk.ChatInput, *sdk.ChatParams) error { return nil })
}

func BenchmarkTransformOneHookChange(b *testing.B) {
	t := 0.0
	benchTransform(b, 1, func(_ context.Context, _ *sdk.ChatInput, v *sdk.ChatParams) error {
		t++
		v.Temperature = &t
		return nil
	})
}

func BenchmarkGate(b *testing.B) {
	e := benchEngine(b, sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) {
		return sdk.Decision{Verdict: sdk.VerdictAllow}, nil
	}))
	in := &sdk.PermissionRequest{ID: "per_1", Permission: "bash", Patterns: []string{"ls"}, Always: []string{"ls *"}, Metadata: sdk.Object{"command": "ls"}, Args: []byte(`{"command":"ls"}`)}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Gate(ctx, sdk.PointPermissionAsk, hooks.Scope{}, in); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTransformText is a hook at a point with a small value: what a call costs when there is next to
// nothing to copy.
func BenchmarkTransformText(b *testing.B) {
	h := sdk.OnTextComplete(func(context.Context, *sdk.TextCompleteInput, *sdk.TextCompleteValue) error { return nil })
	e := benchEngine(b, h)
	in := &sdk.TextCompleteInput{SessionID: "ses_1", MessageID: "msg_1", PartID: "prt_1"}
	v := &sdk.TextCompleteValue{Text: "an answer"}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Transform(ctx, sdk.PointTextComplete, hooks.Scope{}, in, v); err != nil {
			b.Fatal(err)
		}
	}
}

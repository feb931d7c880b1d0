package mcp_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// BenchmarkInterceptor measures one hook that changes one argument of a tool call of 1 KB: in this process as the yardstick, and as an
// interceptor of a server over stdio.
func BenchmarkInterceptor(b *testing.B) {
	native := sdk.OnToolBefore(func(_ context.Context, _ *sdk.ToolInput, v *sdk.ToolBeforeValue) error {
		v.Args["text"] = strings.ReplaceAll(v.Args["text"].(string), "secret", "[redacted]")
		return nil
	})
	yardstick, err := hooks.New(hooks.Options{
		Logger: slog.New(slog.DiscardHandler), Plugins: []hooks.Plugin{{Name: "native", Carrier: sdk.CarrierBuiltin, Hooks: []sdk.Hook{native}}},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = yardstick.Close(context.Background()) })
	remote, _ := intercepting(b, `[{"name":"redact","type":"mutation","hook":{"events":["tools/call"],"phase":"request"}}]`)
	for name, e := range map[string]*hooks.Engine{"native": yardstick, "stdio": remote} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			text := "secret " + strings.Repeat("x", 1<<10)
			for b.Loop() {
				if args, _, err := before(b, e, sdk.Object{"text": text}); err != nil || !strings.HasPrefix(args["text"].(string), "[redacted]") {
					b.Fatal(args, err)
				}
			}
		})
	}
}

// BenchmarkCall measures one call of a tool over stdio.
func BenchmarkCall(b *testing.B) {
	p := ready(b, newTestHost(b), fake(b, "plain"))
	b.ReportAllocs()
	for b.Loop() {
		if r := mustRun(b, p, "fake_echo", `{"text":"hello"}`); r.Output != "hello" {
			b.Fatal(r.Output)
		}
	}
}

// BenchmarkStart measures what a server that is known costs a start: nothing of it runs.
func BenchmarkStart(b *testing.B) {
	h := newTestHost(b)
	s := fake(b, "plain")
	closePlugin(b, ready(b, h, s))
	for b.Loop() {
		p := newPlugin(b, h, s)
		closePlugin(b, p)
	}
}

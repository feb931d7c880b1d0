package process_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// payload is a call at chat.params of about one KiB.
func payload() *sdk.RemoteCall {
	return &sdk.RemoteCall{
		Point: sdk.PointChatParams, Hook: "warm", Input: json.RawMessage(`{"sessionID":"ses_1","agent":"build","purpose":"turn","step":1}`),
		Value: json.RawMessage(`{"temperature":1,"options":{"text":"` + strings.Repeat("x", 900) + `"}}`),
	}
}

// guests returns functions that open the plugin with the hook warm, over each wire and in each language.
func guests() map[string]func(b *testing.B) func() sdk.Plugin {
	out := map[string]func(b *testing.B) func() sdk.Plugin{}
	for name, w := range map[string]wire{"process": "grpc", "lines": "lines"} {
		out[name] = func(b *testing.B) func() sdk.Plugin {
			return func() sdk.Plugin { return w.started(b, process.Options{}, "plain", nil) }
		}
	}
	for language := range languages {
		out[language] = func(b *testing.B) func() sdk.Plugin {
			unit := unitOf(b, languages[language](b))
			return func() sdk.Plugin { return started(b, process.Options{}, unit, nil) }
		}
	}
	return out
}

// BenchmarkHook compares a hook in a process with the same one in this process, decoding and encoding included, and without.
func BenchmarkHook(b *testing.B) {
	for name, open := range guests() {
		b.Run(name, func(b *testing.B) {
			p := open(b)()
			hook, call := p.(sdk.Hooker).Hooks()[0], payload()
			if _, err := callHook(b, p, "warm"); err != nil { // starts the process
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				ctx, cancel := context.WithTimeout(b.Context(), sdk.DefaultHookTimeout)
				if answer, err := hook.Remote.HandleRemote(ctx, call); err != nil || len(answer.Changes) != 1 {
					b.Fatal(answer, err)
				}
				cancel()
			}
		})
	}
	b.Run("json", func(b *testing.B) {
		g := guest.New(ordinary("plain"))
		start := &guest.StartRequest{Hooks: []guest.HookRef{{Point: sdk.PointChatParams, Name: "warm"}}}
		if err := g.Start(b.Context(), start, &testHost{}); err != nil {
			b.Fatal(err)
		}
		call := payload()
		request, err := json.Marshal(guest.HookRequest{Input: call.Input, Value: call.Value})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := g.Hook(b.Context(), 0, request); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("native", func(b *testing.B) {
		hook := ordinary("plain").HookList[0]
		temperature := 1.0
		v := &sdk.ChatParams{Temperature: &temperature, Options: sdk.Object{"text": strings.Repeat("x", 900)}}
		for b.Loop() {
			before := value.Clone(v)
			if _, err := hook.Handler.Handle(b.Context(), &sdk.HookCall{Point: hook.Point, Input: &sdk.ChatInput{}, Value: v}); err != nil {
				b.Fatal(err)
			}
			if _, err := value.Diff[sdk.Change](before, v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkTenIdle measures how much ten unused plugins add to a start.
func BenchmarkTenIdle(b *testing.B) {
	spec := guestSpec(b, "plain")
	spec.Broker = nil
	for b.Loop() {
		for range 10 {
			p, err := process.New(process.Options{}).Open(spec)
			if err != nil {
				b.Fatal(err)
			}
			if err := p.Start(b.Context(), &testHost{log: slog.New(slog.DiscardHandler)}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkStart is a plugin's first call: from no process to an answer.
func BenchmarkStart(b *testing.B) {
	for name, guest := range guests() {
		b.Run(name, func(b *testing.B) {
			open := guest(b)
			for b.Loop() {
				b.StopTimer()
				p := open()
				b.StartTimer()
				if _, err := callHook(b, p, "warm"); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := p.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkRestart is the time from SIGKILL to the next answer.
func BenchmarkRestart(b *testing.B) {
	p := started(b, process.Options{Restarts: 1 << 30, RestartDelay: -1}, guestSpec(b, "plain"), nil)
	for b.Loop() {
		b.StopTimer()
		pid := pidOf(b, p)
		b.StartTimer()
		if process, err := os.FindProcess(pid); err != nil || process.Kill() != nil {
			b.Fatal(err)
		}
		for {
			if _, err := callHook(b, p, "warm"); err == nil {
				break
			}
		}
	}
}

package wasm_test

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

// benchGuests returns the modules by the names under which they are measured.
func benchGuests(b *testing.B) map[string]string {
	return map[string]string{
		"wat": module("echo.wasm"),
		"c":   module("c/mark.wasm"),
		"go":  goGuest(b, "escape"),
	}
}

// argument is the one field the hooks declare.
func argument() sdk.Description {
	return sdk.Description{Hooks: []sdk.HookDescription{{
		Point: "tool.execute.before", Reads: []string{"/args/command"}, Writes: []string{"/args/marked", "/args/x"},
	}}}
}

// benchHook calls the hook through the engine: a tool call with an argument of size bytes that the hook does not read.
func benchHook(b *testing.B, size int, list []sdk.Hook) {
	b.Helper()
	e, err := hooks.New(hooks.Options{
		Logger:  slog.New(slog.DiscardHandler),
		Plugins: []hooks.Plugin{{Name: "bench", Carrier: sdk.CarrierWASM, Hooks: list}},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close(context.Background())
	in := &sdk.ToolInput{Tool: "bash", SessionID: "ses_1", MessageID: "msg_1", CallID: "call_1", Agent: "build", AgentPath: "build"}
	args := sdk.Object{"command": "go test ./...", "description": strings.Repeat("x", size)}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	run := func() {
		v := sdk.ToolBeforeValue{Args: sdk.Object{"command": args["command"], "description": args["description"]}}
		r, err := e.Transform(ctx, sdk.PointToolBefore, hooks.Scope{}, in, &v)
		if err != nil || len(v.Args) != 3 {
			b.Fatalf("%+v, %v, %d arguments", r, err, len(v.Args))
		}
	}
	run()
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}

func benchSizes(b *testing.B, name string, list []sdk.Hook) {
	for _, kb := range []int{1, 64} {
		b.Run(name+"/"+strconv.Itoa(kb)+"K", func(b *testing.B) { benchHook(b, kb<<10, list) })
	}
}

// BenchmarkHook is a warm hook that changes one field; native is the yardstick.
func BenchmarkHook(b *testing.B) {
	benchSizes(b, "native", []sdk.Hook{sdk.OnToolBefore(func(_ context.Context, _ *sdk.ToolInput, v *sdk.ToolBeforeValue) error {
		v.Args["marked"] = true
		return nil
	})})
	r := newRuntime(b, wasm.Options{CacheDir: guestCache(b)})
	for name, m := range benchGuests(b) {
		p := started(b, r, remote.Unit{Program: m, Description: argument()}, host{})
		if err := p.(remote.Precompiler).Precompile(b.Context()); err != nil {
			b.Fatal(err)
		}
		benchSizes(b, name, p.(sdk.Hooker).Hooks())
	}
}

// BenchmarkWhole sends the guest the whole value.
func BenchmarkWhole(b *testing.B) {
	r := newRuntime(b, wasm.Options{CacheDir: guestCache(b)})
	for name, m := range benchGuests(b) {
		for _, kb := range []int{1, 64} {
			b.Run(name+"/"+strconv.Itoa(kb)+"K", func(b *testing.B) {
				p := started(b, r, remote.Unit{Program: m, Description: argument()}, host{})
				if err := p.(remote.Precompiler).Precompile(b.Context()); err != nil {
					b.Fatal(err)
				}
				benchRemote(b, p, kb<<10)
			})
		}
	}
}

func benchRemote(b *testing.B, p sdk.Plugin, size int) {
	b.Helper()
	h := p.(sdk.Hooker).Hooks()[0]
	call := &sdk.RemoteCall{
		Point: h.Point, Hook: h.Name,
		Input: []byte(`{"tool":"bash","origin":{"carrier":"builtin","plugin":"shell"},"sessionID":"ses_1"}`),
		Value: []byte(`{"args":{"command":"go test ./...","description":"` + strings.Repeat("x", size) + `"}}`),
	}
	b.ReportAllocs()
	for b.Loop() {
		answer, err := h.Remote.HandleRemote(b.Context(), call)
		if err != nil || len(answer.Changes) != 1 {
			b.Fatal(answer, err)
		}
	}
}

// BenchmarkFirstCall is the first call of a plugin whose module is in the cache, with a runtime of its own.
func BenchmarkFirstCall(b *testing.B) {
	dir := guestCache(b)
	for name, m := range benchGuests(b) {
		unit := remote.Unit{Program: m, Checksum: digest(b, m), Description: argument()} // as the loader makes it
		b.Run(name, func(b *testing.B) {
			first := func() {
				r := wasm.New(wasm.Options{CacheDir: dir})
				p := started(b, r, unit, host{})
				defer p.Close(context.Background())
				h := p.(sdk.Hooker).Hooks()[0]
				if _, err := h.Remote.HandleRemote(b.Context(), &sdk.RemoteCall{Point: h.Point, Input: []byte(`{}`), Value: []byte(`{"args":{"command":"x"}}`)}); err != nil {
					b.Fatal(err)
				}
			}
			first()
			for b.Loop() {
				first()
			}
		})
	}
}

// BenchmarkIdleMemory reports how much memory an idle instance keeps, in KB, after it was called with 1 KB: what the process has
// more of with three more of them.
func BenchmarkIdleMemory(b *testing.B) {
	dir := guestCache(b)
	for name, m := range benchGuests(b) {
		b.Run(name, func(b *testing.B) {
			idleMemory(b, dir, m) // fills the cache
			for b.Loop() {
				b.ReportMetric(float64(idleMemory(b, dir, m))/1024, "KB/instance")
			}
		})
	}
}

func idleMemory(b *testing.B, dir string, m string) int64 {
	const instances = 4
	r := wasm.New(wasm.Options{CacheDir: dir})
	p := started(b, r, remote.Unit{Program: m, Description: argument()}, host{})
	defer p.Close(context.Background())
	h := p.(sdk.Hooker).Hooks()[0]
	call := func(session string) {
		input := []byte(`{"sessionID":"` + session + `"}`)
		value := []byte(`{"args":{"command":"` + strings.Repeat("x", 1000) + `"}}`)
		if _, err := h.Remote.HandleRemote(b.Context(), &sdk.RemoteCall{Point: h.Point, Input: input, Value: value}); err != nil {
			b.Fatal(err)
		}
	}
	call("first")
	wasm.TrimNow(p)
	before := resident(b)
	for n := range instances - 1 {
		call(strconv.Itoa(n))
	}
	wasm.TrimNow(p)
	return (resident(b) - before) / (instances - 1)
}

// resident returns the memory of this process that is not backed by files, in bytes.
func resident(b *testing.B) int64 {
	b.Helper()
	for range 3 { // native code is freed by finalizers
		debug.FreeOSMemory()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	data, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		b.Skip("no /proc/self/smaps here")
	}
	kb, inHeap := int64(0), false
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) > 0 && strings.Contains(fields[0], "-") && !strings.HasSuffix(fields[0], ":") {
			inHeap = strings.HasPrefix(fields[0], "c0")
		}
		if strings.HasPrefix(line, "Anonymous:") && !inHeap {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			kb += n
		}
	}
	return kb<<10 + int64(stats.HeapAlloc)
}

package process_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// guestKind tells the test binary which plugin to be.
const guestKind = "TENON_TEST_GUEST"

func TestMain(m *testing.M) {
	if kind := os.Getenv(guestKind); kind != "" {
		beGuest(kind)
		return
	}
	if dir := os.Getenv(confinedHost); dir != "" {
		hostConfined(dir)
		return
	}
	if fifo := os.Getenv(hostRole); fifo != "" {
		beHost(fifo)
		return
	}
	goleak.VerifyTestMain(m)
}

// testHost is a host with nothing to offer but a log, and events when it has any.
type testHost struct {
	log     *slog.Logger
	options string
	events  chan sdk.Event // nil: closed at once
}

func (h *testHost) Logger() *slog.Logger { return h.log }

func (h *testHost) Project() sdk.Project { return sdk.Project{ID: "p1", Directory: "/somewhere"} }

func (h *testHost) Options() json.RawMessage {
	if h.options == "" {
		return json.RawMessage("null")
	}
	return json.RawMessage(h.options)
}

// Events passes the events of the test on.
func (h *testHost) Events(ctx context.Context, size int) <-chan sdk.Event {
	out := make(chan sdk.Event, size)
	go func() {
		defer close(out)
		for {
			select {
			case e, ok := <-h.events:
				if !ok {
					return
				}
				out <- e
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// logged is a log to look at.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{} // closed by the next line; nil: no test waits
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
	return l.text.Write(p)
}

// wait waits until the log holds the text.
func (l *logged) wait(tb testing.TB, text string) {
	tb.Helper()
	for timeout := time.After(30 * time.Second); ; {
		l.mu.Lock()
		found := strings.Contains(l.text.String(), text)
		if l.more == nil {
			l.more = make(chan struct{})
		}
		more := l.more
		l.mu.Unlock()
		if found {
			return
		}
		select {
		case <-more:
		case <-timeout:
			tb.Fatalf("no %s in the log:\n%s", text, l)
		}
	}
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// announce tells of the log line with this message.
type announce struct {
	slog.Handler
	message string
	to      chan<- string
}

func (a announce) Enabled(context.Context, slog.Level) bool { return true }

func (a announce) Handle(_ context.Context, r slog.Record) error {
	if r.Message == a.message {
		a.to <- r.Message
	}
	return nil
}

// toolHost is the way back of a tool call.
type toolHost struct {
	progress func(title string, metadata sdk.Object)
	ask      func(req sdk.PermissionRequest) error
}

func (h *toolHost) Progress(title string, metadata sdk.Object) {
	if h.progress != nil {
		h.progress(title, metadata)
	}
}

func (h *toolHost) Ask(_ context.Context, req sdk.PermissionRequest) error { return h.ask(req) }

// guestSpec is the spec of a guest of this binary, with all it contributes.
func guestSpec(tb testing.TB, kind string) remote.Unit {
	tb.Helper()
	exe, err := filepath.Abs(os.Args[0])
	if err != nil {
		tb.Fatal(err)
	}
	data := filepath.Join(tb.TempDir(), "data")
	return remote.Unit{
		Broker:      ability.New(ability.Options{Plugin: kind, DataDir: data, Grants: []sdk.Capability{{Name: sdk.CapabilityKV}, {Name: sdk.CapabilityAsk}}}),
		Description: description(kind), Command: []string{exe, "-test.run=^$"}, Root: tb.TempDir(),
		DataDir: data, Env: map[string]string{guestKind: kind, "GORACE": "atexit_sleep_ms=0"}, // the race detector waits a second at the end
		Grants: []sdk.Capability{{Name: sdk.CapabilitySecret, Scope: []string{"ACME_KEY"}}},
	}
}

// guestWire is the variable that tells the test binary which wire to speak; empty: gRPC.
const guestWire = "TENON_TEST_WIRE"

// wire is a wire between host and process.
type wire string

// eachWire runs a test over each wire.
func eachWire(t *testing.T, test func(t *testing.T, w wire)) {
	t.Parallel()
	for _, w := range []wire{"grpc", "lines", "stdio"} {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

// started starts a guest of this binary that speaks this wire.
func (w wire) started(tb testing.TB, o process.Options, kind string, h *testHost) sdk.Plugin {
	tb.Helper()
	return w.startedWith(tb, o, guestSpec(tb, kind), h)
}

func (w wire) startedWith(tb testing.TB, o process.Options, spec remote.Unit, h *testHost) sdk.Plugin {
	tb.Helper()
	spec.Env[guestWire] = string(w)
	if w == "stdio" {
		o = process.LinesOnStdio(o)
	}
	return started(tb, o, spec, h)
}

// unbounded lets a process be started again as often as a test ends it.
func unbounded() process.Options { return process.Options{Restarts: 1 << 30, RestartDelay: -1} }

// started opens the plugin and starts it; it is closed when the test ends. Its process has a minute to get ready unless the options say
// otherwise: a busy machine needs more than the default.
func started(tb testing.TB, o process.Options, spec remote.Unit, h *testHost) sdk.Plugin {
	tb.Helper()
	if o.StartTimeout == 0 {
		o.StartTimeout = time.Minute
	}
	p, err := process.New(o).Open(spec)
	if err != nil {
		tb.Fatal(err)
	}
	if h == nil {
		h = &testHost{}
	}
	if h.log == nil {
		h.log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if err := p.Start(tb.Context(), h); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return p
}

// callHook calls a hook at chat.params by its name, for at most a minute.
func callHook(tb testing.TB, p sdk.Plugin, name string) (sdk.Answer, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	return callHookIn(ctx, tb, p, name)
}

func callHookIn(ctx context.Context, tb testing.TB, p sdk.Plugin, name string) (sdk.Answer, error) {
	tb.Helper()
	for _, h := range p.(sdk.Hooker).Hooks() {
		if h.Name == name {
			return h.Remote.HandleRemote(ctx, &sdk.RemoteCall{Point: h.Point, Hook: name, Input: json.RawMessage(`{"sessionID":"ses_1"}`), Value: json.RawMessage(`{"temperature":1,"options":{}}`)})
		}
	}
	tb.Fatalf("hook %q not found", name)
	return sdk.Answer{}, nil
}

// callTool calls a tool, for at most a minute.
func callTool(tb testing.TB, p sdk.Plugin, id, args string, h sdk.ToolHost) (*sdk.ToolResult, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	return toolOf(tb, p, id).Execute(ctx, &sdk.ToolCall{Tool: id, CallID: "c1", SessionID: "ses_1", Args: json.RawMessage(args), Host: h})
}

func toolOf(tb testing.TB, p sdk.Plugin, id string) sdk.Tool {
	tb.Helper()
	for _, t := range p.(sdk.ToolSource).Tools() {
		if t.Definition().ID == id {
			return t
		}
	}
	tb.Fatalf("tool %q not found", id)
	return nil
}

// pidOf returns the process id of a guest that runs.
func pidOf(tb testing.TB, p sdk.Plugin) int {
	tb.Helper()
	result, err := callTool(tb, p, "pid", `{}`, nil)
	if err != nil {
		tb.Fatal(err)
	}
	var pid int
	if err := json.Unmarshal([]byte(result.Output), &pid); err != nil {
		tb.Fatal(err)
	}
	return pid
}

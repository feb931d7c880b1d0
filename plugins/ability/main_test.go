package ability_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"reflect"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("TENON_TEST_WRITER"); dir != "" {
		os.Exit(writer(dir))
	}
	goleak.VerifyTestMain(m)
}

// newBroker returns a broker of the plugin "p" that ends with the test.
func newBroker(tb testing.TB, o ability.Options) *ability.Broker {
	tb.Helper()
	if o.Plugin == "" {
		o.Plugin = "p"
	}
	if o.DataDir == "" {
		o.DataDir = tb.TempDir()
	}
	o.Limits = limits(o.Limits)
	b := ability.New(o)
	tb.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return b
}

// limits returns limits with the defaults of zero fields.
func limits(l ability.Limits) ability.Limits {
	out := ability.DefaultLimits()
	for i := range reflect.TypeFor[ability.Limits]().NumField() {
		if given := reflect.ValueOf(l).Field(i); !given.IsZero() {
			reflect.ValueOf(&out).Elem().Field(i).Set(given)
		}
	}
	return out
}

// grant makes a capability.
func grant(name string, scope ...string) sdk.Capability {
	return sdk.Capability{Name: name, Scope: scope}
}

// do asks in the name of session s1.
func do(tb testing.TB, b *ability.Broker, op, request string) (guest.Status, string) {
	tb.Helper()
	status, answer := b.Do(tb.Context(), ability.Caller{SessionID: "s1"}, op, []byte(request))
	return status, string(answer)
}

// want asks and fails the test unless the answer is OK and equal.
func want(tb testing.TB, b *ability.Broker, op, request, answer string) {
	tb.Helper()
	if status, got := do(tb, b, op, request); status != guest.StatusOK || answer != "" && got != answer {
		tb.Fatalf("%s %s = %v %s, want ok %s", op, request, status, got, answer)
	}
}

// marshal encodes a request.
func marshal(tb testing.TB, v any) string {
	tb.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

// host has every ability and notes what it was asked for.
type host struct {
	mu    sync.Mutex
	calls []string
	fail  error // what every ability answers
	panic bool
}

func (h *host) note(what string, v any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	text, err := json.Marshal(v)
	h.calls = append(h.calls, what+" "+string(text))
	if h.panic {
		panic("host")
	}
	if err != nil {
		return err
	}
	return h.fail
}

func (h *host) last() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.calls) == 0 {
		return ""
	}
	return h.calls[len(h.calls)-1]
}

func (*host) Logger() *slog.Logger     { return slog.New(slog.DiscardHandler) }
func (*host) Project() sdk.Project     { return sdk.Project{} }
func (*host) Options() json.RawMessage { return nil }
func (*host) Config() *sdk.Config      { return &sdk.Config{Model: "offline/small"} }

func (h *host) CallTool(_ context.Context, req sdk.ToolRequest) (*sdk.ToolResult, error) {
	return &sdk.ToolResult{Output: "out"}, h.note("tool", req)
}

func (h *host) SessionMessages(_ context.Context, id string) ([]sdk.MessageWithParts, error) {
	return nil, h.note("session", id)
}

func (h *host) AskPermission(_ context.Context, req sdk.PermissionRequest) error {
	return h.note("ask", req)
}

func (h *host) AskUser(_ context.Context, id string, q []sdk.Question) ([][]string, error) {
	return [][]string{{"yes"}}, h.note("question "+id, q)
}

func (h *host) Sample(_ context.Context, req sdk.SampleRequest) (*sdk.SampleResult, error) {
	return &sdk.SampleResult{Text: "hi", Model: "m/x", FinishReason: "stop"}, h.note("sample", req)
}

// bareHost has no abilities.
type bareHost struct{}

func (bareHost) Logger() *slog.Logger     { return slog.New(slog.DiscardHandler) }
func (bareHost) Project() sdk.Project     { return sdk.Project{} }
func (bareHost) Options() json.RawMessage { return nil }

// callHost is the host of a tool call.
type callHost struct{ host }

func (h *callHost) Progress(title string, metadata sdk.Object) {
	_ = h.note("progress "+title, metadata) // no receiver
}

func (h *callHost) Ask(_ context.Context, req sdk.PermissionRequest) error {
	return h.note("call ask", req)
}

func (h *callHost) Messages(context.Context) ([]sdk.MessageWithParts, error) {
	return nil, h.note("call messages", nil)
}

func (h *callHost) Question(_ context.Context, q []sdk.Question) ([][]string, error) {
	return [][]string{{"no"}}, h.note("call question", q)
}

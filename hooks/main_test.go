package hooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// notices collects messages for the user.
type notices struct {
	mu   sync.Mutex
	list []sdk.PluginNotice
}

func (n *notices) add(p sdk.PluginNotice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, p)
}

func (n *notices) all() []sdk.PluginNotice {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

// plugin makes a plugin of this process.
func plugin(name string, list ...sdk.Hook) hooks.Plugin {
	return hooks.Plugin{Name: name, Version: "1", Carrier: sdk.CarrierBuiltin, Hooks: list}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// start makes an engine that is closed at the end of the test.
func start(t testing.TB, o hooks.Options) (*hooks.Engine, *notices) {
	t.Helper()
	told := &notices{}
	o.Notice = told.add
	if o.Logger == nil {
		o.Logger = discard()
	}
	e, err := hooks.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e, told
}

func engine(t testing.TB, plugins ...hooks.Plugin) (*hooks.Engine, *notices) {
	t.Helper()
	return start(t, hooks.Options{Plugins: plugins})
}

// system is a hook at chat.system.transform.
func system(f func(ctx context.Context, v *sdk.ChatSystemValue) error) sdk.Hook {
	return sdk.OnChatSystem(func(ctx context.Context, _ *sdk.ChatInput, v *sdk.ChatSystemValue) error { return f(ctx, v) })
}

// appends adds a line to the system prompt.
func appends(line string) sdk.Hook {
	return system(func(_ context.Context, v *sdk.ChatSystemValue) error {
		v.System = append(v.System, line)
		return nil
	})
}

// fire fires chat.system.transform.
func fire(t testing.TB, e *hooks.Engine, l *hooks.Ledger) ([]string, error) {
	t.Helper()
	v := &sdk.ChatSystemValue{System: []string{}}
	_, err := e.Transform(t.Context(), sdk.PointChatSystem, hooks.Scope{Ledger: l}, &sdk.ChatInput{}, v)
	return v.System, err
}

// gate is a hook at permission.ask.
func gate(v sdk.Verdict, reason string) sdk.Hook {
	return sdk.OnPermissionAsk(func(context.Context, *sdk.PermissionRequest) (sdk.Decision, error) {
		return sdk.Decision{Verdict: v, Reason: reason}, nil
	})
}

// timeless returns the ledger as JSON without durations.
func timeless(t testing.TB, l *hooks.Ledger) string {
	t.Helper()
	entries := l.Entries()
	for i := range entries {
		entries[i].DurationUS = 0
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", " ")
	if err := enc.Encode(entries); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// outcomes returns the outcome of each call in the ledger, by plugin.
func outcomes(l *hooks.Ledger) []string {
	var out []string
	for _, e := range l.Entries() {
		out = append(out, e.Plugin+" "+string(e.Outcome))
	}
	return out
}

// never is a handler that hangs until it is released, whatever its context says.
type never struct{ release chan struct{} }

func hang(t testing.TB) *never {
	n := &never{release: make(chan struct{})}
	t.Cleanup(n.free)
	return n
}

func (n *never) free() {
	select {
	case <-n.release:
	default:
		close(n.release)
	}
}

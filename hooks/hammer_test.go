package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// TestHammer fires from many goroutines while hooks hang, panic, fail and recover, plugins are
// quarantined, and callers give up. Changes of the good hooks must never be lost.
func TestHammer(t *testing.T) {
	t.Parallel()
	stuck := hang(t)
	misbehave := func() error {
		switch rand.IntN(40) {
		case 0:
			<-stuck.release
		case 1:
			panic("boom")
		case 2:
			runtime.Goexit()
		case 3:
			return errors.New("no luck")
		}
		return nil
	}
	bad := func(name string) hooks.Plugin {
		h := system(func(_ context.Context, v *sdk.ChatSystemValue) error {
			v.System = append(v.System, name)
			return misbehave()
		})
		h.Timeout = 5 * time.Millisecond
		g := sdk.OnPermissionAsk(func(_ context.Context, in *sdk.PermissionRequest) (sdk.Decision, error) {
			in.Patterns[0] = name
			return sdk.Decision{Verdict: sdk.VerdictAllow}, misbehave()
		})
		g.Timeout, g.OnError = 5*time.Millisecond, sdk.OnErrorSkip
		o := observer(func(_ context.Context, e *sdk.Event) error {
			e.ID = name
			return misbehave()
		})
		o.Timeout = 5 * time.Millisecond
		return plugin(name, h, g, o)
	}
	for range 10 { // each engine begins without failures
		e, _ := start0(t, hooks.Options{Plugins: []hooks.Plugin{
			plugin("first", appends("first")), bad("b"), bad("c"), plugin("last", appends("last"), gate(sdk.VerdictAsk, "")),
		}})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				var l hooks.Ledger
				for i := range 6 {
					hammerOnce(t, e, &l)
					e.Observe(sdk.PointEvent, event(i))
					e.Quarantined()
				}
				hooks.Conflicts(l.Entries())
			})
		}
		wg.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
		cancel()
	}
	stuck.free()
}

func hammerOnce(t *testing.T, e *hooks.Engine, l *hooks.Ledger) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if rand.IntN(10) == 0 {
		time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, cancel)
	}
	v := &sdk.ChatSystemValue{System: []string{}}
	_, err := e.Transform(ctx, sdk.PointChatSystem, hooks.Scope{Ledger: l}, &sdk.ChatInput{}, v)
	if err == nil && (len(v.System) < 2 || v.System[0] != "first" || v.System[len(v.System)-1] != "last") {
		t.Errorf("value = %v, want first … last", v.System)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Transform = %v", err)
	}
	in := &sdk.PermissionRequest{Patterns: []string{"ls"}}
	got, err := e.Gate(ctx, sdk.PointPermissionAsk, hooks.Scope{Ledger: l}, in)
	if err == nil && got.Verdict != sdk.VerdictAsk || in.Patterns[0] != "ls" {
		t.Errorf("Gate = %+v, %v, pattern %q", got, err, in.Patterns[0])
	}
}

// TestGoroutinesDoNotPileUp checks that firings reuse goroutines, and that Close ends them.
func TestGoroutinesDoNotPileUp(t *testing.T) {
	before := runtime.NumGoroutine() // with those of parallel tests, which wait for this one
	e, _ := start0(t, hooks.Options{Plugins: []hooks.Plugin{plugin("a", appends("x"))}})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 20 {
				if _, err := fire(t, e, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := runtime.NumGoroutine() - before; n > 35 {
		t.Errorf("%d more goroutines after the firings", n)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := fire(t, e, nil); err != nil || fmt.Sprint(got) != "[x]" {
		t.Errorf("after Close: %v, %v, want what is under way to go on", got, err)
	}
}

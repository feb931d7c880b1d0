package wasm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

// counter returns the plugin whose answer tells how often its memory was called, "a" for the first.
func counter(t testing.TB, state string, o wasm.Options) sdk.Plugin {
	t.Helper()
	return started(t, newRuntime(t, o), remote.Unit{
		Program:     module("counter.wasm"),
		Description: sdk.Description{Hooks: gates(1), Runtime: &sdk.Runtime{State: state}},
	}, host{})
}

// No session sees what another one left in memory; calls without a session have separate memory.
func TestSessionsAreApart(t *testing.T) {
	t.Parallel()
	p := counter(t, "", wasm.Options{})
	for _, want := range []string{"a", "b", "c"} {
		for _, session := range []string{"one", "two", "", `quo"te`} {
			if got, err := ask(t.Context(), p, 0, session); err != nil || got.Reason != want {
				t.Errorf("session %q: %q, %v, want %q", session, got.Reason, err, want)
			}
		}
	}
}

// Sessions that come and go by the hundred, at the same time, stay apart: sessions that are dropped for lack of space start again.
func TestParallelSessionsAreApart(t *testing.T) {
	t.Parallel()
	p := counter(t, sdk.StateSession, wasm.Options{})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for round := range 100 {
				session := fmt.Sprint(worker, "-", round)
				last := ""
				for range 4 {
					got, err := ask(t.Context(), p, 0, session)
					if err != nil {
						t.Error(err)
						return
					}
					// One call at a time: the same memory, or new memory.
					if got.Reason != "a" && (last == "" || got.Reason != string(last[0]+1)) {
						t.Errorf("session %s: %q after %q", session, got.Reason, last)
					}
					last = got.Reason
				}
			}
		})
	}
	wg.Wait()
}

// With state "plugin" all calls go to one memory, one after the other.
func TestSharedState(t *testing.T) {
	t.Parallel()
	p := counter(t, sdk.StatePlugin, wasm.Options{})
	seen := make(chan string, 20)
	var wg sync.WaitGroup
	for n := range cap(seen) {
		wg.Go(func() {
			got, err := ask(t.Context(), p, 0, fmt.Sprint(n))
			if err != nil {
				t.Error(err)
			}
			seen <- got.Reason
		})
	}
	wg.Wait()
	close(seen)
	all := map[string]bool{}
	for s := range seen {
		all[s] = true
	}
	if len(all) != cap(seen) {
		t.Errorf("%d calls gave %d numbers", cap(seen), len(all))
	}
}

// The end of a session does not drop the memory that other sessions share.
func TestSharedStateOutlivesSession(t *testing.T) {
	t.Parallel()
	p := counter(t, sdk.StatePlugin, wasm.Options{})
	hook := p.(sdk.Hooker).Hooks()[0].Remote
	for _, c := range []struct {
		point sdk.Point
		want  string
	}{{sdk.PointPermissionAsk, "a"}, {sdk.PointSessionEnd, "b"}, {sdk.PointSessionEnd, "c"}} {
		got, err := hook.HandleRemote(t.Context(), &sdk.RemoteCall{Point: c.point, Input: json.RawMessage(`{"sessionID":"one"}`)})
		if err != nil || got.Reason != c.want {
			t.Errorf("%s: %q, %v, want %q", c.point, got.Reason, err, c.want)
		}
	}
}

// An instance that waited too long is dropped.
func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := wasm.New(wasm.Options{IdleTimeout: time.Minute})
		p := started(t, r, remote.Unit{Program: module("counter.wasm"), Description: sdk.Description{Hooks: gates(1)}}, host{})
		for _, c := range []struct {
			wait time.Duration
			want string
		}{{0, "a"}, {30 * time.Second, "b"}, {59 * time.Second, "c"}, {61 * time.Second, "a"}, {2 * time.Second, "b"}} {
			time.Sleep(c.wait)
			synctest.Wait()
			if got, err := ask(t.Context(), p, 0, "one"); err != nil || got.Reason != c.want {
				t.Errorf("after %v: %q, %v, want %q", c.wait, got.Reason, err, c.want)
			}
		}
	})
}

// The memory of an instance is as it was after it was idle long enough to be trimmed.
func TestTrimKeepsMemory(t *testing.T) {
	t.Parallel()
	p := counter(t, "", wasm.Options{})
	for _, session := range []string{"one", "two"} {
		if _, err := ask(t.Context(), p, 0, session); err != nil {
			t.Fatal(err)
		}
	}
	wasm.TrimNow(p)
	for _, want := range []string{"b", "c"} {
		for _, session := range []string{"one", "two"} {
			if got, err := ask(t.Context(), p, 0, session); err != nil || got.Reason != want {
				t.Errorf("session %s: %q, %v, want %q", session, got.Reason, err, want)
			}
		}
		wasm.TrimNow(p)
	}
}

// again is a host whose tool calls lead back to the hook that asked for them.
type again struct {
	host
	plugin sdk.Plugin
	calls  int
	err    error // of the innermost
}

func (a *again) CallTool(ctx context.Context, req sdk.ToolRequest) (*sdk.ToolResult, error) {
	a.calls++
	_, err := ask(ctx, a.plugin, 0, req.SessionID)
	if err != nil && a.err == nil {
		a.err = err
	}
	return &sdk.ToolResult{}, err
}

// A plugin whose calls lead back to it does not wait for itself, and not for ever.
func TestNestedCalls(t *testing.T) {
	t.Parallel()
	for _, state := range []string{sdk.StateSession, sdk.StatePlugin} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			grants := []sdk.Capability{{Name: sdk.CapabilityTool, Scope: []string{"again"}}}
			p, err := newRuntime(t, wasm.Options{}).Open(remote.Unit{
				Program:     module("nested.wasm"),
				Description: sdk.Description{Name: "guest", Hooks: gates(1), Runtime: &sdk.Runtime{State: state}},
				Grants:      grants, Broker: ability.New(ability.Options{Plugin: "guest", Grants: grants}),
			})
			if err != nil {
				t.Fatal(err)
			}
			h := &again{plugin: p}
			if err := p.Start(t.Context(), h); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := ask(ctx, p, 0, "one"); err != nil {
				t.Error(err)
			}
			if !errors.Is(h.err, wasm.ErrDepth) || h.calls != 8 {
				t.Errorf("%d calls, the innermost ended with %v", h.calls, h.err)
			}
		})
	}
}

// Close ends calls that run, and what comes later fails. Twice is fine, without Start, too.
func TestClose(t *testing.T) {
	t.Parallel()
	p := faultPlugin(t, newRuntime(t, wasm.Options{}))
	if _, err := ask(t.Context(), p, faultNone, ""); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	for n := range 6 {
		go func() {
			_, err := ask(t.Context(), p, []int{faultLoop, faultFib, faultHostCall}[n%3], fmt.Sprint(n))
			ended <- err
		}()
	}
	for wasm.Running(p) < 6 {
		runtime.Gosched()
	}
	if err := p.Close(t.Context()); err != nil { // the calls would go on for ever
		t.Error(err)
	}
	for range 6 {
		if err := <-ended; !errors.Is(err, wasm.ErrClosed) {
			t.Errorf("a call ended with %v", err)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Errorf("the second close: %v", err)
	}
	if _, err := ask(t.Context(), p, faultNone, ""); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("a call after close: %v", err)
	}
	r := newRuntime(t, wasm.Options{})
	unstarted, err := r.Open(remote.Unit{Program: module("echo.wasm"), Description: sdk.Description{Name: "x", Hooks: gates(1)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context(), unstarted, 0, ""); err == nil || !strings.Contains(err.Error(), "was not started") {
		t.Errorf("a call before start: %v", err)
	}
	if err := unstarted.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Close and calls at any moment: every call is answered or refused, and nothing crashes.
func TestCloseWhileCalled(t *testing.T) {
	t.Parallel()
	for range 20 {
		p := faultPlugin(t, newRuntime(t, wasm.Options{}))
		var wg sync.WaitGroup
		for n := range 4 {
			wg.Go(func() {
				for {
					if _, err := ask(t.Context(), p, faultNone, fmt.Sprint(n)); err != nil {
						if !errors.Is(err, wasm.ErrClosed) {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		runtime.Gosched()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}

// Thousands of instances that are made and thrown away leave nothing behind.
func TestDiscardedInstancesAreFreed(t *testing.T) {
	p := faultPlugin(t, newRuntime(t, wasm.Options{}))
	churn := func(n int) {
		for range n {
			if _, err := ask(t.Context(), p, 1, ""); !errors.Is(err, wasm.ErrTrap) {
				t.Fatal(err)
			}
		}
	}
	churn(200)
	heap, maps := usage(t)
	churn(3000)
	heapAfter, mapsAfter := usage(t)
	if heapAfter > heap+4<<20 || mapsAfter > maps+50 {
		t.Errorf("the heap went from %d to %d bytes, the mappings from %d to %d", heap, heapAfter, maps, mapsAfter)
	}
}

// usage returns the live heap in bytes and, where that can be known, the number of mappings of the process.
func usage(t *testing.T) (heap int64, maps int) {
	t.Helper()
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	data, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return int64(stats.HeapAlloc), 0
	}
	return int64(stats.HeapAlloc), strings.Count(string(data), "\n")
}

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/sdk"
)

// recorder records the types of the events it receives.
type recorder struct {
	mu   sync.Mutex
	list []string
}

func (r *recorder) note(e *sdk.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, e.ID)
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.list...)
}

func observer(f func(ctx context.Context, e *sdk.Event) error) sdk.Hook { return sdk.OnEvent(f) }

func event(id int) *sdk.Event {
	return &sdk.Event{ID: fmt.Sprint(id), Type: sdk.EventSessionIdle, Properties: &sdk.SessionRef{SessionID: "s"}}
}

func TestObserversAreToldInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a, b recorder
		e, _ := engine(t,
			plugin("a", observer(func(_ context.Context, e *sdk.Event) error {
				time.Sleep(time.Millisecond) // a slow observer delays neither the caller nor the other observer
				a.note(e)
				return nil
			})),
			plugin("b", observer(func(_ context.Context, e *sdk.Event) error { b.note(e); return nil })))
		var want []string
		begin := time.Now()
		for i := range 100 {
			e.Observe(sdk.PointEvent, event(i))
			want = append(want, fmt.Sprint(i))
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("Observe took %s", took)
		}
		synctest.Wait()
		if diff := cmp.Diff(want, b.all()); diff != "" {
			t.Errorf("b was told (-want +got):\n%s", diff)
		}
		if err := e.Close(t.Context()); err != nil { // what went in comes out
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, a.all()); diff != "" {
			t.Errorf("a was told (-want +got):\n%s", diff)
		}
		e.Observe(sdk.PointEvent, event(100))
		synctest.Wait()
		if n := len(a.all()); n != 100 {
			t.Errorf("%d events, one after Close", n)
		}
	})
}

func TestObserverGetsACopy(t *testing.T) {
	t.Parallel()
	meddle := observer(func(_ context.Context, e *sdk.Event) error {
		e.Properties.(*sdk.SessionRef).SessionID = "changed"
		return nil
	})
	e, _ := engine(t, plugin("a", meddle), plugin("b", meddle))
	in := event(1)
	e.Observe(sdk.PointEvent, in)
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := in.Properties.(*sdk.SessionRef).SessionID; got != "s" {
		t.Errorf("the event was changed to %q", got)
	}
}

func TestSlowObserverLosesTheNewest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen atomic.Int64
		gateway := make(chan struct{})
		e, told := engine(t, plugin("slow", observer(func(ctx context.Context, e *sdk.Event) error {
			<-gateway
			seen.Add(1)
			return nil
		})))
		const sent = 6000
		for i := range sent {
			e.Observe(sdk.PointEvent, event(i))
		}
		list := told.all()
		if len(list) != 1 || list[0].Plugin != "slow" || !strings.Contains(list[0].Message, "too slow") {
			t.Errorf("notices = %+v, want one", list)
		}
		close(gateway)
		synctest.Wait()
		if n := seen.Load(); n < 4096 || n > 4097 {
			t.Errorf("%d events were handled, want what the queue holds", n)
		}
		e.Observe(sdk.PointEvent, event(sent))
		synctest.Wait()
		if n := len(told.all()); n != 1 {
			t.Errorf("%d notices after it caught up, want 1", n)
		}
	})
}

func TestHungObserverIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := hang(t)
		var r recorder
		e, told := engine(t, plugin("a", observer(func(_ context.Context, e *sdk.Event) error {
			if e.ID == "1" {
				<-stuck.release
			}
			r.note(e)
			return nil
		})))
		for i := range 4 {
			e.Observe(sdk.PointEvent, event(i))
		}
		time.Sleep(1999 * time.Millisecond)
		synctest.Wait()
		if diff := cmp.Diff([]string{"0"}, r.all()); diff != "" {
			t.Errorf("before the deadline (-want +got):\n%s", diff)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if diff := cmp.Diff([]string{"0", "2", "3"}, r.all()); diff != "" {
			t.Errorf("after the deadline (-want +got):\n%s", diff)
		}
		if list := told.all(); len(list) != 1 || !strings.Contains(list[0].Message, "timed out after 2s") {
			t.Errorf("notices = %+v", list)
		}
		stuck.free()
		synctest.Wait()
		if n := len(told.all()); n != 1 {
			t.Errorf("%d notices, want 1: what a handler does late has no effect", n)
		}
	})
}

func TestBadObservers(t *testing.T) {
	t.Parallel()
	cases := map[string]func() error{
		"error":   func() error { return errors.New("no luck") },
		"panic":   func() error { panic("boom") },
		"goexit":  func() error { runtime.Goexit(); return nil },
		"refusal": func() error { return sdk.Deny("no") },
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var good recorder
			var calls atomic.Int64
			e, told := engine(t,
				plugin("bad", observer(func(context.Context, *sdk.Event) error { calls.Add(1); return f() })),
				plugin("good", observer(func(_ context.Context, e *sdk.Event) error { good.note(e); return nil })))
			for i := range 10 {
				e.Observe(sdk.PointEvent, event(i))
			}
			if err := e.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := len(good.all()); n != 10 {
				t.Errorf("the good observer was told %d events, want 10", n)
			}
			if n := calls.Load(); n != 3 {
				t.Errorf("the bad observer was called %d times, want 3", n)
			}
			if list := told.all(); len(list) != 4 || !list[3].Quarantined {
				t.Errorf("notices = %+v, want 3 failures and 1 quarantine", list)
			}
		})
	}
}

// TestNoNoticeAboutANotice checks that an observer that fails on notices does not make more of them.
func TestNoNoticeAboutANotice(t *testing.T) {
	t.Parallel()
	e, told := engine(t, plugin("bad", observer(func(_ context.Context, e *sdk.Event) error {
		if e.Type == sdk.EventPluginNotice {
			return errors.New("no luck")
		}
		return nil
	})))
	for i := range 10 {
		e.Observe(sdk.PointEvent, &sdk.Event{Type: sdk.EventPluginNotice, Properties: &sdk.PluginNotice{}})
		e.Observe(sdk.PointEvent, event(i))
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := told.all(); len(list) > 0 {
		t.Errorf("notices = %+v, want none", list)
	}
}

func TestCloseLeavesHungObserversBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := hang(t)
		var polite atomic.Bool
		h := observer(func(context.Context, *sdk.Event) error { <-stuck.release; return nil })
		h.Timeout = time.Minute
		p := observer(func(ctx context.Context, _ *sdk.Event) error {
			<-ctx.Done()
			polite.Store(true)
			return ctx.Err()
		})
		p.Timeout = time.Minute
		e, told := start0(t, hooks.Options{Plugins: []hooks.Plugin{plugin("stuck", h), plugin("polite", p)}})
		e.Observe(sdk.PointEvent, event(1))
		e.Observe(sdk.PointEvent, event(2))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		err := e.Close(ctx)
		if took := time.Since(begin); took != time.Second {
			t.Errorf("Close took %s, want 1s", took)
		}
		if err == nil || !strings.Contains(err.Error(), "plugin stuck: hook event") || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close = %v, want an error that names the hook", err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Errorf("second Close = %v", err)
		}
		synctest.Wait()
		if !polite.Load() {
			t.Error("the context of a handler did not end with the engine")
		}
		stuck.free()
		time.Sleep(2 * time.Minute)
		if n := len(told.all()); n > 0 {
			t.Errorf("%d notices after Close, want none", n)
		}
	})
}

// start0 is start without the final Close, which would fail on purpose.
func start0(t *testing.T, o hooks.Options) (*hooks.Engine, *notices) {
	t.Helper()
	told := &notices{}
	o.Notice = told.add
	o.Logger = discard()
	e, err := hooks.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e, told
}

// Close has nothing to report about observers that have handled all events, although it has no time to wait.
func TestCloseWithoutTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			e, _ := engine(t, plugin("a", observer(func(context.Context, *sdk.Event) error { return nil })))
			e.Observe(sdk.PointEvent, event(0))
			synctest.Wait()
			if err := e.Close(ctx); err != nil {
				t.Fatal(err)
			}
		})
	}
}

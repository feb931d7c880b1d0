package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// maxStack bounds the stack of a panic in the log, in bytes.
const maxStack = 4 << 10

// ErrNoAnswer is wrapped by the error for code that did not return before its deadline.
var ErrNoAnswer = errors.New("no answer")

// errExited is the error of code that ended its goroutine, as runtime.Goexit does.
var errExited = fmt.Errorf("%w: it ended its goroutine", ErrPanic)

// WithDeadline runs code of a plugin until the limit passes or ctx ends, and returns its result. The context of f ends when WithDeadline
// returns.
//
// f runs on its own goroutine. If it does not return in time, it is abandoned there and its result is ignored: f must not use anything that
// the caller changes later.
//
// Errors: the error of f; ErrPanic if it panicked or ended its goroutine; ErrNoAnswer after the limit; the error of ctx.
func WithDeadline[T any](ctx context.Context, log *slog.Logger, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	return withDeadline(ctx, log, limit, func(run func()) { go run() }, f) // it ends with f
}

// withDeadline is WithDeadline on a goroutine that start provides.
func withDeadline[T any](ctx context.Context, log *slog.Logger, limit time.Duration, start func(run func()), f func(context.Context) (T, error)) (none T, _ error) {
	type result struct {
		value T
		err   error
	}
	call := &callContext{Context: ctx, deadline: time.Now().Add(limit)}
	defer call.end()
	done := make(chan result, 1)
	start(func() {
		r := result{err: errExited}
		defer func() { done <- r }()
		r.value, r.err = RecoverPanic(call, log, f)
	})
	runtime.Gosched()
	select {
	case r := <-done: // usually: no timer is needed
		return r.value, r.err
	default:
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-call.Done():
	}
	select {
	case r := <-done: // f returned at the last moment
		return r.value, r.err
	default:
		return none, cmp.Or(ctx.Err(), fmt.Errorf("%w in %s", ErrNoAnswer, limit))
	}
}

// RecoverPanic runs code of a plugin. A panic becomes an error that wraps ErrPanic; its stack is logged.
func RecoverPanic[T any](ctx context.Context, log *slog.Logger, f func(context.Context) (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := make([]byte, maxStack)
			stack = stack[:runtime.Stack(stack, false)]
			log.Debug("plugin panicked", "err", p, "stack", string(stack))
			err = fmt.Errorf("%w: %v", ErrPanic, p)
		}
	}()
	return f(ctx)
}

// callContext is the context of a call with a deadline. It starts its timer at the first call of Done: most hooks never call it, and a timer
// costs more than they do.
type callContext struct {
	context.Context // of the caller
	deadline        time.Time

	mu     sync.Mutex
	armed  context.Context // nil until Done is called
	cancel context.CancelFunc
	ended  bool
}

// Deadline returns the time at which the call ends at the latest.
func (c *callContext) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.deadline) {
		return d, true
	}
	return c.deadline, true
}

// Done returns a channel that is closed when the call is over, at its deadline, or when its caller is canceled.
func (c *callContext) Done() <-chan struct{} { return c.arm().Done() }

// Err returns the reason why the call is over, or nil.
func (c *callContext) Err() error { return c.arm().Err() }

func (c *callContext) arm() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.armed == nil {
		c.armed, c.cancel = context.WithDeadline(c.Context, c.deadline)
		if c.ended {
			c.cancel()
		}
	}
	return c.armed
}

// end releases what the context holds. The call is over.
func (c *callContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.cancel != nil {
		c.cancel()
	}
}

// maxIdle bounds the goroutines that wait for a call.
const maxIdle = 8

// workers are goroutines for calls of hooks. Some stay idle for the next call: their stacks have already grown, which saves 4 µs in a call
// into WASM.
type workers struct {
	next chan func()
	idle atomic.Int32
	end  <-chan struct{} // closed when idle ones must end
}

// start runs f on an idle goroutine or a new one.
func (w *workers) start(f func()) {
	select {
	case w.next <- f:
	default:
		go w.work(f) // ends after f, or when it is idle and the engine ends
	}
}

func (w *workers) work(f func()) {
	for f != nil {
		f()
		f = nil
		if w.idle.Add(1) <= maxIdle {
			select {
			case f = <-w.next:
			case <-w.end:
			}
		}
		w.idle.Add(-1)
	}
}

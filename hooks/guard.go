package hooks

import (
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

// ErrAbandoned is returned by Guard for code that did not return in time. It wraps context.DeadlineExceeded.
var ErrAbandoned = fmt.Errorf("abandoned: %w", context.DeadlineExceeded)

// errExited is the error of code that ended its goroutine, as runtime.Goexit does.
var errExited = fmt.Errorf("%w: it ended its goroutine", ErrPanic)

// Guard runs code of a plugin for at most the limit and at most as long as ctx, and returns its result. The context of f ends when Guard
// returns.
//
// f runs on its own goroutine. If it does not return in time it is abandoned there, and what it still does is ignored: f must use nothing
// that the caller of Guard changes later.
//
// Errors: that of f; ErrPanic if it panicked or ended its goroutine; ErrAbandoned after the limit; the error of ctx.
func Guard[T any](ctx context.Context, log *slog.Logger, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	return guard(ctx, log, time.Now().Add(limit), func(j job) { go j.run() }, f) // the goroutine ends with f
}

// guard is Guard with the function that starts the goroutine.
func guard[T any](ctx context.Context, log *slog.Logger, deadline time.Time, start func(job), f func(context.Context) (T, error)) (none T, _ error) {
	c := &guarded[T]{callContext: callContext{Context: ctx, deadline: deadline}, log: log, f: f, err: errExited, returned: make(chan struct{})}
	defer c.end()
	start(c)
	runtime.Gosched() // most calls return before waiting pays
	select {
	case <-c.returned:
		return c.value, c.err
	default:
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	err := ErrAbandoned
	select {
	case <-c.returned:
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	select {
	case <-c.returned: // perhaps at the last moment
		return c.value, c.err
	default:
		return none, err
	}
}

// guarded is a call of guard. Value and error belong to its goroutine until it returned.
type guarded[T any] struct {
	callContext
	log      *slog.Logger
	f        func(context.Context) (T, error)
	value    T
	err      error
	returned chan struct{}
}

func (c *guarded[T]) run() {
	defer close(c.returned)
	c.value, c.err = Contain(&c.callContext, c.log, c.f)
}

// Contain runs code of a plugin. A panic becomes an error that wraps ErrPanic; its stack is logged.
func Contain[T any](ctx context.Context, log *slog.Logger, f func(context.Context) (T, error)) (v T, err error) {
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

// timedOut reports whether a call that took this long missed its deadline: it returned too late, or because its context ended.
func timedOut(err error, took, limit time.Duration) bool {
	return took >= limit && (err == nil || errors.Is(err, context.DeadlineExceeded))
}

// callContext is the context of a guarded call. It starts its timer on the first call of Done: most hooks never make one, and a timer costs
// more than they do.
type callContext struct {
	context.Context // of the caller
	deadline        time.Time

	mu     sync.Mutex
	armed  context.Context // nil until Done is called
	cancel context.CancelFunc
	ended  bool
}

// Deadline returns when the call ends at the latest.
func (c *callContext) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.deadline) {
		return d, true
	}
	return c.deadline, true
}

// Done returns a channel that is closed when the call is over, at its deadline, or when its caller is canceled.
func (c *callContext) Done() <-chan struct{} { return c.arm().Done() }

// Err returns why the call is over, or nil.
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

// maxIdle bounds the goroutines that wait for the next call. Their stacks have grown already, which is worth more than starting new ones.
const maxIdle = 8

// job is work for a goroutine.
type job interface{ run() }

// pool keeps goroutines for the next call. Those that are idle end when done is closed.
type pool struct {
	jobs chan job
	idle atomic.Int32
	done <-chan struct{}
}

// start runs a job on an idle goroutine or a new one.
func (p *pool) start(j job) {
	select {
	case p.jobs <- j:
	default:
		go p.work(j) // ends with the job, or once done is closed
	}
}

func (p *pool) work(j job) {
	for j != nil {
		j.run()
		j = p.next()
	}
}

func (p *pool) next() job {
	defer p.idle.Add(-1)
	if p.idle.Add(1) > maxIdle {
		return nil
	}
	select {
	case j := <-p.jobs:
		return j
	case <-p.done:
		return nil
	}
}

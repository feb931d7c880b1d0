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

// ErrAbandoned is returned for code that did not return before its deadline. It wraps context.DeadlineExceeded.
var ErrAbandoned = fmt.Errorf("abandoned: %w", context.DeadlineExceeded)

// errExited is the error of code that ended its goroutine, as runtime.Goexit does.
var errExited = fmt.Errorf("%w: it ended its goroutine", ErrPanic)

// WithDeadline runs code of a plugin, for at most the limit and at most as long as ctx, and returns its result. The context of f ends when
// WithDeadline returns.
//
// f runs on its own goroutine. If it does not return in time, it is abandoned there and its result is ignored: f must not use anything that
// the caller changes later.
//
// Errors: the error of f; ErrPanic if it panicked or ended its goroutine; ErrAbandoned after the limit; the error of ctx.
func WithDeadline[T any](ctx context.Context, log *slog.Logger, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	l := loan{pool: &pool{closed: true}}
	defer l.end()
	return withDeadline(ctx, log, time.Now().Add(limit), &l, f)
}

// withDeadline is WithDeadline on the goroutine of a loan. Calls of hooks have their deadline in the same way, see pluginHook.call.
func withDeadline[T any](ctx context.Context, log *slog.Logger, deadline time.Time, l *loan, f func(context.Context) (T, error)) (T, error) {
	c := &deadlineCall[T]{callContext: callContext{Context: ctx, deadline: deadline}, log: log, f: f}
	return c.wait(l)
}

// deadlineCall is one call of a plugin's code with a deadline. Until the code returns, value and err belong to its goroutine, which may be
// abandoned.
type deadlineCall[T any] struct {
	callContext
	log   *slog.Logger
	f     func(context.Context) (T, error)
	value T
	err   error
}

// wait runs the code on a worker and waits until it returns, the deadline passes (worker.do), or the context ends.
func (c *deadlineCall[T]) wait(l *loan) (none T, _ error) {
	c.err = errExited
	err := l.take().do(c.Context, c, c.deadline)
	c.end()
	if err != nil {
		l.drop()
		return none, err
	}
	if c.err == errExited {
		l.drop()
	}
	return c.value, c.err
}

func (c *deadlineCall[T]) run() { c.value, c.err = RecoverPanic(&c.callContext, c.log, c.f) }

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

// timedOut reports whether a call that took this long missed its deadline: it returned too late, or because its context ended.
func timedOut(err error, took, limit time.Duration) bool {
	return took >= limit && (err == nil || errors.Is(err, context.DeadlineExceeded))
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

// job is work for a goroutine.
type job interface{ run() }

// worker is a goroutine that runs one job after the other, until jobs is closed or a job ends the goroutine.
type worker struct {
	jobs chan job
	met  atomic.Bool   // the job is done, or its user waits
	done chan struct{} // receives after a job whose user waits; closed when the goroutine ends
}

func newWorker() *worker {
	w := &worker{jobs: make(chan job, 1), done: make(chan struct{}, 1)}
	go w.work() // ends when its user closes jobs
	return w
}

func (w *worker) work() {
	defer close(w.done)
	for j := range w.jobs {
		j.run()
		if w.met.Swap(true) {
			w.done <- struct{}{}
		}
	}
}

// do runs a job on the worker and waits until it is done. Errors: ErrAbandoned at the deadline, the error of ctx.
func (w *worker) do(ctx context.Context, j job, deadline time.Time) error {
	w.met.Store(false)
	w.jobs <- j
	runtime.Gosched() // most jobs are done now, and need no timer
	if w.met.Swap(true) {
		return nil
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	err := ErrAbandoned
	select {
	case <-w.done:
		return nil
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	select {
	case <-w.done: // perhaps at the last moment
		return nil
	default:
		return err
	}
}

// maxIdle bounds the idle workers of a pool. They are kept because their stacks have grown already.
const maxIdle = 8

// pool keeps idle workers for the next call, until it is closed. The zero value is empty.
type pool struct {
	mu     sync.Mutex
	idle   []*worker
	closed bool
}

// take returns an idle worker or a new one.
func (p *pool) take() *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return newWorker()
	}
	w := p.idle[last]
	p.idle = p.idle[:last]
	return w
}

// give puts an idle worker into the pool.
func (p *pool) give(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) == maxIdle {
		close(w.jobs)
		return
	}
	p.idle = append(p.idle, w)
}

// close ends the idle workers. Others end when they return.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.idle {
		close(w.jobs)
	}
	p.idle = nil
}

// loan is a worker of a pool that one caller uses for one job after the other, such as the hooks of a point, until end.
type loan struct {
	pool   *pool
	worker *worker // nil: none is needed yet, or the last one was dropped
}

func (l *loan) take() *worker {
	if l.worker == nil {
		l.worker = l.pool.take()
	}
	return l.worker
}

// drop ends the worker after its job. The loan takes another one when it needs it.
func (l *loan) drop() {
	close(l.worker.jobs)
	l.worker = nil
}

// end returns the worker to the pool.
func (l *loan) end() {
	if l.worker != nil {
		l.pool.give(l.worker)
		l.worker = nil
	}
}

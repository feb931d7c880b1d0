// Package ongoing counts operations that must end before their owner is closed.
package ongoing

import (
	"context"
	"sync"
)

// Operations are the operations of one owner. Safe for concurrent use.
type Operations struct {
	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex // no operation begins while Close ends the life
	running sync.WaitGroup
}

// New returns the operations of an owner. Their life ends with Close, not with ctx, but has the values of ctx.
func New(ctx context.Context) *Operations {
	o := &Operations{}
	o.life, o.end = context.WithCancel(context.WithoutCancel(ctx))
	return o
}

// Life ends with Close.
func (o *Operations) Life() context.Context { return o.life }

// Bound returns a context that ends with ctx and with Close.
func (o *Operations) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(o.life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// Begin begins an operation, which ends with End. It returns false after Close.
func (o *Operations) Begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.life.Err() != nil {
		return false
	}
	o.running.Add(1)
	return true
}

// End ends an operation.
func (o *Operations) End() { o.running.Done() }

// Go runs f as an operation in a goroutine. It returns false after Close.
func (o *Operations) Go(f func()) bool {
	if !o.Begin() {
		return false
	}
	go func() { // ends with f
		defer o.End()
		f()
	}()
	return true
}

// Close ends the life of the operations; no further one can begin. It does not wait for them, and may be called twice.
func (o *Operations) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end()
}

// Wait waits until all operations have ended, or returns the error of ctx. Call it after Close.
func (o *Operations) Wait(ctx context.Context) error {
	ended := make(chan struct{})
	go func() { // ends with the last operation
		o.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package wasm

import (
	"context"
	"sync"
)

// tracker counts the operations that must end before a plugin is closed.
type tracker struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// enter begins an operation, which ends with running.Done; false after close.
func (t *tracker) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.running.Add(1)
	}
	return !t.closed
}

// close makes enter fail.
func (t *tracker) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

// wait waits until all operations have ended, or returns the error of ctx. It is called after close.
func (t *tracker) wait(ctx context.Context) error {
	idle := make(chan struct{})
	go func() {
		t.running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

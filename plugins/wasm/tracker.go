package wasm

import (
	"context"
	"sync"

	"github.com/tenonhq/tenon/sdk/guest"
)

// tracker counts the operations that must end before a plugin is closed.
type tracker struct {
	life context.Context // ends with close
	end  context.CancelFunc

	mu      sync.Mutex
	running sync.WaitGroup
}

func newTracker() *tracker {
	life, end := context.WithCancel(guest.Detached())
	return &tracker{life: life, end: end}
}

// enter begins an operation, which ends with running.Done; false after close.
func (t *tracker) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.life.Err() != nil {
		return false
	}
	t.running.Add(1)
	return true
}

// close makes enter fail.
func (t *tracker) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
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

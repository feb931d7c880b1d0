package hooks

import (
	"context"
	"sync"
	"time"
)

// callContext is the context of one call of a hook. It makes its channel and its timer when somebody
// asks for Done: most hooks never do, and a timer would cost more than they.
type callContext struct {
	parent context.Context
	clock  *clock
	start  time.Duration // on the clock
	limit  time.Duration // from start

	mu     sync.Mutex
	armed  context.Context // nil until Done is called
	cancel context.CancelFunc
	ended  bool
}

// Deadline returns when the call ends at the latest.
func (c *callContext) Deadline() (time.Time, bool) {
	end := c.clock.epoch.Add(c.start + c.limit)
	if d, ok := c.parent.Deadline(); ok && d.Before(end) {
		return d, true
	}
	return end, true
}

// Done returns a channel that is closed when the call is over, at its deadline, or when its caller gives up.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.armed == nil {
		c.armed, c.cancel = context.WithDeadline(c.parent, c.clock.epoch.Add(c.start+c.limit))
		if c.ended {
			c.cancel()
		}
	}
	return c.armed.Done()
}

// Err tells why the call is over; nil while it is not.
func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.armed != nil:
		return c.armed.Err()
	case c.parent.Err() != nil:
		return c.parent.Err()
	case c.took() >= c.limit:
		return context.DeadlineExceeded
	case c.ended:
		return context.Canceled
	}
	return nil
}

// Value returns the caller's value. Once armed it asks the inner context, by which contexts made from
// this one find each other without a goroutine.
func (c *callContext) Value(key any) any {
	c.mu.Lock()
	inner := c.armed
	c.mu.Unlock()
	if inner == nil {
		inner = c.parent
	}
	return inner.Value(key)
}

// took returns how long the call has been running.
func (c *callContext) took() time.Duration { return c.clock.now() - c.start }

// end releases what the context holds. The call is over.
func (c *callContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.cancel != nil {
		c.cancel()
	}
}

// clock counts from when the engine was made. Reading it is half the price of time.Now, which reads the
// wall clock, too.
type clock struct{ epoch time.Time }

func (c *clock) now() time.Duration { return time.Since(c.epoch) }

// lifetime is the context of what an engine does for nobody in particular. It ends when the engine is closed.
type lifetime struct {
	once sync.Once
	done chan struct{}
}

func newLifetime() *lifetime { return &lifetime{done: make(chan struct{})} }

func (l *lifetime) end() { l.once.Do(func() { close(l.done) }) }

// Deadline returns that there is none.
func (l *lifetime) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done returns a channel that is closed when the engine is closed.
func (l *lifetime) Done() <-chan struct{} { return l.done }

// Err returns context.Canceled once the engine is closed.
func (l *lifetime) Err() error {
	select {
	case <-l.done:
		return context.Canceled
	default:
		return nil
	}
}

// Value returns nil.
func (l *lifetime) Value(any) any { return nil }

var _, _ context.Context = (*callContext)(nil), (*lifetime)(nil)

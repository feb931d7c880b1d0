package hooks

import "sync"

// maxIdle is how many goroutines wait for the next run. A goroutine that is used again has a stack that
// has grown already, which is worth more than starting it.
const maxIdle = 8

// crew owns the goroutines on which runs walk. Idle ones end when the crew is dismissed, busy ones
// after their run, and one that was left behind with its handler.
type crew struct {
	mu        sync.Mutex
	idle      []chan *run
	dismissed bool
}

// walk starts the steps of r on an idle goroutine or on a new one.
func (c *crew) walk(r *run) {
	c.mu.Lock()
	var work chan *run
	if n := len(c.idle); n > 0 {
		work = c.idle[n-1]
		c.idle = c.idle[:n-1]
	}
	c.mu.Unlock()
	if work == nil {
		work = make(chan *run, 1)
		go c.serve(work)
	}
	work <- r
}

// serve takes runs from work until the channel is closed or nobody needs it any more.
func (c *crew) serve(work chan *run) {
	for r := range work {
		if !r.steps() {
			return // left behind: another goroutine goes on
		}
		again := c.await(work)
		r.done <- struct{}{} // from here on r belongs to its caller
		if !again {
			return
		}
	}
}

// await lists the goroutine as idle, unless there are enough.
func (c *crew) await(work chan *run) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dismissed || len(c.idle) >= maxIdle {
		return false
	}
	c.idle = append(c.idle, work)
	return true
}

// dismiss ends the idle goroutines, now and later.
func (c *crew) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dismissed = true
	for _, work := range c.idle {
		close(work)
	}
	c.idle = nil
}

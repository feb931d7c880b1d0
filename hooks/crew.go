package hooks

import "sync"

// maxIdle is how many runs wait for the next firing with their goroutines. A goroutine that is used again
// has a stack that has grown already, which is worth more than starting it.
const maxIdle = 8

// crew keeps the idle runs. The goroutine of a run that is given back when there are enough ends, and so
// do all once the crew is dismissed.
type crew struct {
	mu        sync.Mutex
	idle      []*run
	dismissed bool
}

// take returns an idle run or a new one with its goroutine.
func (c *crew) take(e *Engine) *run {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		r := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		return r
	}
	c.mu.Unlock()
	r := &run{engine: e, work: make(chan struct{}, 1), done: make(chan struct{}, 1)}
	go r.serve() // ends when the run is given back for good or, when it was left behind, with the handler
	return r
}

// give takes a run back that nobody uses any more.
func (c *crew) give(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dismissed || len(c.idle) >= maxIdle {
		close(r.work)
		return
	}
	c.idle = append(c.idle, r)
}

// dismiss ends the idle goroutines, and the others once their runs are given back.
func (c *crew) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dismissed = true
	for _, r := range c.idle {
		close(r.work)
	}
	c.idle = nil
}

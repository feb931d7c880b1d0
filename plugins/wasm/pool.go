package wasm

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// maxIdle is the maximum number of idle instances of a plugin.
	maxIdle = 4
	// maxBusy is the maximum number of concurrent calls of a plugin; further calls wait.
	maxBusy = 16
	// trimAfter is the idle time after which an instance releases the memory that it has in common with others.
	trimAfter = time.Second
)

// pool keeps the idle instances of one plugin. An instance serves only its own session, unless it is shared.
type pool struct {
	shared  bool // one instance serves all sessions
	timeout time.Duration
	active  *tracker
	slots   chan struct{} // holds one value per running call

	mu      sync.Mutex
	idle    []*instance // longest idle first
	timer   *time.Timer // nil until an instance is idle
	stopped bool
}

func newPool(shared bool, timeout time.Duration, active *tracker) *pool {
	busy := maxBusy
	if shared {
		busy = 1
	}
	return &pool{shared: shared, timeout: timeout, active: active, slots: make(chan struct{}, busy)}
}

// get waits for its turn and returns an idle instance of the session, or nil if there is none. The caller then calls release or put. A nested
// call does not wait, because the call it would wait for may be waiting for it.
func (p *pool) get(ctx context.Context, session string, nested bool) (*instance, error) {
	if !nested {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the plugin's other calls: %w", ctx.Err())
		case <-p.active.life.Done():
			return nil, ErrClosed
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := len(p.idle) - 1; n >= 0; n-- {
		if p.shared || p.idle[n].session == session {
			i := p.idle[n]
			p.idle = slices.Delete(p.idle, n, n+1)
			return i, nil
		}
	}
	return nil, nil
}

// release ends the turn that get began.
func (p *pool) release(nested bool) {
	if !nested {
		<-p.slots
	}
}

// put returns an instance to the pool and ends the turn. A plugin with one instance keeps no instances of nested calls.
func (p *pool) put(i *instance, nested bool) {
	if p.shared && nested {
		i.close()
		return
	}
	i.since, i.trimmed = time.Now(), i.trimmed && !i.grew()
	for _, dropped := range p.keep(i) {
		dropped.close()
	}
	p.release(nested)
}

// keep adds an idle instance and returns the instances to drop.
func (p *pool) keep(i *instance) []*instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return []*instance{i}
	}
	at := len(p.idle)
	for at > 0 && p.idle[at-1].since.After(i.since) {
		at--
	}
	p.idle = slices.Insert(p.idle, at, i)
	var dropped []*instance
	if n := len(p.idle) - maxIdle; n > 0 {
		dropped = slices.Clone(p.idle[:n])
		p.idle = slices.Delete(p.idle, 0, n)
	}
	p.arm()
	return dropped
}

// arm sets the timer for the next instance to trim or drop.
func (p *pool) arm() {
	if len(p.idle) == 0 || p.stopped {
		return
	}
	next := time.Until(p.idle[0].since.Add(p.timeout))
	for _, i := range p.idle {
		if !i.trimmed {
			next = min(next, time.Until(i.since.Add(trimAfter)))
		}
	}
	if p.timer == nil {
		p.timer = time.AfterFunc(next, p.sweep)
		return
	}
	p.timer.Reset(next)
}

// sweep runs when the timer fires.
func (p *pool) sweep() {
	if !p.active.enter() {
		return
	}
	defer p.active.running.Done()
	expired, untrimmed := p.due(time.Now())
	for _, i := range expired {
		i.close()
	}
	for _, i := range untrimmed {
		i.trim()
		for _, dropped := range p.keep(i) {
			dropped.close()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arm()
}

// due removes the instances to drop or trim, and returns them.
func (p *pool) due(now time.Time) (expired, untrimmed []*instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = slices.DeleteFunc(p.idle, func(i *instance) bool {
		switch age := now.Sub(i.since); {
		case age >= p.timeout:
			expired = append(expired, i)
		case !i.trimmed && age >= trimAfter:
			untrimmed = append(untrimmed, i)
		default:
			return false
		}
		return true
	})
	return expired, untrimmed
}

// stop makes the pool drop instances from now on.
func (p *pool) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// drain closes the idle instances. No call is running then.
func (p *pool) drain() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, i := range idle {
		i.close()
	}
}

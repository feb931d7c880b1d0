package wasm

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/ongoing"
)

const (
	// maxIdle is the maximum number of idle instances of a plugin.
	maxIdle = 4
	// maxBusy is the maximum number of concurrent calls of a plugin; further calls wait.
	maxBusy = 16
	// trimAfter is the idle time after which an instance releases memory that equals other instances' memory.
	trimAfter = time.Second
)

// pool keeps the idle instances of one plugin. An instance serves only its own session, unless it is shared.
type pool struct {
	shared  bool // one instance serves all sessions
	timeout time.Duration
	active  *ongoing.Operations
	slots   chan struct{} // holds one value per running call

	mu      sync.Mutex
	idle    []*instance // longest idle first
	stopped bool
}

func newPool(shared bool, timeout time.Duration, active *ongoing.Operations) *pool {
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
		case <-p.active.Life().Done():
			return nil, ErrClosed
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := len(p.idle) - 1; n >= 0; n-- {
		if p.shared || p.idle[n].session == session {
			return p.remove(n), nil
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
	p.keep(i)
	p.release(nested)
}

// keep adds an idle instance. Without room, it drops the one that is idle for the longest time.
func (p *pool) keep(i *instance) {
	if dropped := p.add(i); dropped != nil {
		dropped.close()
	}
}

// add is keep, but returns the instance to drop.
func (p *pool) add(i *instance) (dropped *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return i
	}
	at := len(p.idle)
	for at > 0 && p.idle[at-1].since.After(i.since) {
		at--
	}
	p.idle = slices.Insert(p.idle, at, i)
	if wait := time.Until(p.dueAt(i)); i.timer == nil {
		i.timer = time.AfterFunc(wait, func() { p.due(i) })
	} else {
		i.timer.Reset(wait)
	}
	if len(p.idle) > maxIdle {
		return p.remove(0)
	}
	return nil
}

// remove removes an idle instance by its position. The caller holds mu. Its timer continues: due finds that it is not idle.
func (p *pool) remove(at int) *instance {
	i := p.idle[at]
	p.idle = slices.Delete(p.idle, at, at+1)
	return i
}

// dueAt returns the time at which an idle instance is to be trimmed or dropped.
func (p *pool) dueAt(i *instance) time.Time {
	if i.trimmed {
		return i.since.Add(p.timeout)
	}
	return i.since.Add(min(trimAfter, p.timeout))
}

// due runs when the timer of an instance fires. By then the instance may be in use, or idle again.
func (p *pool) due(i *instance) {
	if !p.active.Begin() {
		return
	}
	defer p.active.End()
	p.mu.Lock()
	at := slices.Index(p.idle, i)
	due := at >= 0 && !time.Now().Before(p.dueAt(i))
	if due {
		p.remove(at)
	}
	p.mu.Unlock()
	switch {
	case !due:
	case time.Since(i.since) >= p.timeout:
		i.close()
	default:
		i.trim()
		p.keep(i)
	}
}

// stop makes the pool drop instances from now on.
func (p *pool) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	for _, i := range p.idle {
		i.timer.Stop()
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

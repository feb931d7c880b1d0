package hooks

import (
	"context"
	"fmt"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// maxQueue bounds the queue of one observer: a few seconds of a fast model's text.
const maxQueue = 4096

// Observe queues the event for the observers at p and does not wait for them. Each gets the events in order. An observer that falls behind
// by more than maxQueue events misses the newest ones, and the user gets one notice. in must not be changed afterwards.
func (e *Engine) Observe(p sdk.Point, in any) {
	for _, o := range e.observers {
		if o.Point == p && o.push(in) {
			e.o.Notice(sdk.PluginNotice{
				Plugin: o.plugin.Name, Hook: o.label(),
				Message: fmt.Sprintf("too slow: %d events are waiting; newer ones are dropped", maxQueue),
			})
		}
	}
}

// observer is the queue of one hook. A goroutine handles the events and ends when none is left; Engine.Close waits for it.
type observer struct {
	engine *Engine
	*pluginHook

	mu     sync.Mutex
	closed bool
	queue  []any
	behind bool          // the queue was full and has not been empty since
	done   chan struct{} // closed when the goroutine ends; nil while none runs
}

// push queues an event. It reports whether the queue is full for the first time since it was empty.
func (o *observer) push(in any) (overflow bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed || o.plugin.quarantined() != "":
		return false
	case len(o.queue) == maxQueue:
		overflow, o.behind = !o.behind, true
		return overflow
	}
	o.queue = append(o.queue, in)
	if o.done == nil {
		o.done = make(chan struct{})
		go o.work()
	}
	return false
}

func (o *observer) work() {
	for in := o.next(); in != nil; in = o.next() {
		if o.plugin.quarantined() == "" && o.engine.life.Err() == nil {
			o.handle(in)
		}
	}
}

// next takes the next event from the queue. If the queue is empty, it returns nil, and the goroutine ends.
func (o *observer) next() (in any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		close(o.done)
		o.queue, o.done = nil, nil
		return nil
	}
	in, o.queue[0] = o.queue[0], nil
	o.queue = o.queue[1:]
	o.behind = o.behind && len(o.queue) > 0
	return in
}

// handle calls the handler. If it hangs, it is abandoned at its deadline, or when the engine is closed.
func (o *observer) handle(in any) {
	var inputJSON []byte
	c, err := o.newCall(in, nil, &inputJSON)
	if err != nil {
		o.engine.o.Logger.Error("event not observed", "err", err)
		return
	}
	switch _, _, err := c.run(o.engine.life, o.engine); {
	case err == nil:
		o.clearFailures()
	case o.engine.life.Err() == nil:
		event, ok := in.(*sdk.Event)
		o.engine.blame(c, inputJSON, err, ok && event.Type == sdk.EventPluginNotice) // otherwise an observer of notices would fail again at the notice about its failure
	}
}

// close refuses later events and waits until the queued ones are handled. If ctx ends first, they are dropped, and the error has their number.
func (o *observer) close(ctx context.Context) error {
	o.mu.Lock()
	o.closed = true
	done := o.done
	o.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done == nil {
		return nil
	}
	return o.error(fmt.Errorf("%d events were not handled: %w", 1+len(o.queue), ctx.Err()))
}

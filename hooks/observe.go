package hooks

import (
	"fmt"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// maxQueue bounds the queue of one observer: a few seconds of a fast model's text.
const maxQueue = 4096

// Observe queues the event for the observers at p and does not wait for them. Each gets the events in order. An observer that falls behind
// by more than maxQueue events misses the newest, with one notice for the user. in must not be changed afterwards.
func (e *Engine) Observe(p sdk.Point, in any) {
	for _, o := range e.observers {
		if o.Point == p && o.push(in) {
			e.o.Notice(sdk.PluginNotice{
				Plugin: o.plugin.Name, Hook: o.label(),
				Message: fmt.Sprintf("too slow: %d events wait, newer ones are dropped", maxQueue),
			})
		}
	}
}

// observer is the queue of one hook. A goroutine runs while events wait; Close waits for it.
type observer struct {
	engine *Engine
	*pluginHook

	mu      sync.Mutex
	queue   []any
	working bool // the goroutine runs
	behind  bool // the queue was full and has not been empty since
	closed  bool
}

// push queues an event. It reports true when the queue is full for the first time since it was empty.
func (o *observer) push(in any) (overflow bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.plugin.quarantined() != "" {
		return false
	}
	if len(o.queue) >= maxQueue {
		overflow = !o.behind
		o.behind = true
		return overflow
	}
	o.queue = append(o.queue, in)
	if !o.working {
		o.working = true
		o.engine.observing.Go(o.work) // ends when the queue is empty
	}
	return false
}

func (o *observer) work() {
	for {
		in, ok := o.next()
		if !ok {
			return
		}
		if o.plugin.quarantined() == "" {
			o.handle(in)
		}
	}
}

// next takes the next event. Without one the work is done.
func (o *observer) next() (any, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		o.queue, o.behind, o.working = nil, false, false
		return nil, false
	}
	in := o.queue[0]
	o.queue[0] = nil
	o.queue = o.queue[1:]
	return in, true
}

// handle calls the handler. If it hangs, it is abandoned at its deadline, or when the engine is closed.
func (o *observer) handle(in any) {
	var inputJSON []byte
	t, err := o.newTask(in, nil, &inputJSON)
	if err != nil {
		o.engine.o.Logger.Error("event not observed", "err", err)
		return
	}
	switch _, _, err := o.call(o.engine.life, t, o.engine); {
	case err == nil:
		o.clearFailures()
	case o.engine.life.Err() == nil:
		event, ok := in.(*sdk.Event)
		o.engine.blame(o.pluginHook, err, ok && event.Type == sdk.EventPluginNotice) // it would fail to handle that notice too
	}
}

// close refuses further events.
func (o *observer) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

// drop drops the events that are not handled. A handler that is running is abandoned when the engine ends.
func (o *observer) drop(reason error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.working {
		return nil
	}
	dropped := len(o.queue)
	o.queue = nil
	return o.error(fmt.Errorf("left behind with %d events unhandled: %w", dropped, reason))
}

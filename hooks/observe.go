package hooks

import (
	"fmt"
	"sync/atomic"

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

// observer is the queue of one hook, with a goroutine that ends after Engine.Close, which waits for it.
type observer struct {
	engine *Engine
	*pluginHook
	queue   chan any
	pending atomic.Int64  // number of events that are queued or being handled
	behind  atomic.Bool   // the queue was full and has not been empty since
	done    chan struct{} // closed when the goroutine has ended
}

// push queues an event. It reports true when the queue is full for the first time since it was empty.
func (o *observer) push(in any) (overflow bool) {
	o.engine.observing.RLock()
	defer o.engine.observing.RUnlock()
	if o.engine.closed || o.plugin.quarantined() != "" {
		return false
	}
	select {
	case o.queue <- in:
		o.pending.Add(1)
		return false
	default:
		return !o.behind.Swap(true)
	}
}

func (o *observer) work() {
	defer close(o.done)
	for in := range o.queue {
		if len(o.queue) == 0 {
			o.behind.Store(false)
		}
		if o.plugin.quarantined() == "" && o.engine.life.Err() == nil {
			o.handle(in)
		}
		o.pending.Add(-1)
	}
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

// leftBehind returns an error if events are not handled yet, for a reason. They are dropped.
func (o *observer) leftBehind(reason error) error {
	if n := o.pending.Load(); n > 0 {
		return o.error(fmt.Errorf("left behind with %d events unhandled: %w", n, reason))
	}
	return nil
}

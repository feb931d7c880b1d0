package hooks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

// maxQueue is how many events may wait for one observer: a few seconds of a fast model's text.
const maxQueue = 4096

// Observe tells the observers at p, each in the order of the calls, and does not wait for them. An
// observer that falls behind by more than maxQueue events misses the newest; the user is told once. in
// must not be changed any more.
func (e *Engine) Observe(p sdk.Point, in any) {
	at := e.points[p]
	if at == nil {
		return
	}
	if err := at.check(hookpoint.KindObserve, in, nil); err != nil {
		e.log.Error("event not observed", "err", err)
		return
	}
	for _, o := range at.told {
		if o.push(in) {
			e.notice(sdk.PluginNotice{
				Plugin: o.member.name, Hook: o.label(),
				Message: fmt.Sprintf("too slow: %d events wait, newer ones are dropped", maxQueue),
			})
		}
	}
}

func (e *Engine) addObservers() {
	for _, s := range e.points {
		if s.info.Kind != hookpoint.KindObserve {
			continue
		}
		for _, h := range s.hooks {
			o := &observer{engine: e, bound: h}
			s.told = append(s.told, o)
			e.observers = append(e.observers, o)
		}
	}
}

// observer is the queue of one hook. A worker goroutine runs while there are events; Close waits for it.
type observer struct {
	engine *Engine
	*bound

	mu      sync.Mutex
	queue   []any
	worker  *worker // nil when nothing waits
	behind  bool    // the queue was full and was not empty since
	closed  bool
	drained chan struct{} // closed by the worker when the queue is empty after close
}

// worker calls the handler for one event after the other, on a goroutine of its own. When the handler
// hangs the worker is left behind and another one takes its place. Its fields are guarded by the
// observer's lock.
type worker struct {
	busy     bool
	deadline time.Duration // on the engine's clock
	armed    bool
	timer    *time.Timer
}

// push queues an event. It reports true when the queue is full for the first time since it was empty.
func (o *observer) push(in any) (overflow bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.member.quarantined() != "" {
		return false
	}
	if len(o.queue) >= maxQueue {
		overflow = !o.behind
		o.behind = true
		return overflow
	}
	o.queue = append(o.queue, in)
	if o.worker == nil {
		o.start()
	}
	return false
}

// start needs the lock.
func (o *observer) start() {
	w := &worker{}
	o.worker = w
	go o.work(w) // ends when the queue is empty or, when it was left behind, with the handler
}

func (o *observer) work(w *worker) {
	for {
		in, ok := o.next(w)
		if !ok {
			return
		}
		if !o.handle(w, in) {
			return
		}
	}
}

// next takes the next event. Without one the worker ends.
func (o *observer) next(w *worker) (any, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.worker != w {
		return nil, false
	}
	if len(o.queue) == 0 {
		o.stop(w)
		return nil, false
	}
	in := o.queue[0]
	o.queue[0] = nil
	o.queue = o.queue[1:]
	if len(o.queue) == 0 {
		o.queue, o.behind = nil, false
	}
	return in, true
}

// stop ends the work for now. It needs the lock.
func (o *observer) stop(w *worker) {
	o.worker = nil
	if w.timer != nil {
		w.timer.Stop()
	}
	if o.drained != nil {
		close(o.drained)
		o.drained = nil
	}
}

// handle calls the handler. It reports false when the worker was left behind meanwhile.
func (o *observer) handle(w *worker, in any) bool {
	if o.member.quarantined() != "" {
		return true
	}
	var inputJSON []byte
	t, err := o.newTask(in, nil, &inputJSON)
	if err != nil {
		o.engine.log.Error("event not observed", "err", err)
		return true
	}
	if !o.enter(w, t) {
		return false
	}
	answer, err := o.call(t, o.engine.log, func() { o.gone(w, in) })
	took := t.ctx.took()
	if !o.back(w) {
		return false
	}
	if err != nil && o.engine.life.Err() != nil {
		return true
	}
	if err := o.judge(&answer, err, took); err != nil {
		o.engine.blame(o.bound, err, muted(in))
		return true
	}
	o.succeeded()
	return true
}

// muted reports whether a failure to handle in is not to be told: the notice would be the next event
// the observer fails to handle.
func muted(in any) bool {
	event, ok := in.(*sdk.Event)
	return ok && event.Type == sdk.EventPluginNotice
}

func (o *observer) enter(w *worker, t *task) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.worker != w {
		return false
	}
	start := o.engine.clock.now()
	w.busy, w.deadline = true, start+o.Timeout
	t.ctx.parent, t.ctx.clock, t.ctx.start, t.ctx.limit = o.engine.life, &o.engine.clock, start, o.Timeout
	if w.armed {
		return true // it fires early enough and then looks again
	}
	w.armed = true
	if w.timer == nil {
		w.timer = time.AfterFunc(o.Timeout, func() { o.expire(w) })
		return true
	}
	w.timer.Reset(o.Timeout)
	return true
}

func (o *observer) back(w *worker) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	w.busy = false
	return o.worker == w
}

// expire runs when the timer of a worker fires.
func (o *observer) expire(w *worker) {
	if o.expired(w) {
		o.engine.blame(o.bound, o.timeoutError(nil), false)
	}
}

func (o *observer) expired(w *worker) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	w.armed = false
	if o.worker != w || !w.busy {
		return false
	}
	if rest := w.deadline - o.engine.clock.now(); rest > 0 { // armed for an earlier event
		w.armed = true
		w.timer.Reset(rest)
		return false
	}
	o.start()
	return true
}

// gone is called when the handler has ended the worker's goroutine.
func (o *observer) gone(w *worker, in any) {
	if o.replace(w) {
		o.engine.blame(o.bound, fmt.Errorf("%w: it ended its goroutine", ErrPanic), muted(in))
	}
}

func (o *observer) replace(w *worker) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.worker != w {
		return false
	}
	w.timer.Stop()
	o.start()
	return true
}

// close refuses further events.
func (o *observer) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.worker != nil && o.drained == nil {
		o.drained = make(chan struct{})
	}
}

// wait returns when all events are handled. When ctx ends first, the rest is dropped and a handler that
// is running is left behind.
func (o *observer) wait(ctx context.Context) error {
	o.mu.Lock()
	drained := o.drained
	o.mu.Unlock()
	if drained == nil {
		return nil
	}
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.worker == nil {
		return nil
	}
	dropped := len(o.queue)
	o.queue = nil
	o.stop(o.worker)
	return o.error(fmt.Errorf("left behind with %d events unhandled: %w", dropped, ctx.Err()))
}

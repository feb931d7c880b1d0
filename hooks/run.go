package hooks

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

// Scope says what a call of Transform or Gate is about.
type Scope struct {
	Ledger  *Ledger // where the calls are recorded; nil: nowhere
	Subject string  // such as the callID of a tool call; empty for the request itself
}

// runState is who has the say over a run.
type runState uint8

const (
	inEngine  runState = iota // the walking goroutine, in code of the engine: it is waited for
	inHandler                 // the walking goroutine, in a handler or in work it causes: it may be left behind
	finished                  // the caller: the walk is over
	left                      // the caller: the handler was left behind
)

// run is one walk along hooks, on a goroutine of its own so that a handler that hangs can be left behind
// there. All hooks of a firing share the goroutine. After a hook was left behind, a new run goes on with
// the hooks behind it; what the old goroutine still does ends with its handler.
//
// The fields belong to whoever has the say. The walking goroutine reads and writes the caller's value in
// state inEngine alone, and the caller does not return in that state.
type run struct {
	engine *Engine
	kind   hookpoint.Kind
	ctx    context.Context
	scope  Scope
	firing int // in the ledger
	in     any
	value  any // nil at gates
	hooks  []*bound
	pos    int

	inputJSON []byte
	result    Result // of a transform
	votes     votes  // of a gate
	err       error  // ends the walk

	mu       sync.Mutex
	state    runState
	started  time.Duration // of the handler, on the engine's clock
	deadline time.Duration // of the handler
	armed    time.Duration // when the timer fires; 0 when it does not
	timer    *time.Timer
	cause    error         // why the handler was left behind
	work     chan struct{} // starts a walk; closed when there will be none
	done     chan struct{} // receives once a walk: it is over, or a handler was left behind
}

func (e *Engine) newRun(ctx context.Context, s *station, scope Scope, in, value any) *run {
	r := e.crew.take(e)
	r.kind, r.hooks = s.info.Kind, s.hooks
	r.ctx, r.scope, r.in, r.value = ctx, scope, in, value
	r.firing = scope.Ledger.firing()
	return r
}

// walk calls the hooks to the end of the chain and returns the run that got there. It returns when ctx
// ends, too.
func (r *run) walk() *run {
	for {
		r.work <- struct{}{}
		if r.wait() == finished {
			return r
		}
		r = r.rest()
		h := r.hooks[r.pos]
		if err := r.ctx.Err(); err != nil {
			r.abort(h, err)
			return r
		}
		r.pos++
		if !r.failed(h, r.cause, r.took()) || r.pos == len(r.hooks) {
			return r
		}
	}
}

// wait returns once the walk is over or a handler was left behind.
func (r *run) wait() runState {
	// Most handlers are done before it would pay to wait in earnest: let the walk run first.
	runtime.Gosched()
	select {
	case <-r.done:
		return r.outcome()
	default:
	}
	select {
	case <-r.done:
	case <-r.ctx.Done():
		if r.leave(r.ctx.Err()) {
			return left
		}
		<-r.done // the engine's own code, or the news that the walk is over
	}
	return r.outcome()
}

func (r *run) outcome() runState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// leave leaves the handler behind if one is running.
func (r *run) leave(cause error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != inHandler {
		return false
	}
	r.state, r.cause = left, cause
	return true
}

// rest returns a run for the hooks from the one that was left behind on. The old run is never used again;
// its goroutine ends with the handler.
func (r *run) rest() *run {
	n := r.engine.crew.take(r.engine)
	n.kind, n.ctx, n.scope, n.firing = r.kind, r.ctx, r.scope, r.firing
	n.in, n.value, n.hooks, n.pos = r.in, r.value, r.hooks, r.pos
	n.inputJSON, n.result, n.votes = r.inputJSON, r.result, r.votes
	n.cause, n.started = r.cause, r.started
	return n
}

func (r *run) took() time.Duration { return r.engine.clock.now() - r.started }

// release gives the run back for the next firing. Its timer may stay armed: when it fires it looks whether
// there is a handler to leave behind.
func (r *run) release() {
	r.mu.Lock()
	r.state, r.cause = inEngine, nil
	r.mu.Unlock()
	r.ctx, r.scope, r.in, r.value, r.hooks, r.pos = nil, Scope{}, nil, nil, nil, 0
	r.inputJSON, r.result, r.votes, r.err = nil, Result{}, votes{}, nil
	r.engine.crew.give(r)
}

// serve is the goroutine of the run: one walk after the other.
func (r *run) serve() {
	for range r.work {
		if !r.steps() {
			return // left behind
		}
		r.done <- struct{}{} // from here on the run is its caller's
	}
}

// steps walks. It reports false when it was left behind; then it must not touch the
// run any more.
func (r *run) steps() bool {
	for r.pos < len(r.hooks) {
		goOn, abandoned := r.step(r.hooks[r.pos])
		if abandoned {
			return false
		}
		r.pos++
		if !goOn {
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = finished
	return true
}

// step calls one hook. After abandoned it must not touch the run.
func (r *run) step(h *bound) (goOn, abandoned bool) {
	if reason := h.member.quarantined(); reason != "" {
		return r.consequence(h, OutcomeSkipped, quarantineError(h.member, reason), 0), false
	}
	if err := r.ctx.Err(); err != nil {
		r.abort(h, err)
		return false, false
	}
	t, err := h.newTask(r.in, r.value, &r.inputJSON)
	if err != nil {
		r.err = err
		return false, false
	}
	r.enter(h, t)
	answer, err := h.call(t, r.engine.log, r.gone)
	took := t.ctx.took()
	if !r.back() {
		return false, true
	}
	if err != nil && r.ctx.Err() != nil {
		r.abort(h, r.ctx.Err()) // it stopped because its caller gave up
		return false, false
	}
	if err := h.judge(&answer, err, took); err != nil {
		return r.failed(h, err, took), false
	}
	if r.kind == hookpoint.KindGate {
		h.succeeded()
		r.vote(h, &answer, took)
		return true, false
	}
	entry := Entry{Outcome: OutcomeUnchanged, Reason: answer.Reason}
	if t.remote != nil {
		entry.Dropped = t.remote.dropped
	}
	if len(answer.Changes) > 0 && answer.Verdict == sdk.VerdictAbstain {
		if err, abandoned = r.applyRemote(h, t, answer.Changes, &entry); abandoned {
			return false, true
		}
		if err != nil {
			return r.failed(h, err, r.took()), false
		}
		took = r.took()
	}
	return r.commit(h, t, &answer, &entry, took), false
}

// enter starts the clock. From here on the caller may leave the handler behind.
func (r *run) enter(h *bound, t *task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = r.engine.clock.now()
	r.deadline = r.started + h.Timeout
	t.ctx.parent, t.ctx.clock, t.ctx.start, t.ctx.limit = r.ctx, &r.engine.clock, r.started, h.Timeout
	r.state = inHandler
	if r.armed != 0 && r.armed <= r.deadline {
		return // it fires early enough and then looks again
	}
	r.armed = r.deadline
	if r.timer == nil {
		r.timer = time.AfterFunc(h.Timeout, r.expire)
		return
	}
	r.timer.Reset(h.Timeout)
}

// resume gives the hook what is left of its time, for work that it causes. It reports false when nothing is left.
func (r *run) resume() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := r.deadline - r.engine.clock.now()
	if rest <= 0 {
		return false
	}
	r.state = inHandler
	if r.armed == 0 || r.armed > r.deadline {
		r.armed = r.deadline
		r.timer.Reset(rest)
	}
	return true
}

// back ends the handler's time. It reports false when the handler was left behind.
func (r *run) back() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == left {
		return false
	}
	r.state = inEngine
	return true
}

// expire runs when the timer fires.
func (r *run) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.armed = 0
	if r.state != inHandler {
		return
	}
	if rest := r.deadline - r.engine.clock.now(); rest > 0 { // armed for an earlier hook
		r.armed = r.deadline
		r.timer.Reset(rest)
		return
	}
	r.state, r.cause = left, r.hooks[r.pos].timeoutError(nil)
	r.done <- struct{}{}
}

// gone is called when the handler has ended the walking goroutine.
func (r *run) gone() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == left {
		return
	}
	r.state, r.cause = left, fmt.Errorf("%w: it ended its goroutine", ErrPanic)
	r.done <- struct{}{}
}

// abort ends the walk because the caller gave up; the hook is not to blame.
func (r *run) abort(h *bound, err error) {
	r.err = err
	r.record(h, &Entry{Outcome: OutcomeAborted, Error: err.Error()}, 0)
}

// failed blames the plugin and does what the failure policy says. It reports whether the walk goes on.
func (r *run) failed(h *bound, err error, took time.Duration) bool {
	r.engine.blame(h, err, false)
	outcome := OutcomeError
	if errors.Is(err, ErrTimeout) {
		outcome = OutcomeTimeout
	}
	return r.consequence(h, outcome, err, took)
}

// consequence does what the failure policy of the hook says.
func (r *run) consequence(h *bound, outcome Outcome, err error, took time.Duration) bool {
	entry := Entry{Outcome: outcome, Error: err.Error()}
	blamed := h.error(err)
	switch h.OnError {
	case sdk.OnErrorStop:
		r.err = blamed
	case sdk.OnErrorDeny:
		entry.Verdict, entry.Reason = sdk.VerdictDeny, blamed.Error()
		if r.kind == hookpoint.KindGate {
			r.votes.add(sdk.VerdictDeny, entry.Reason, "", h.member.name)
		} else {
			r.result = Result{Verdict: sdk.VerdictDeny, Reason: entry.Reason, Plugin: h.member.name}
		}
	}
	r.record(h, &entry, took)
	return r.err == nil && r.result.Verdict == ""
}

// record writes an entry to the ledger.
func (r *run) record(h *bound, e *Entry, took time.Duration) {
	if r.scope.Ledger == nil {
		return
	}
	e.Firing, e.Subject = r.firing, r.scope.Subject
	e.Point, e.Plugin, e.Version, e.Hook = h.Point, h.member.name, h.member.version, h.Name
	e.DurationUS = took.Microseconds()
	r.scope.Ledger.add(e)
}

package mcp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// State is where a server stands.
type State string

// The states of a server.
const (
	StateIdle       State = "idle"       // not started: nobody has needed it yet
	StateStarting   State = "starting"   // for the first time
	StateReady      State = "ready"      // connected
	StateRestarting State = "restarting" // it went away and is started again
	StateFailed     State = "failed"     // it could not be started; a call tries again
	StateClosed     State = "closed"
)

const (
	// firstBackoff is the wait before the second try in a row; it doubles up to maxBackoff.
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = time.Minute
	// maxFailures is how often a server is started in a row without being of use. Then only a call starts it again.
	maxFailures = 6
	// retryGap is how long after a failed start a call does not cause another one.
	retryGap = time.Second
)

var errClosed = errors.New("the server was closed")

// link keeps one server connected. One goroutine, run, owns the connection; others ask for it with get.
type link struct {
	dial func(ctx context.Context) (*conn, error)
	// ready is called with every new connection, before anybody else gets it.
	ready func(ctx context.Context, c *conn)

	wanted chan struct{} // somebody needs the server now
	done   chan struct{}

	mu       sync.Mutex
	state    State
	reason   error // of StateFailed and StateRestarting
	conn     *conn // of StateReady
	changed  chan struct{}
	failures int // tries that failed, since the start
	failed   time.Time
	starts   int // connections made
	used     bool
}

func newLink(dial func(context.Context) (*conn, error), ready func(context.Context, *conn)) *link {
	return &link{
		dial: dial, ready: ready, state: StateIdle,
		wanted: make(chan struct{}, 1), done: make(chan struct{}), changed: make(chan struct{}),
	}
}

// run connects, again and again, until ctx ends. With eager it does not wait to be needed.
func (l *link) run(ctx context.Context, eager bool) {
	defer close(l.done)
	defer l.set(StateClosed, nil, errClosed)
	inRow := 0
	for wait := eager; wait || l.await(ctx, -1); wait = l.await(ctx, backoff(inRow)) {
		if inRow == 0 && l.stateNow() == StateIdle {
			l.set(StateStarting, nil, nil)
		}
		c, err := l.dial(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			inRow++
			l.fail(err)
			continue
		}
		if l.serve(ctx, c) {
			inRow = 0
		} else {
			inRow++
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// serve offers the connection until it is lost and reports whether it was of use.
func (l *link) serve(ctx context.Context, c *conn) bool {
	ctx, cancel := context.WithCancel(ctx)
	var listening sync.WaitGroup
	listening.Go(func() { c.listen(ctx) }) // ends with ctx
	l.ready(ctx, c)
	l.set(StateReady, c, nil)
	select {
	case <-c.wire.lost:
		l.set(StateRestarting, nil, c.wire.cause)
	case <-ctx.Done():
		l.set(StateClosed, nil, errClosed)
	}
	cancel()
	c.close()
	listening.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	used := l.used
	l.used = false
	return used
}

// await waits until the next try is due: after d, or when somebody needs the server. A negative d waits for need alone. It reports
// false when ctx ended.
func (l *link) await(ctx context.Context, d time.Duration) bool {
	var due <-chan time.Time
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-l.wanted:
	case <-ctx.Done():
		return false
	}
	select { // a need from before the try is met by it
	case <-l.wanted:
	default:
	}
	return true
}

// backoff returns the wait after a number of tries in a row that were of no use: none at first, none that ends by itself after many.
func backoff(inRow int) time.Duration {
	switch {
	case inRow == 0:
		return 0
	case inRow > maxFailures:
		return -1
	}
	d := min(firstBackoff<<(inRow-1), maxBackoff)
	return d + rand.N(d/4+1) // not all at once
}

func (l *link) set(state State, c *conn, reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c != nil {
		l.starts++
	}
	l.state, l.conn, l.reason = state, c, reason
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *link) fail(err error) {
	l.mu.Lock()
	l.failures++
	l.failed = time.Now()
	l.mu.Unlock()
	l.set(StateFailed, nil, err)
}

func (l *link) stateNow() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// get returns the connection, and starts the server when it does not run. It waits for as long as ctx lasts, and not at all for a
// server that just could not be started.
func (l *link) get(ctx context.Context) (*conn, error) {
	before := -1
	for {
		l.mu.Lock()
		state, c, reason, changed, failures := l.state, l.conn, l.reason, l.changed, l.failures
		fresh := time.Since(l.failed) < retryGap
		l.mu.Unlock()
		if before < 0 {
			before = failures
			if state == StateFailed && fresh {
				return nil, reason
			}
		}
		switch {
		case c != nil && !c.wire.isLost():
			return c, nil
		case state == StateClosed:
			return nil, errClosed
		case state == StateFailed && failures > before:
			return nil, reason
		}
		if state != StateStarting && c == nil {
			select {
			case l.wanted <- struct{}{}:
			default:
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("the server is not ready yet (%s)", state), context.Cause(ctx))
		}
	}
}

// worked notes that the connection was of use: when it is lost, it is made again at once.
func (l *link) worked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = true
}

// settled waits until the server is ready or could not be started, for as long as ctx lasts.
func (l *link) settled(ctx context.Context) {
	for {
		l.mu.Lock()
		state, changed := l.state, l.changed
		l.mu.Unlock()
		if state == StateReady || state == StateFailed || state == StateClosed {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

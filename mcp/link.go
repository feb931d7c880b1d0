package mcp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// state is the state of a server, as errors show it.
type state string

// The states of a server.
const (
	stateIdle       state = "idle"       // not started: not needed yet
	stateStarting   state = "starting"   // first start
	stateReady      state = "ready"      // connected
	stateRestarting state = "restarting" // connection lost; starting again
	stateFailed     state = "failed"     // start failed; a call tries again
	stateClosed     state = "closed"
)

const (
	// firstBackoff is the wait before the second consecutive attempt; it doubles up to maxBackoff.
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = time.Minute
	// maxFailures is the number of consecutive failed starts after which only a call starts the server again.
	maxFailures = 6
	// retryGap is the time after a failed start during which a call does not start the server.
	retryGap = time.Second
)

var errClosed = errors.New("the server was closed")

// link keeps one server connected. One goroutine, run, owns the connection; others get it with get.
type link struct {
	dial func(ctx context.Context) (*connection, error)
	// ready is called with every new connection, before get returns it.
	ready func(ctx context.Context, c *connection)
	// failure is called after each start that failed.
	failure func(err error)

	wanted chan struct{} // the server is needed now

	mu       sync.Mutex
	state    state
	reason   error       // of stateFailed and stateRestarting
	conn     *connection // of stateReady
	changed  chan struct{}
	failures int // consecutive failed attempts
	failed   time.Time
	starts   int // number of connections
	used     bool
}

func newLink(dial func(context.Context) (*connection, error), ready func(context.Context, *connection), failure func(error)) *link {
	return &link{
		dial: dial, ready: ready, failure: failure, state: stateIdle,
		wanted: make(chan struct{}, 1), changed: make(chan struct{}),
	}
}

// run connects repeatedly until ctx ends: first after a delay, or when the server is needed; a negative delay waits only for the latter.
func (l *link) run(ctx context.Context, delay time.Duration) {
	defer l.set(stateClosed, nil, errClosed)
	inRow := 0
	for due := l.await(ctx, delay); due; due = l.await(ctx, backoff(inRow)) {
		if inRow == 0 && l.stateNow() == stateIdle {
			l.set(stateStarting, nil, nil)
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

// serve offers the connection until it is lost and reports whether it was used successfully.
func (l *link) serve(ctx context.Context, c *connection) bool {
	ctx, cancel := context.WithCancel(ctx)
	var listening sync.WaitGroup
	listening.Go(func() { c.Listen(ctx) }) // ends with ctx
	l.ready(ctx, c)
	l.set(stateReady, c, nil)
	select {
	case <-c.Lost():
		l.set(stateRestarting, nil, c.Cause())
	case <-ctx.Done():
		l.set(stateClosed, nil, errClosed)
	}
	cancel()
	c.Close()
	listening.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	used := l.used
	l.used = false
	return used
}

// await waits until the next attempt: after d, or when the server is needed. If d is negative, it waits only until the server is
// needed. It returns false if ctx ended.
func (l *link) await(ctx context.Context, d time.Duration) bool {
	var due <-chan time.Time
	if d >= 0 {
		due = time.After(d)
	}
	select {
	case <-due:
	case <-l.wanted:
	case <-ctx.Done():
		return false
	}
	select { // an earlier need is met by this attempt
	case <-l.wanted:
	default:
	}
	return true
}

// backoff returns the wait after a number of consecutive failures: none at first, a negative one after too many.
func backoff(inRow int) time.Duration {
	switch {
	case inRow == 0:
		return 0
	case inRow > maxFailures:
		return -1
	}
	d := min(firstBackoff<<(inRow-1), maxBackoff)
	return d + rand.N(d/4+1) // spread the restarts
}

func (l *link) set(now state, c *connection, reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c != nil {
		l.starts++
	}
	l.state, l.conn, l.reason = now, c, reason
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *link) fail(err error) {
	l.mu.Lock()
	l.failures++
	l.failed = time.Now()
	l.mu.Unlock()
	l.set(stateFailed, nil, err)
	l.failure(err)
}

func (l *link) stateNow() state {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// get returns the connection and starts the server if necessary. It waits at most until ctx ends, and not at all for a
// server whose start has just failed.
func (l *link) get(ctx context.Context) (*connection, error) {
	l.mu.Lock()
	before, reason := l.failures, l.reason
	justFailed := l.state == stateFailed && time.Since(l.failed) < retryGap
	l.mu.Unlock()
	if justFailed {
		return nil, reason
	}
	for {
		l.mu.Lock()
		state, c, reason, changed, failures := l.state, l.conn, l.reason, l.changed, l.failures
		l.mu.Unlock()
		switch {
		case c != nil && c.Cause() == nil:
			return c, nil
		case state == stateClosed:
			return nil, errClosed
		case state == stateFailed && failures > before:
			return nil, reason
		}
		if state != stateStarting && c == nil {
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

// worked records a successful request: a lost connection is then replaced immediately.
func (l *link) worked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = true
}

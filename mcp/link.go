package mcp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
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
	// firstBackoff is the wait before the second consecutive attempt; it doubles.
	firstBackoff = 500 * time.Millisecond
	// maxFailures is the number of consecutive failed starts after which only a call starts the server again.
	maxFailures = 6
	// retryGap is the time after a failed start during which a call does not start the server.
	retryGap = time.Second
)

var errClosed = errors.New("the server was closed")

// link keeps one server connected. One goroutine, run, owns the connection; others get it with get.
type link struct {
	plugin *Plugin
	wanted chan struct{} // the server is needed now
	used   atomic.Bool   // a request has succeeded on this connection: if it is lost, it is replaced immediately

	mu sync.Mutex
	condition
}

// condition is the condition of a link at one moment.
type condition struct {
	state    state
	reason   error         // for stateFailed and stateRestarting
	conn     *connection   // for stateReady
	changed  chan struct{} // closed when the condition changes
	failures int           // failed starts
	failed   time.Time     // the last failed start
	starts   int           // number of connections
}

func newLink(p *Plugin) *link {
	return &link{plugin: p, wanted: make(chan struct{}, 1), condition: condition{state: stateIdle, changed: make(chan struct{})}}
}

// now returns the current condition.
func (l *link) now() condition {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.condition
}

func (l *link) set(now state, c *connection, reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch now {
	case stateReady:
		l.starts++
	case stateFailed:
		l.failures++
		l.failed = time.Now()
	}
	l.state, l.conn, l.reason = now, c, reason
	close(l.changed)
	l.changed = make(chan struct{})
}

// run connects repeatedly until ctx ends. It connects first after the delay or when the server is needed; if the delay is negative, only
// when the server is needed.
func (l *link) run(ctx context.Context, delay time.Duration) {
	defer l.set(stateClosed, nil, errClosed)
	for inRow := 0; ; delay = backoff(inRow) {
		done, ok := l.await(ctx, delay)
		if !ok {
			done()
			return
		}
		if l.now().state == stateIdle {
			l.set(stateStarting, nil, nil)
		}
		c, err := l.plugin.dial(ctx)
		done()
		inRow++
		switch {
		case err == nil && l.serve(ctx, c):
			inRow = 0
		case err != nil && ctx.Err() == nil:
			l.set(stateFailed, nil, err)
			l.plugin.report(err, needsSignIn(err))
		}
	}
}

// serve offers the connection until it is lost and reports whether it was used successfully.
func (l *link) serve(ctx context.Context, c *connection) bool {
	c.Listen()
	l.plugin.update(c.definition.Load())                         // before get returns the connection
	l.plugin.running.Go(func() { l.plugin.resubscribe(ctx, c) }) // ends with the connection
	l.set(stateReady, c, nil)
	select {
	case <-c.Lost():
		l.set(stateRestarting, nil, c.Cause())
	case <-ctx.Done():
		l.set(stateClosed, nil, errClosed)
	}
	c.Close()
	return l.used.Swap(false)
}

// await waits until the next attempt: until d has passed and Options.Turns has room, or until the server is needed. If d is negative, it waits
// only until the server is needed. done frees the room. It returns false if ctx ended.
func (l *link) await(ctx context.Context, d time.Duration) (done func(), ok bool) {
	done = func() {}
	var due <-chan time.Time
	if d >= 0 {
		due = time.After(d)
	}
	select {
	case <-due:
		select {
		case l.plugin.options.Turns <- struct{}{}:
			done = func() { <-l.plugin.options.Turns }
		case <-l.wanted:
		case <-ctx.Done():
		}
	case <-l.wanted:
	case <-ctx.Done():
	}
	select { // an earlier need is met by this attempt
	case <-l.wanted:
	default:
	}
	return done, ctx.Err() == nil
}

// backoff returns the wait after a number of consecutive failures: none at first, a negative one after too many.
func backoff(inRow int) time.Duration {
	switch {
	case inRow == 0:
		return 0
	case inRow >= maxFailures:
		return -1
	}
	d := firstBackoff << (inRow - 1)
	return d + rand.N(d/4+1) // spread the restarts
}

// get returns the connection and starts the server if necessary. It waits at most until ctx ends, and not at all for a
// server whose start has just failed.
func (l *link) get(ctx context.Context) (*connection, error) {
	before := l.now()
	if before.state == stateFailed && time.Since(before.failed) < retryGap {
		return nil, before.reason
	}
	for {
		now := l.now()
		switch {
		case now.conn != nil && now.conn.Cause() == nil:
			return now.conn, nil
		case now.state == stateClosed:
			return nil, errClosed
		case now.state == stateFailed && now.failures > before.failures:
			return nil, now.reason
		}
		if now.state != stateStarting && now.conn == nil {
			select {
			case l.wanted <- struct{}{}:
			default:
			}
		}
		select {
		case <-now.changed:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("the server is not ready yet (%s)", now.state), context.Cause(ctx))
		}
	}
}

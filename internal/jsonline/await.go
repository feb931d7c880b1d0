package jsonline

import (
	"bytes"
	"errors"
	"os"
	"time"
)

// patience is the time without requests after which Serve reads again. Usually the next hook of a step follows sooner.
const patience = time.Millisecond

// awaitTime is the maximum time for which a caller of Ask reads. The caller's context does not interrupt the read.
const awaitTime = 5 * time.Millisecond

// deadliner is a stream whose reads end at a deadline.
type deadliner interface{ SetReadDeadline(time.Time) error }

// limited returns stream if its reads can have a deadline, otherwise nil.
func limited(stream any) deadliner {
	if d, ok := stream.(deadliner); ok && d.SetReadDeadline(time.Time{}) == nil {
		return d
	}
	return nil
}

// await reads in the goroutine of the caller until the response to its request of Ask has come, but at most for some milliseconds. That saves
// waking the caller, and the threads that the scheduler wakes with it. await returns early if another goroutine reads, or if another message
// arrives than a response to such a request; then Serve reads.
func (c *Conn) await(id uint64) {
	if c.reads == nil || !c.reading.TryLock() {
		return
	}
	_ = c.reads.SetReadDeadline(time.Now().Add(awaitTime)) // fails if the stream is closed
	c.readFor(id)
	_ = c.reads.SetReadDeadline(time.Time{})
	left := c.left != nil
	c.reading.Unlock()
	if left || c.busy() {
		c.wake()
	}
}

// readFor is await for a goroutine that holds reading.
func (c *Conn) readFor(id uint64) {
	for c.left == nil {
		if _, ok := c.request(id); !ok {
			return
		}
		m, err := c.receive()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if err != nil || m.Method != "" || !c.own(m.ID) {
			c.left = &received{m, err}
			return
		}
		c.Update(m.ID, m)
	}
}

// received is a message, or the error that ended the connection.
type received struct {
	m   *Message
	err error
}

// receive returns the next message. The caller holds reading. After os.ErrDeadlineExceeded it may be called again.
func (c *Conn) receive() (*Message, error) {
	if left := c.left; left != nil {
		c.left = nil
		return left.m, left.err
	}
	for {
		line, err := c.lines.next()
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return Decode(line)
		}
	}
}

// pause waits until Serve is needed: callers read for themselves as long as one call follows the other.
func (c *Conn) pause() {
	for last := uint64(0); ; {
		select {
		case <-c.wanted:
			return
		case <-time.After(patience):
		}
		c.mu.Lock()
		idle := c.last == last
		last = c.last
		c.mu.Unlock()
		if idle {
			return
		}
	}
}

// wake ends pause, or the next one.
func (c *Conn) wake() {
	select {
	case c.wanted <- struct{}{}:
	default:
	}
}

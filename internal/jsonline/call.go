package jsonline

import (
	"context"
	"encoding/json"
)

// Call is a request whose messages are queued for the receiver, up to a limit. When the queue is full, nothing more is
// read from the other end.
type Call struct {
	conn     *Conn
	ctx      context.Context
	messages chan *Message
	units    chan struct{} // holds the units of messages
	answered func() bool   // called when the response has arrived: no cancel is sent afterwards
}

// Limits of the messages of a call that were not received yet: 256 KiB, or one larger message.
const (
	maxUnits  = 1024
	unitBytes = 256
)

// units returns the number of units of a message, at least 1.
func units(m *Message) int { return min(1+(len(m.Params)+len(m.Result))/unitBytes, maxUnits) }

// Start sends a request. If ctx ends before the response was received, the other end gets a notification "cancel". Errors: ErrClosed, the
// cause of ctx.
func (c *Conn) Start(ctx context.Context, method string, params json.RawMessage) (*Call, error) {
	call := &Call{conn: c, ctx: ctx, messages: make(chan *Message, maxUnits), units: make(chan struct{}, maxUnits)}
	id := c.NextID()
	cancel := func() {
		c.Forget(id)
		c.Cancel(id)
	}
	if sent, err := c.Begin(ctx, id, method, params, call.put); err != nil {
		if sent {
			cancel()
		}
		return nil, err
	}
	call.answered = context.AfterFunc(ctx, cancel)
	return call, nil
}

// put adds a message. If the queue is full, it waits, so that the goroutine that calls it stops reading. After Close, it
// drops messages that have no room.
func (c *Call) put(m *Message) {
	for range units(m) {
		select {
		case c.units <- struct{}{}:
			continue
		default:
		}
		select {
		case c.units <- struct{}{}:
		case <-c.ctx.Done():
			return
		case <-c.conn.closed:
			return
		}
	}
	c.messages <- m // each has a unit, so there is room
}

// Next returns the next message; the response, which has no method, is the last. Errors: *Error of the other end, ErrClosed, the cause of the
// context.
func (c *Call) Next() (*Message, error) {
	var m *Message
	select {
	case m = <-c.messages:
	case <-c.ctx.Done():
		return nil, context.Cause(c.ctx)
	case <-c.conn.done:
		select {
		case m = <-c.messages: // what came before the end
		default:
			c.answered()
			return nil, ErrClosed
		}
	}
	for range units(m) {
		<-c.units
	}
	if m.Method == "" {
		c.answered()
	}
	if m.Error != nil {
		return nil, m.Error
	}
	return m, nil
}

// Call sends a request and waits for its response. It drops other messages. Errors: those of Start and Next.
func (c *Conn) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	call, err := c.Start(ctx, method, params)
	if err != nil {
		return nil, err
	}
	for {
		m, err := call.Next()
		if err != nil {
			return nil, err
		}
		if m.Method == "" {
			return m.Result, nil
		}
	}
}

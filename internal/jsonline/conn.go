package jsonline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// ErrClosed is returned when the connection has ended.
var ErrClosed = errors.New("the connection has ended")

// bufferBytes is the size of the buffer for reading; most messages fit into it.
const bufferBytes = 64 << 10

// Conn is one end of a connection. Both ends may call the other. Safe for concurrent use.
type Conn struct {
	stream io.ReadWriteCloser
	close  sync.Once
	closed chan struct{} // closed by Close
	done   chan struct{} // closed when Serve has returned

	writing chan struct{}         // holds an element while a message is written
	now     func(line []byte) int // writes as much as the stream accepts without waiting; nil if the stream may wait
	out     []byte

	reads   deadliner // nil if only Serve reads
	reading sync.Mutex
	lines   *reader
	left    *received     // message that await read and Serve must handle
	wanted  chan struct{} // has an element if Serve is to read immediately

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]request
}

// request is a request without a response.
type request struct {
	take func(*Message)
	own  bool // the goroutine of the request reads for itself
}

// New returns a connection over stream, which Close closes.
func New(stream io.ReadWriteCloser) *Conn {
	return &Conn{
		stream: stream, closed: make(chan struct{}), done: make(chan struct{}), writing: make(chan struct{}, 1), now: writerNow(stream),
		reads: limited(stream), lines: &reader{buffer: bufio.NewReaderSize(stream, bufferBytes)}, wanted: make(chan struct{}, 1),
		waiting: map[uint64]request{},
	}
}

// Serve reads until the connection ends: responses go to their requests, requests and notifications of the other end to handle, in order. handle
// should return soon, because the next message waits for it. The end of the input between two messages is io.EOF. The stream stays open, so that
// the caller can note the reason before the other end sees that it closes. After a response to a request of Ask, callers of Ask read for
// themselves; Serve continues within a few milliseconds after the last of them.
func (c *Conn) Serve(handle func(*Message)) error {
	defer close(c.done)
	for {
		if err := c.serve(handle); err != nil {
			return err
		}
		if !c.busy() {
			c.pause()
		}
	}
}

// serve reads until the connection ends, and returns the error, or until callers can read for themselves.
func (c *Conn) serve(handle func(*Message)) error {
	c.reading.Lock()
	defer c.reading.Unlock()
	for {
		m, err := c.receive()
		switch {
		case err != nil:
			c.left = &received{nil, err} // no caller reads afterwards
			return err
		case m.Method != "":
			handle(m)
		default:
			own := c.own(m.ID)
			c.Update(m.ID, m)
			if own && !c.busy() {
				return nil
			}
		}
	}
}

// Close ends the connection, and waits for a message that is being written. It may be called twice.
func (c *Conn) Close() {
	c.close.Do(func() {
		close(c.closed)
		_ = c.stream.Close()
		c.writing <- struct{}{} // no message is written afterwards
	})
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// NextID returns the ID for a request.
func (c *Conn) NextID() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	return c.last
}

// Begin sends a request with an ID of NextID. take receives the messages of the request, in a goroutine that reads; it must not wait long. If
// ctx ends before the request is written, sent reports whether the other end may still receive it.
func (c *Conn) Begin(ctx context.Context, id uint64, method string, params json.RawMessage, take func(*Message)) (sent bool, err error) {
	sent, err = c.begin(ctx, id, method, params, request{take: take})
	c.wake()
	return sent, err
}

// Ask is Begin for a caller that next waits for the response: it may read for it in this goroutine for some milliseconds.
func (c *Conn) Ask(ctx context.Context, id uint64, method string, params json.RawMessage, take func(*Message)) (sent bool, err error) {
	sent, err = c.begin(ctx, id, method, params, request{take, c.reads != nil})
	if err == nil {
		c.await(id)
	}
	return sent, err
}

func (c *Conn) begin(ctx context.Context, id uint64, method string, params json.RawMessage, r request) (sent bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	c.mu.Lock()
	c.waiting[id] = r
	c.mu.Unlock()
	if sent, err = c.write(ctx.Done(), &Message{ID: id, Method: method, Params: params}); !sent {
		c.Forget(id)
	}
	if errors.Is(err, errAbandoned) {
		err = context.Cause(ctx)
	}
	return sent, err
}

// request returns the request that waits with this ID.
func (c *Conn) request(id uint64) (request, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.waiting[id]
	return r, ok
}

// own reports whether the goroutine of a request reads for itself.
func (c *Conn) own(id uint64) bool {
	r, _ := c.request(id)
	return r.own
}

// busy reports whether requests wait.
func (c *Conn) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting) > 0
}

// Update gives a message to the request that waits with this ID, if any. A response ends the wait.
func (c *Conn) Update(id uint64, m *Message) {
	c.mu.Lock()
	take := c.waiting[id].take
	if m.Method == "" {
		delete(c.waiting, id)
	}
	c.mu.Unlock()
	if take != nil {
		take(m)
	}
}

// Forget drops a request: its response is ignored.
func (c *Conn) Forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// Cancel notifies the other end that its response is no longer needed. It does not wait.
func (c *Conn) Cancel(id uint64) {
	go func() { _ = c.Notify("cancel", map[string]uint64{"id": id}) }() // ends when it is written, or with Close
}

// Notify sends a notification. It returns ErrTooLong for one with more than 16 MiB, for which the other end would end the connection.
func (c *Conn) Notify(method string, params any) error {
	body, err := jsontext.Marshal(params)
	switch {
	case err != nil:
		return err
	case len(body) > maxNotice:
		return fmt.Errorf("%w: %s of %d bytes, at most %d MiB are passed on", ErrTooLong, method, len(body), maxNotice>>20)
	}
	_, err = c.write(nil, &Message{Method: method, Params: body})
	return err
}

// Reply answers a request. If problem is nil, result is sent; an empty result is null.
func (c *Conn) Reply(id uint64, result json.RawMessage, problem *Error) error {
	_, err := c.write(nil, &Message{ID: id, Result: result, Error: problem})
	return err
}

// errAbandoned is the error of write if abandoned was closed first.
var errAbandoned = errors.New("the message was abandoned")

// write writes a message. If abandoned is closed first, sent reports whether the rest of the message will still be written. Errors:
// ErrClosed, errAbandoned.
func (c *Conn) write(abandoned <-chan struct{}, m *Message) (sent bool, err error) {
	select {
	case c.writing <- struct{}{}:
	case <-abandoned:
		return false, errAbandoned
	case <-c.closed:
		return false, ErrClosed
	}
	written, err := c.start(m)
	if written == nil {
		return err == nil, err
	}
	select {
	case err := <-written:
		return err == nil, err
	case <-abandoned:
		return true, errAbandoned
	}
}

// start writes a message. The caller has put an element into writing, which is removed afterwards. If the stream does not take the whole message
// now, a goroutine writes the rest, and written receives its error.
func (c *Conn) start(m *Message) (written <-chan error, err error) {
	line, err := m.encode(c.out[:0])
	if err != nil {
		<-c.writing
		return nil, err
	}
	if c.out = line; cap(line) > keptBytes {
		c.out = nil
	}
	if c.now != nil {
		line = line[c.now(line):]
	}
	if len(line) == 0 {
		<-c.writing
		return nil, nil
	}
	outcome := make(chan error, 1)
	go func() { // ends when the other end has read enough, or with Close, which waits
		_, err := c.stream.Write(line)
		if err != nil {
			err = ErrClosed
		}
		<-c.writing
		outcome <- err
	}()
	return outcome, nil
}

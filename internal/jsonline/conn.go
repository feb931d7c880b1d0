package jsonline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// ErrClosed is returned when the connection has ended.
var ErrClosed = errors.New("the connection has ended")

// bufferBytes is the size of the buffer for reading; most messages fit in.
const bufferBytes = 64 << 10

// Conn is one end of a connection. Both ends may call the other. Safe for concurrent use.
type Conn struct {
	stream io.ReadWriteCloser
	done   chan struct{} // closed when Serve has returned

	now     func(line []byte) int // writes as much as the stream accepts without waiting; nil if the stream may wait
	writing sync.Mutex
	out     []byte
	rest    []byte // of a line that now wrote a part of

	reads   deadliner // nil if only Serve reads
	reading sync.Mutex
	lines   *reader
	left    *received     // read by Await for Serve
	wanted  chan struct{} // has an element if Serve is to read immediately

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]call
}

// call is a request without a response.
type call struct {
	take func(*Message)
	own  bool // its goroutine calls Await
}

// New returns a connection over stream, which Close closes.
func New(stream io.ReadWriteCloser) *Conn {
	return &Conn{
		stream: stream, done: make(chan struct{}), now: writerNow(stream), reads: limited(stream),
		lines: &reader{buffer: bufio.NewReaderSize(stream, bufferBytes)}, wanted: make(chan struct{}, 1), waiting: map[uint64]call{},
	}
}

// Serve reads until the connection ends: responses go to their calls, requests and notifications to handle, in order. handle should return
// soon, because the next message waits for it. The end of the input between two messages is io.EOF. The stream stays open, so that the caller
// can note the reason before the other end sees that it closes. After a response to a request of TryBegin, callers of Await read, and Serve
// continues within a few milliseconds after them.
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

// serve reads until the connection ends, with its error, or callers can read for themselves.
func (c *Conn) serve(handle func(*Message)) error {
	c.reading.Lock()
	defer c.reading.Unlock()
	for {
		m, err := c.receive()
		switch {
		case err != nil:
			c.left = &received{nil, err} // no caller reads after it
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

// Close ends the connection. It may be called twice.
func (c *Conn) Close() { _ = c.stream.Close() }

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// NextID returns the ID for a call.
func (c *Conn) NextID() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	return c.last
}

// Begin sends a request with an ID of NextID. take receives its response, in a goroutine that reads; it must not wait long.
func (c *Conn) Begin(id uint64, method string, params json.RawMessage, take func(*Message)) error {
	c.expect(id, call{take: take})
	c.wake()
	err := c.write(&Message{ID: id, Method: method, Params: params})
	if err != nil {
		c.Forget(id)
	}
	return err
}

// TryBegin is Begin for a goroutine that must not wait, and that then calls Await; take must not wait either. If another one is writing, or
// the stream takes nothing now, sent is false. If the stream took only a part, whole is false: the next message is written behind the rest, or
// the caller has another goroutine call Flush.
func (c *Conn) TryBegin(id uint64, method string, params json.RawMessage, take func(*Message)) (sent, whole bool) {
	if c.now == nil || !c.writing.TryLock() {
		return false, false
	}
	defer c.writing.Unlock()
	line, err := c.encode(&Message{ID: id, Method: method, Params: params})
	if err != nil || len(c.rest) > 0 {
		return false, false
	}
	c.expect(id, call{take, c.reads != nil})
	n := c.now(line)
	if n == 0 {
		c.Forget(id)
		return false, false
	}
	c.rest = append(c.rest, line[n:]...)
	return true, n == len(line)
}

// Flush writes the rest of a request of TryBegin.
func (c *Conn) Flush() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.flush()
}

func (c *Conn) expect(id uint64, waits call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[id] = waits
}

// call returns the call that waits with this ID.
func (c *Conn) call(id uint64) (call, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waits, ok := c.waiting[id]
	return waits, ok
}

// own reports whether the goroutine of a call reads for itself.
func (c *Conn) own(id uint64) bool {
	waits, _ := c.call(id)
	return waits.own
}

// busy reports whether calls wait.
func (c *Conn) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting) > 0
}

// Update gives a message to the call that waits with this ID, if any. A response ends the wait.
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

// Forget drops a call: its response goes nowhere.
func (c *Conn) Forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// Call sends a request and waits for its response. each receives the messages of Update before the response; it may be nil. If ctx ends
// first, the other end gets a notification "cancel". Errors: *Error of the other end, ErrClosed, the cause of ctx.
func (c *Conn) Call(ctx context.Context, method string, params json.RawMessage, each func(*Message) error) (json.RawMessage, error) {
	messages := make(chan *Message, 16)
	put := func(m *Message) {
		select {
		case messages <- m:
		case <-ctx.Done():
		}
	}
	id := c.NextID()
	if err := c.Begin(id, method, params, put); err != nil {
		return nil, err
	}
	for {
		select {
		case m := <-messages:
			if m.Method == "" {
				return response(m)
			}
			if each == nil {
				continue
			}
			if err := each(m); err != nil {
				c.Cancel(id)
				return nil, err
			}
		case <-ctx.Done():
			c.Cancel(id)
			return nil, context.Cause(ctx)
		case <-c.done:
			for {
				select {
				case m := <-messages: // what came before the end
					if m.Method == "" {
						return response(m)
					}
				default:
					return nil, ErrClosed
				}
			}
		}
	}
}

func response(m *Message) (json.RawMessage, error) {
	if m.Error != nil {
		return nil, m.Error
	}
	return m.Result, nil
}

// Cancel drops a call and notifies the other end.
func (c *Conn) Cancel(id uint64) {
	c.Forget(id)
	_ = c.Notify("cancel", map[string]uint64{"id": id}) // fails if the connection has ended
}

// Notify sends a notification.
func (c *Conn) Notify(method string, params any) error {
	body, err := jsontext.Marshal(params)
	if err != nil {
		return err
	}
	return c.write(&Message{Method: method, Params: body})
}

// Reply answers a request. If problem is nil, result is sent; an empty result is null.
func (c *Conn) Reply(id uint64, result json.RawMessage, problem *Error) error {
	return c.write(&Message{ID: id, Result: result, Error: problem})
}

func (c *Conn) write(m *Message) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	line, err := c.encode(m)
	if err != nil {
		return err
	}
	if err := c.flush(); err != nil {
		return err
	}
	if _, err := c.stream.Write(line); err != nil {
		return ErrClosed
	}
	return nil
}

// encode returns the line of a message, until the next call. The caller holds writing.
func (c *Conn) encode(m *Message) ([]byte, error) {
	line, err := m.encode(c.out[:0])
	if err != nil {
		return nil, err
	}
	if c.out = line; cap(line) > keptBytes {
		c.out = nil
	}
	return line, nil
}

// flush writes the rest of a line. The caller holds writing.
func (c *Conn) flush() error {
	if len(c.rest) == 0 {
		return nil
	}
	_, err := c.stream.Write(c.rest)
	c.rest = nil // it may be long
	if err != nil {
		return ErrClosed
	}
	return nil
}

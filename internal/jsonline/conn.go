package jsonline

import (
	"bufio"
	"bytes"
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
	close  sync.Once
	closed chan struct{} // closed by Close
	done   chan struct{} // closed when Serve has returned

	writing chan struct{} // holds an element while a message is written
	out     []byte

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]func(*Message) // requests without a response
}

// New returns a connection over stream, which Close closes.
func New(stream io.ReadWriteCloser) *Conn {
	return &Conn{
		stream: stream, closed: make(chan struct{}), done: make(chan struct{}), writing: make(chan struct{}, 1),
		waiting: map[uint64]func(*Message){},
	}
}

// Serve reads until the connection ends: responses go to their requests, requests and notifications of the other end to handle, in order.
// handle should return soon, because the next message waits for it. The end of the input between two messages is io.EOF. The stream stays open,
// so that the caller can note the reason before the other end sees that it closes.
func (c *Conn) Serve(handle func(*Message)) error {
	defer close(c.done)
	lines := &reader{buffer: bufio.NewReaderSize(c.stream, bufferBytes)}
	for {
		line, err := lines.next()
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		m, err := Decode(line)
		switch {
		case err != nil:
			return err
		case m.Method != "":
			handle(m)
		default:
			c.Update(m.ID, m)
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

// Begin sends a request with an ID of NextID. take receives its messages, in the goroutine of Serve; it must not wait long. If ctx ends before
// the request is written, sent reports whether the other end may still receive it.
func (c *Conn) Begin(ctx context.Context, id uint64, method string, params json.RawMessage, take func(*Message)) (sent bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	c.mu.Lock()
	c.waiting[id] = take
	c.mu.Unlock()
	if sent, err = c.write(ctx.Done(), &Message{ID: id, Method: method, Params: params}); !sent {
		c.Forget(id)
	}
	if errors.Is(err, errAbandoned) {
		err = context.Cause(ctx)
	}
	return sent, err
}

// Update gives a message to the request that waits with this ID, if any. A response ends the wait.
func (c *Conn) Update(id uint64, m *Message) {
	c.mu.Lock()
	take := c.waiting[id]
	if m.Method == "" {
		delete(c.waiting, id)
	}
	c.mu.Unlock()
	if take != nil {
		take(m)
	}
}

// Forget drops a request: its response goes nowhere.
func (c *Conn) Forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// Cancel notifies the other end that its response is no longer needed. It does not wait.
func (c *Conn) Cancel(id uint64) {
	go func() { _ = c.Notify("cancel", map[string]uint64{"id": id}) }() // ends when it is written, or with Close
}

// Notify sends a notification.
func (c *Conn) Notify(method string, params any) error {
	body, err := jsontext.Marshal(params)
	if err == nil {
		_, err = c.write(nil, &Message{Method: method, Params: body})
	}
	return err
}

// Reply answers a request. If problem is nil, result is sent; an empty result is null.
func (c *Conn) Reply(id uint64, result json.RawMessage, problem *Error) error {
	_, err := c.write(nil, &Message{ID: id, Result: result, Error: problem})
	return err
}

// errAbandoned is the error of write if abandoned was closed first.
var errAbandoned = errors.New("the message was abandoned")

// write writes a message. If it is abandoned first, sent reports whether the rest of it is still written. Errors: ErrClosed, errAbandoned.
func (c *Conn) write(abandoned <-chan struct{}, m *Message) (sent bool, err error) {
	select {
	case c.writing <- struct{}{}:
	case <-abandoned:
		return false, errAbandoned
	case <-c.closed:
		return false, ErrClosed
	}
	line, err := m.encode(c.out[:0])
	if err != nil {
		<-c.writing
		return false, err
	}
	if c.out = line; cap(line) > keptBytes {
		c.out = nil
	}
	written := make(chan error, 1)
	go func() { // ends when the other end has read enough, or with Close, which waits
		_, err := c.stream.Write(line)
		if err != nil {
			err = ErrClosed
		}
		<-c.writing
		written <- err
	}()
	select {
	case err := <-written:
		return err == nil, err
	case <-abandoned:
		return true, errAbandoned
	}
}

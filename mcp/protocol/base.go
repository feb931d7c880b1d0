package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxIncoming is the maximum number of a server's requests answered concurrently.
const maxIncoming = 16

// base is the common part of the carriers: the messages that a server sends by itself, and the goroutines of a connection.
type base struct {
	conn *Conn
	log  Log

	life context.Context // of all goroutines, streams, and answers to the server
	end  context.CancelFunc

	incoming chan struct{} // a token for each request of the server that is being answered

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// newBase returns a base whose life does not end with ctx.
func newBase(ctx context.Context, c *Conn, log Log) *base {
	b := &base{conn: c, log: log, incoming: make(chan struct{}, maxIncoming)}
	b.life, b.end = context.WithCancel(context.WithoutCancel(ctx))
	return b
}

// bound returns a context that ends with ctx and with the carrier.
func (b *base) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(b.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// spawn runs f on a goroutine that shut waits for. After shut it does nothing.
func (b *base) spawn(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.running.Go(f)
	}
}

// serve handles a message that is not an answer. reply sends the answer if it is a request, which belongs to the call in ctx.
func (b *base) serve(ctx context.Context, m *message, reply func(context.Context, *response)) {
	if m.isNotification() {
		var params map[string]any
		if len(m.Params) > 0 && json.Unmarshal(m.Params, &params) != nil {
			b.log.Print("a notification that cannot be read", m.Params)
			return
		}
		if m.Method == "notifications/progress" {
			b.conn.calls.progress(params)
		} else {
			b.conn.notified(m.Method, params)
		}
		return
	}
	select {
	case b.incoming <- struct{}{}:
	default:
		reply(ctx, refusing(m, mcp.INTERNAL_ERROR, "too many requests at the same time"))
		return
	}
	b.spawn(func() { // ends with life
		defer func() { <-b.incoming }()
		ctx, cancel := b.bound(context.WithoutCancel(ctx))
		defer cancel()
		reply(ctx, b.respond(ctx, m))
	})
}

// respond answers a request of the server with a result or an error.
func (b *base) respond(ctx context.Context, m *message) *response {
	result, err := b.conn.respond(ctx, m.Method, m.Params)
	switch {
	case errors.Is(err, ErrNoMethod):
		return refusing(m, mcp.METHOD_NOT_FOUND, "method not found: "+m.Method)
	case err != nil:
		return refusing(m, mcp.INTERNAL_ERROR, err.Error())
	}
	return &response{JSONRPC: mcp.JSONRPC_VERSION, ID: m.ID, Result: result}
}

// shut ends all goroutines and waits for them.
func (b *base) shut() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.end()
	b.running.Wait()
}

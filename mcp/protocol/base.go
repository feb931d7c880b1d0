package protocol

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/ongoing"
)

// maxIncoming is the maximum number of a server's requests answered concurrently.
const maxIncoming = 16

// base is the common part of the carriers: the messages that a server sends by itself, and the goroutines of a connection.
type base struct {
	conn *Conn
	log  Log

	*ongoing.Operations // goroutines, streams, and answers to the server

	incoming chan struct{} // a token for each request of the server that is being answered
}

// newBase returns a base whose life does not end with ctx.
func newBase(ctx context.Context, c *Conn, log Log) *base {
	return &base{conn: c, log: log, Operations: ongoing.New(ctx), incoming: make(chan struct{}, maxIncoming)}
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
	b.Go(func() { // ends with the life
		defer func() { <-b.incoming }()
		ctx, cancel := b.Bound(context.WithoutCancel(ctx))
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
	b.Close()
	_ = b.Wait(context.WithoutCancel(b.Life())) // without a limit
}

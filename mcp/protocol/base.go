package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/ongoing"
)

// maxIncoming is the maximum number of a server's requests answered concurrently.
const maxIncoming = 16

// base is the common part of the carriers: the messages of a server, and the goroutines of a connection.
type base struct {
	conn *Conn

	*ongoing.Operations // goroutines, streams, and answers to the server

	received atomic.Int64  // number of the server's messages
	incoming chan struct{} // a token for each request of the server that is being answered
}

// newBase returns a base whose life does not end with ctx.
func newBase(ctx context.Context, c *Conn) *base {
	return &base{conn: c, Operations: ongoing.New(ctx), incoming: make(chan struct{}, maxIncoming)}
}

// receive handles the messages of a line or an event, which belong to the call in ctx. It calls take with each answer, which
// reports whether a request waits for it.
func (b *base) receive(ctx context.Context, raw []byte, take func(m *message) bool) error {
	messages, err := decodeMessages(raw)
	if err != nil {
		b.conn.dialer.Log.Print("output that is not a message", raw)
		return err
	}
	b.received.Add(int64(len(messages)))
	for i := range messages {
		if m := &messages[i]; !m.isAnswer() {
			b.serve(ctx, m)
		} else if !take(m) {
			b.conn.dialer.Log.Print("unexpected answer", raw)
		}
	}
	return nil
}

// serve handles a message that is not an answer.
func (b *base) serve(ctx context.Context, m *message) {
	if m.isNotification() {
		var params map[string]any
		if len(m.Params) > 0 && json.Unmarshal(m.Params, &params) != nil {
			b.conn.dialer.Log.Print("a notification that cannot be read", m.Params)
			return
		}
		if m.Method == "notifications/progress" {
			b.conn.calls.progress(params)
		} else {
			b.conn.dialer.Notified(m.Method, params)
		}
		return
	}
	select {
	case b.incoming <- struct{}{}:
	default:
		b.reply(ctx, m, nil, errors.New("too many requests at the same time"))
		return
	}
	b.Go(func() { // ends with the life
		defer func() { <-b.incoming }()
		ctx, cancel := b.Bound(context.WithoutCancel(ctx))
		defer cancel()
		result, err := b.conn.respond(ctx, m.Method, m.Params)
		b.reply(ctx, m, result, err)
	})
}

// reply answers a request of the server with a result or an error. If the answer is lost, the server's own timeout applies.
func (b *base) reply(ctx context.Context, m *message, result any, err error) {
	answer := &outgoing{JSONRPC: mcp.JSONRPC_VERSION, ID: m.ID}
	switch {
	case errors.Is(err, ErrNoMethod):
		answer.Error = &mcp.JSONRPCErrorDetails{Code: mcp.METHOD_NOT_FOUND, Message: "method not found: " + m.Method}
	case err != nil:
		answer.Error = &mcp.JSONRPCErrorDetails{Code: mcp.INTERNAL_ERROR, Message: err.Error()}
	default:
		answer.Result = result
	}
	_ = b.conn.carrier.put(ctx, answer)
}

// shut ends all goroutines and waits for them.
func (b *base) shut() {
	b.Close()
	_ = b.Wait(context.WithoutCancel(b.Life())) // without a limit
}

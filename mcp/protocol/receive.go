package protocol

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// maxIncoming is the maximum number of a server's requests answered concurrently; further ones are refused.
	maxIncoming = 16
	// maxRefused is the maximum number of refusals that wait to be sent. Further requests of a server that does not read
	// stay unanswered.
	maxRefused = 1024
	// maxRefusedID is the maximum length of the ID of a request that is refused, in bytes.
	maxRefusedID = 1 << 10
)

// receive handles the messages of a line or an event, which belong to the call in ctx. If they are in the HTTP answer to the request r, an
// error without a request's ID is about r.
func (c *Conn) receive(ctx context.Context, r *outgoing, raw []byte) error {
	messages, err := decodeMessages(raw)
	if err != nil {
		c.dialer.Log.Print("output that is not a message", raw)
		return err
	}
	c.received.Add(int64(len(messages)))
	expected := true
	for i := range messages {
		m := &messages[i]
		if m.Method != "" {
			c.serve(ctx, m)
			continue
		}
		if r != nil && m.Error != nil && (m.hasNoID() || m.key() == "") {
			m.ID = r.ID
		}
		expected = c.take(m) && expected
	}
	if !expected {
		c.dialer.Log.Print("unexpected answer", raw)
	}
	return nil
}

// serve handles a request or a notification.
func (c *Conn) serve(ctx context.Context, m *message) {
	if m.hasNoID() {
		var params map[string]any
		if len(m.Params) > 0 && json.Unmarshal(m.Params, &params) != nil {
			c.dialer.Log.Print("a notification that cannot be read", m.Params)
			return
		}
		switch m.Method {
		case "notifications/progress":
			c.progress(params)
		case string(mcp.MethodNotificationCancelled):
			var p struct{ RequestID json.RawMessage }
			_ = json.Unmarshal(m.Params, &p) // an object
			canceled := message{ID: p.RequestID}
			if stop, ok := c.answers.Load(canceled.key()); ok {
				(*stop.(*context.CancelCauseFunc))(errCanceled)
			}
		default:
			c.dialer.Notified(m.Method, params)
		}
		return
	}
	select {
	case c.incoming <- struct{}{}:
	default:
		c.refuse(m)
		return
	}
	ctx, cancel := c.running.Bound(context.WithoutCancel(ctx))
	asked, stop := context.WithCancelCause(ctx)
	on, certain := c.callOf(ctx)
	c.answers.Store(m.key(), &stop)
	c.running.Go(func() { // ends with the life
		defer func() {
			cancel()
			c.answers.CompareAndDelete(m.key(), &stop) // a server may use an ID twice
			<-c.incoming
		}()
		if certain {
			defer context.AfterFunc(on.ctx, func() { stop(context.Canceled) })() // the server has finished
		}
		if m.Method == string(mcp.MethodPing) {
			c.reply(ctx, m, struct{}{}, nil)
			return
		}
		result, err := c.dialer.Answer(asked, on, m.Method, m.Params)
		if !errors.Is(context.Cause(asked), errCanceled) {
			c.reply(ctx, m, result, err)
		}
	})
}

// errCanceled ends the answer to a request that the server canceled.
var errCanceled = errors.New("canceled by the server")

// refuse refuses a request later: the goroutine that reads must not wait for a server that does not read.
func (c *Conn) refuse(m *message) {
	if len(m.ID) <= maxRefusedID {
		select {
		case c.refused <- m.ID:
			return
		default:
		}
	}
	c.dialer.Log.Print("dropped, too many requests at the same time", []byte(m.Method))
}

// sendRefusals sends the refusals, one after the other.
func (c *Conn) sendRefusals() {
	life := c.running.Life()
	for {
		select {
		case id := <-c.refused:
			c.reply(life, &message{ID: id}, nil, errors.New("too many requests at the same time"))
		case <-life.Done():
			return
		}
	}
}

// reply answers a request of the server with a result or an error. If the answer is lost, the server's own timeout applies.
func (c *Conn) reply(ctx context.Context, m *message, result any, err error) {
	answer := &outgoing{JSONRPC: mcp.JSONRPC_VERSION, ID: m.ID}
	switch {
	case errors.Is(err, ErrNoMethod):
		answer.Error = &mcp.JSONRPCErrorDetails{Code: mcp.METHOD_NOT_FOUND, Message: "method not found: " + m.Method}
	case err != nil:
		answer.Error = &mcp.JSONRPCErrorDetails{Code: mcp.INTERNAL_ERROR, Message: err.Error()}
	default:
		answer.Result = result
	}
	_ = c.carrier.send(ctx, answer)
}

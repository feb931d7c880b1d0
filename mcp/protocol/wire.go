package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
)

// exchange sends a request over the carrier and returns its raw result. It notifies the server of a canceled request, and detects a lost
// connection. The error is a *carrierError if there was no answer, else the server's.
func (c *Conn) exchange(ctx context.Context, method string, params map[string]any, header http.Header) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, &carrierError{err}
	}
	r := &outgoing{
		JSONRPC: mcp.JSONRPC_VERSION, ID: strconv.AppendInt(nil, c.next.Add(1), 10), Method: method, Params: params, header: header,
	}
	answer, err := c.request(ctx, r)
	switch {
	case err != nil && ctx.Err() != nil:
		c.cancelled(ctx, r)
		return nil, &carrierError{err}
	case err != nil:
		_, call := ctx.Value(callKey{}).(*Call)
		alone := (call || method == string(mcp.MethodSubscriptionsListen)) && errors.As(err, new(*answerError)) // does not affect the other calls and the session
		if !alone && !refusedAsSuch(err) && method != string(mcp.MethodServerDiscover) {
			c.fail(err)
		}
		return nil, &carrierError{err}
	case answer.Error != nil:
		return nil, answer.Error.AsError()
	}
	return answer.Result, nil
}

// request sends a request and waits for its answer, at most until ctx ends or the connection is lost.
func (c *Conn) request(ctx context.Context, r *outgoing) (*message, error) {
	answer := make(chan *message, 1)
	c.mu.Lock()
	c.waiting[string(r.ID)] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, string(r.ID))
	}()
	err := c.carrier.send(ctx, r)
	if err == nil {
		select {
		case m := <-answer:
			return m, nil
		case <-ctx.Done():
			err = ctx.Err()
		case <-c.Lost():
			err = lostError{c.Cause()}
		}
	}
	select {
	case m := <-answer: // received just before the end
		return m, nil
	default:
		return nil, err
	}
}

// take passes an answer to the request that waits for it. It returns false for a late, duplicate or unexpected answer, which it drops.
func (c *Conn) take(m *message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer, ok := c.waiting[m.key()]
	if ok {
		delete(c.waiting, m.key())
		answer <- m
	}
	return ok
}

// awaits reports whether a request has no answer yet.
func (c *Conn) awaits(r *outgoing) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting[string(r.ID)] != nil
}

// notify sends a notification.
func (c *Conn) notify(ctx context.Context, method string, params map[string]any) error {
	return c.carrier.send(ctx, &outgoing{JSONRPC: mcp.JSONRPC_VERSION, Method: method, Params: params})
}

// cancelled notifies the server of a canceled request in the background. The protocol does not allow canceling the first message. Over
// HTTP without a session, the end of the stream cancels the request.
func (c *Conn) cancelled(ctx context.Context, r *outgoing) {
	if r.Method == string(mcp.MethodInitialize) || r.Method == string(mcp.MethodServerDiscover) {
		return
	}
	if s, ok := c.carrier.(*streamable); ok && s.sessionID() == "" {
		return
	}
	later(ctx, func(ctx context.Context) {
		_ = c.notify(ctx, string(mcp.MethodNotificationCancelled), map[string]any{"requestId": r.ID, "reason": "request canceled by the client"})
	})
}

// later runs f, which tells the server something after ctx ended, in the background.
func later(ctx context.Context, f func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeTimeout)
	go func() { // ends when the message is sent or answered, at the latest after goodbyeTimeout
		defer cancel()
		f(ctx)
	}()
}

// Lost is closed when the connection is lost; Cause then returns the reason.
func (c *Conn) Lost() <-chan struct{} { return c.life.Done() }

// Cause returns why the connection was lost; nil if it is not.
func (c *Conn) Cause() error { return context.Cause(c.life) }

// carrierError is the error of a request without an answer.
type carrierError struct{ error }

// Unwrap returns the cause.
func (e *carrierError) Unwrap() error { return e.error }

// lostError is the error of a request that was sent before the connection was lost. Its cause may be the error of another request.
type lostError struct{ error }

// Unwrap returns the cause.
func (e lostError) Unwrap() error { return e.error }

// Unsent reports whether a request that failed cannot have reached the server's tools.
func Unsent(err error) bool {
	if errors.Is(err, errCutShort) || errors.As(err, new(lostError)) { // even if tenon could not connect again
		return false
	}
	var network *net.OpError
	return errors.Is(err, errUnsent) || errors.Is(err, errSessionEnded) || errors.As(err, &network) && network.Op == "dial"
}

// Broken reports whether a request failed because of the connection, not because of the request.
func Broken(err error) bool {
	return errors.As(err, new(*carrierError)) && !refusedAsSuch(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// exchange sends a request over the carrier and returns its raw result. It notifies the server of a canceled request, and detects a lost
// connection. Errors: a *carrierError without an answer, else the server's error.
func (c *Conn) exchange(ctx context.Context, method string, params map[string]any, header http.Header) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, &carrierError{err}
	}
	r := &request{JSONRPC: mcp.JSONRPC_VERSION, ID: c.next.Add(1), Method: method, Params: params, header: header}
	answer, err := c.carrier.request(ctx, r)
	switch {
	case err != nil && ctx.Err() != nil:
		c.cancelled(ctx, r)
		return nil, &carrierError{err}
	case err != nil:
		if !refusedAsSuch(err) && method != string(mcp.MethodServerDiscover) {
			c.fail(err)
		}
		return nil, &carrierError{err}
	case answer.Error != nil:
		return nil, answer.Error.AsError()
	}
	return answer.Result, nil
}

// notify sends a notification.
func (c *Conn) notify(ctx context.Context, method string, params map[string]any) error {
	return c.carrier.notify(ctx, &request{JSONRPC: mcp.JSONRPC_VERSION, Method: method, Params: params})
}

// cancelled notifies the server of a canceled request in the background. The first message must not be canceled. Without a session over
// HTTP the end of the stream cancels the request.
func (c *Conn) cancelled(ctx context.Context, r *request) {
	if r.Method == string(mcp.MethodInitialize) || r.Method == string(mcp.MethodServerDiscover) {
		return
	}
	if s, ok := c.carrier.(*streamable); ok && s.sessionID() == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeTimeout)
	go func() { // ends when it is sent, at the latest after goodbyeTimeout
		defer cancel()
		_ = c.notify(ctx, string(mcp.MethodNotificationCancelled), map[string]any{"requestId": r.ID, "reason": "request canceled by the client"})
	}()
}

// loss is the end of a connection.
type loss struct {
	once  sync.Once
	lost  chan struct{}
	cause error // set before lost is closed
}

// fail marks the connection as lost. It keeps the first cause.
func (l *loss) fail(cause error) {
	l.once.Do(func() {
		l.cause = cause
		close(l.lost)
	})
}

// Lost is closed when the connection is lost; Cause then returns the reason.
func (l *loss) Lost() <-chan struct{} { return l.lost }

// Cause returns why the connection was lost. It may be called only after Lost is closed.
func (l *loss) Cause() error { return l.cause }

// IsLost reports whether the connection is lost.
func (l *loss) IsLost() bool {
	select {
	case <-l.lost:
		return true
	default:
		return false
	}
}

// carrierError is the error of a request without an answer.
type carrierError struct{ err error }

// Error returns the cause.
func (e *carrierError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *carrierError) Unwrap() error { return e.err }

// Unsent reports whether a request that failed cannot have reached the server's tools.
func Unsent(err error) bool {
	if errors.Is(err, errCutShort) { // even if tenon could not connect again
		return false
	}
	var network *net.OpError
	return errors.Is(err, errUnsent) || errors.Is(err, errSessionEnded) || errors.As(err, &network) && network.Op == "dial"
}

// Broken reports whether a request failed because of the connection, not because of the request.
func Broken(err error) bool {
	return errors.As(err, new(*carrierError)) && !refusedAsSuch(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

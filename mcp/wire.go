package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// wire stands between mcp-go's client and its transports. It hands out results as they came (the client's types drop what they do not
// know), sends requests the client has no method for, and notices when the connection is lost.
type wire struct {
	inner transport.Interface
	next  atomic.Int64 // numbers requests of our own

	once  sync.Once
	lost  chan struct{}
	cause error // set before lost is closed
}

func newWire(inner transport.Interface) *wire { return &wire{inner: inner, lost: make(chan struct{})} }

// capture keeps the result of the last request made with its context.
type capture struct{ result json.RawMessage }

type captureKey struct{}

// captured returns a context whose requests leave their result in c.
func captured(ctx context.Context, c *capture) context.Context {
	return context.WithValue(ctx, captureKey{}, c)
}

// SendRequest passes the request on.
func (w *wire) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	c, _ := ctx.Value(captureKey{}).(*capture)
	if c != nil {
		c.result = nil
	}
	response, err := w.inner.SendRequest(ctx, request)
	if err != nil {
		if ctx.Err() == nil && !refusedAsSuch(err) && request.Method != string(mcp.MethodServerDiscover) {
			w.fail(err)
		}
		if ctx.Err() != nil {
			w.cancelled(ctx, request)
		}
		return nil, err
	}
	if c != nil && response.Error == nil {
		c.result = response.Result
	}
	return response, nil
}

// fail marks the connection lost.
func (w *wire) fail(cause error) {
	w.once.Do(func() {
		w.cause = cause
		close(w.lost)
	})
}

func (w *wire) isLost() bool {
	select {
	case <-w.lost:
		return true
	default:
		return false
	}
}

// request sends a request that mcp-go's client does not know.
func (w *wire) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	id := fmt.Sprintf("tenon-%d", w.next.Add(1))
	response, err := w.SendRequest(ctx, transport.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Method: method, Params: params,
	})
	if err != nil {
		if _, http := w.inner.(transport.HTTPConnection); !http && ctx.Err() != nil {
			w.sendCancelled(ctx, mcp.NewRequestId(id))
		}
		return nil, transport.NewError(err)
	}
	if response.Error != nil {
		return nil, response.Error.AsError()
	}
	return response.Result, nil
}

// cancelled tells the server that nobody waits any more, where mcp-go does not: over HTTP, before the revision in which closing the
// stream says it.
func (w *wire) cancelled(ctx context.Context, request transport.JSONRPCRequest) {
	h, ok := w.inner.(transport.HTTPConnection)
	if !ok || request.Method == string(mcp.MethodInitialize) || request.Method == string(mcp.MethodServerDiscover) {
		return
	}
	if s, ok := h.(*transport.StreamableHTTP); ok && s.GetSessionId() == "" {
		return // without a session there is nothing the notification could be about
	}
	w.sendCancelled(ctx, request.ID)
}

// sendCancelled sends the notification without waiting for it.
func (w *wire) sendCancelled(ctx context.Context, id mcp.RequestId) {
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: string(mcp.MethodNotificationCancelled),
		Params: mcp.NotificationParams{AdditionalFields: map[string]any{"requestId": id, "reason": "nobody waits for the answer any more"}},
	}}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeTimeout)
	go func() { // ends when it is sent, at the latest after goodbyeTimeout
		defer cancel()
		_ = w.inner.SendNotification(ctx, n)
	}()
}

// Start starts the transport.
func (w *wire) Start(ctx context.Context) error { return w.inner.Start(ctx) }

// SendNotification passes the notification on.
func (w *wire) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	return w.inner.SendNotification(ctx, n)
}

// SetNotificationHandler passes the handler on.
func (w *wire) SetNotificationHandler(handler func(mcp.JSONRPCNotification)) {
	w.inner.SetNotificationHandler(handler)
}

// SetRequestHandler passes the handler on where the server can ask.
func (w *wire) SetRequestHandler(handler transport.RequestHandler) {
	if b, ok := w.inner.(transport.BidirectionalInterface); ok {
		b.SetRequestHandler(handler)
	}
}

// Close closes the transport.
func (w *wire) Close() error {
	w.fail(errors.New("it was closed"))
	return w.inner.Close()
}

// GetSessionId returns the session of the transport.
func (w *wire) GetSessionId() string { return w.inner.GetSessionId() }

// httpWire is a wire over HTTP, which mcp-go's client treats differently.
type httpWire struct {
	*wire
	url     string
	http    *http.Client
	version atomic.Value // string
	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup
}

// Start starts the transport. The streams it opens end with Close, not with ctx.
func (w *httpWire) Start(ctx context.Context) error {
	w.life, w.end = context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, w.end)
	defer stop()
	return w.inner.Start(w.life)
}

// SetProtocolVersion passes the version on.
func (w *httpWire) SetProtocolVersion(version string) {
	w.version.Store(version)
	if h, ok := w.inner.(transport.HTTPConnection); ok {
		h.SetProtocolVersion(version)
	}
}

// RequiresLegacyProtocol passes the question on.
func (w *httpWire) RequiresLegacyProtocol() bool {
	legacy, ok := w.inner.(interface{ RequiresLegacyProtocol() bool })
	return ok && legacy.RequiresLegacyProtocol()
}

// SetRequestHandler sets who answers the server. The answers are sent here: mcp-go gives them 30 seconds, and a user who is asked
// may take longer.
func (w *httpWire) SetRequestHandler(handler transport.RequestHandler) {
	b, ok := w.inner.(transport.BidirectionalInterface)
	if !ok {
		return
	}
	b.SetRequestHandler(func(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // keeps whose call it belongs to
		stop := context.AfterFunc(w.life, cancel)
		w.running.Go(func() { // ends with the connection at the latest
			defer cancel()
			defer stop()
			w.post(ctx, answerRequest(ctx, handler, request))
		})
		return nil, nil
	})
}

// post sends an answer to the server.
func (w *httpWire) post(ctx context.Context, response *transport.JSONRPCResponse) {
	body, err := json.Marshal(response)
	if err != nil {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session := w.GetSessionId(); session != "" {
		req.Header.Set(transport.HeaderKeySessionID, session)
	}
	if version, _ := w.version.Load().(string); version != "" {
		req.Header.Set(transport.HeaderKeyProtocolVersion, version)
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return // the server's own deadline ends what waits for the answer
	}
	_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBody)
	_ = resp.Body.Close()
}

// Close closes the transport and waits for what is still being answered.
func (w *httpWire) Close() error {
	err := w.wire.Close()
	if w.end != nil {
		w.end()
	}
	w.running.Wait()
	w.http.CloseIdleConnections()
	return err
}

// CloseIdleConnections lets go of connections nobody uses.
func (g *guard) CloseIdleConnections() { g.inner.CloseIdleConnections() }

// unsent reports whether a request that failed cannot have reached the server's tools.
func unsent(err error) bool {
	var network *net.OpError
	return errors.Is(err, errUnsent) || errors.Is(err, transport.ErrSessionTerminated) || errors.As(err, &network) && network.Op == "dial"
}

// broken reports whether a request failed because the connection did, and not because of what was asked.
func broken(err error) bool {
	var failure *transport.Error
	return errors.As(err, &failure) && !refusedAsSuch(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// plainText takes mcp-go's prefixes off an error's text.
func plainText(err error) string {
	text := err.Error()
	for _, prefix := range []string{"transport error: ", "failed to send request: "} {
		for strings.HasPrefix(text, prefix) {
			text = strings.TrimPrefix(text, prefix)
		}
	}
	return text
}

var (
	_ transport.BidirectionalInterface = (*wire)(nil)
	_ transport.HTTPConnection         = (*httpWire)(nil)
)

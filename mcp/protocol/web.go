package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

// Headers of the protocol, see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports ("Session Management",
// "Protocol Version Header").
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	// headerLastEvent asks for the events after one, see the living standard of HTML, "Server-sent events".
	headerLastEvent = "Last-Event-Id"
)

const (
	mediaJSON   = "application/json"
	mediaEvents = "text/event-stream"
)

// errClosed is the cause of a connection that tenon closed.
var errClosed = errors.New("it was closed")

// web is the common part of the carriers over HTTP. Its goroutines, one for each request of the server and one that listens, end with
// close, which waits for them.
type web struct {
	url     string
	client  *http.Client
	log     Log
	peer    peer
	version atomic.Value // string; the agreed revision

	life     context.Context // context of all streams and of the answers to the server
	end      context.CancelFunc
	incoming chan struct{} // a token for each request of the server

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

func newWeb(remote *Remote, log Log) (*web, error) {
	base, err := url.Parse(remote.URL)
	if err != nil {
		return nil, err
	}
	return &web{url: remote.URL, client: newGuard(base, remote).client(), log: log, incoming: make(chan struct{}, maxIncoming)}, nil
}

// begin creates the carrier's context, which does not end with ctx.
func (w *web) begin(ctx context.Context, p peer) {
	w.peer = p
	w.life, w.end = context.WithCancel(context.WithoutCancel(ctx))
}

// setVersion sets the revision of the protocol in the requests; empty for none.
func (w *web) setVersion(version string) { w.version.Store(version) }

func (w *web) revision() string {
	version, _ := w.version.Load().(string)
	return version
}

// bound returns a context that ends with ctx and with the carrier.
func (w *web) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(w.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// spawn runs f on a goroutine that close waits for. After close it does nothing.
func (w *web) spawn(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.running.Go(f)
	}
}

// send sends an HTTP request. The caller closes the answer's body.
func (w *web) send(ctx context.Context, method, address, accept string, body any, header http.Header) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header.Clone()
	}
	if body != nil {
		req.Header.Set("Content-Type", mediaJSON)
	}
	req.Header.Set("Accept", accept)
	if version := w.revision(); version != "" {
		req.Header.Set(headerVersion, version)
	}
	resp, err := w.client.Do(req)
	var wrapped *url.Error
	if refusedAsSuch(err) && errors.As(err, &wrapped) {
		return nil, wrapped.Err // the error needs no URL
	}
	return resp, err
}

// receive handles a message that is not an answer. reply sends the answer if it is a request; it belongs to the call in ctx.
func (w *web) receive(ctx context.Context, m *message, reply func(context.Context, *response)) {
	if m.isNotification() {
		if !w.peer.notify(m) {
			w.log.Print("a notification that cannot be read", m.Params)
		}
		return
	}
	ctx = context.WithoutCancel(ctx)
	select {
	case w.incoming <- struct{}{}:
	default:
		w.spawn(func() { reply(ctx, refusing(m, mcp.INTERNAL_ERROR, "too many requests at the same time")) })
		return
	}
	w.spawn(func() { // ends with life
		defer func() { <-w.incoming }()
		ctx, cancel := w.bound(ctx)
		defer cancel()
		reply(ctx, w.peer.respond(ctx, m))
	})
}

// failed returns the cause of a missing answer: the lost connection, or err.
func (w *web) failed(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil && w.life.Err() != nil {
		return fmt.Errorf("%w: %w", errLost, errClosed)
	}
	return err
}

// shut ends all goroutines and waits for them.
func (w *web) shut() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	if w.end != nil {
		w.end()
	}
	w.running.Wait()
	w.client.CloseIdleConnections()
}

// discard reads the short rest of an answer, so that its connection can be reused. A stream of events may never end: it is only closed.
func discard(resp *http.Response) {
	if mediaType(resp) != mediaEvents {
		_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBody)
	}
	_ = resp.Body.Close()
}

// unexpected returns the error for an answer outside the protocol.
func unexpected(resp *http.Response) error {
	if resp.StatusCode/100 == 2 {
		return fmt.Errorf("unexpected content type %q from the server", resp.Header.Get("Content-Type"))
	}
	return fmt.Errorf("the server answered with HTTP status %d (%s)", resp.StatusCode, http.StatusText(resp.StatusCode))
}

package protocol

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/mcp/internal/sse"
)

// Headers of the protocol, see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports ("Session Management",
// "Protocol Version Header").
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	// headerLastEvent requests the events after an ID, see the HTML Living Standard, "Server-sent events".
	headerLastEvent = "Last-Event-Id"
)

const (
	mediaJSON   = "application/json"
	mediaEvents = "text/event-stream"
)

// errClosed is the cause of a connection that tenon closed.
var errClosed = errors.New("it was closed")

// maxRedirects is the maximum number of redirects of a request, all within the server's origin.
const maxRedirects = 5

// web is the common part of the carriers over HTTP. All requests to the server go through it.
type web struct {
	conn   *Conn
	base   *url.URL // the address of the server
	remote *Remote
	inner  httpx.Proxied
	client *http.Client
}

func newWeb(remote *Remote, c *Conn) *web {
	base, err := url.Parse(remote.URL)
	if err != nil {
		base = &url.URL{} // no request can be sent
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = httpx.Dialer().DialContext
	transport.MaxResponseHeaderBytes = 64 << 10                            // the time to read a challenge grows with the square of its length
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second} // notices connections that died while the machine slept
	w := &web{conn: c, base: base, remote: remote, inner: httpx.Proxied{Transport: transport}}
	w.client = &http.Client{Transport: w, CheckRedirect: httpx.CheckRedirect(maxRedirects, "the url")}
	return w
}

// do sends an HTTP request. The caller closes the answer's body.
func (w *web) do(ctx context.Context, method, address, accept string, m *outgoing, header http.Header) (*http.Response, error) {
	var content io.Reader
	if m != nil {
		encoded, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	if m != nil {
		maps.Copy(req.Header, m.header)
		req.Header.Set("Content-Type", mediaJSON)
	}
	req.Header.Set("Accept", accept)
	if version := w.conn.revision(); version != "" {
		req.Header.Set(headerVersion, version)
	}
	resp, err := w.client.Do(req)
	var wrapped *url.Error
	if refusedAsSuch(err) && errors.As(err, &wrapped) {
		return nil, wrapped.Err // the error needs no URL
	}
	return resp, err
}

// bound runs f with a context that also ends with the connection.
func (w *web) bound(ctx context.Context, f func(ctx context.Context) error) error {
	within, cancel := w.conn.running.Bound(ctx)
	defer cancel()
	err := f(within)
	if err != nil && ctx.Err() == nil && w.conn.running.Life().Err() != nil {
		return fmt.Errorf("%w: %w", errLost, errClosed)
	}
	return err
}

// drain receives the messages of a stream up to the answer to the request r, or without one to its end.
func (w *web) drain(ctx context.Context, r *outgoing, events *sse.Reader) error {
	for r == nil || w.conn.awaits(r) {
		kind, data, err := events.Next()
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			return errTooLong
		case err != nil:
			return err
		case kind == "message": // like the official SDKs, ignore others, such as pings
			if err := w.conn.receive(ctx, r, data); errors.Is(err, errTooLong) { // other output is logged
				return err
			}
		}
	}
	return nil
}

// close closes the HTTP connections after their last use.
func (w *web) close() {
	_ = w.conn.running.Wait(context.WithoutCancel(w.conn.life)) // without a limit
	w.inner.CloseIdleConnections()
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

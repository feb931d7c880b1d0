package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
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

// web is the common part of the carriers over HTTP.
type web struct {
	*base
	url    string
	client *http.Client
}

func newWeb(remote *Remote, b *base) (*web, error) {
	u, err := url.Parse(remote.URL)
	if err != nil {
		return nil, err
	}
	return &web{base: b, url: remote.URL, client: newGuard(u, remote).client()}, nil
}

// send sends an HTTP request. The caller closes the answer's body.
func (w *web) send(ctx context.Context, method, address, accept string, m *outgoing, header http.Header) (*http.Response, error) {
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

// failed returns the cause of a missing answer: the lost connection, or err.
func (w *web) failed(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil && w.Life().Err() != nil {
		return fmt.Errorf("%w: %w", errLost, errClosed)
	}
	return err
}

// shut ends all goroutines and waits for them.
func (w *web) shut() {
	w.base.shut()
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

package protocol

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp/internal/sse"
)

// httpSSE is the predecessor of streamable HTTP: one event stream with all messages of the server, whose first event contains the URL for
// messages to the server, see https://modelcontextprotocol.io/specification/2024-11-05/basic/transports ("HTTP with SSE").
type httpSSE struct {
	*web
	endpoint string // set before start returns
	waiting  waiting
}

// start opens the stream and waits for the URL.
func (s *httpSSE) start(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.Close)
	defer stop()
	resp, err := s.send(s.Life(), http.MethodGet, s.url, mediaEvents, nil, nil)
	if err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	if resp.StatusCode != http.StatusOK || mediaType(resp) != mediaEvents {
		defer discard(resp)
		return unexpected(resp)
	}
	events := sse.NewReader(resp.Body, maxMessageBytes)
	if s.endpoint, err = s.address(events); err != nil {
		_ = resp.Body.Close()
		return cmp.Or(ctx.Err(), err)
	}
	if !s.Go(func() {
		defer resp.Body.Close()
		err := s.read(events)
		s.Close() // cancels waiting requests
		s.conn.fail(fmt.Errorf("%w: the stream of events ended: %w", errLost, err))
	}) {
		_ = resp.Body.Close()
		return ctx.Err()
	}
	return nil
}

// address reads the events up to the one with the URL for messages. The client refuses other origins.
func (s *httpSSE) address(events *sse.Reader) (string, error) {
	for {
		kind, data, err := events.Next()
		if err != nil {
			return "", fmt.Errorf("the server did not send the URL for messages: %w", err)
		}
		if kind != "endpoint" {
			continue
		}
		base, err := url.Parse(s.url)
		if err != nil {
			return "", err
		}
		endpoint, err := base.Parse(string(data))
		if err != nil {
			return "", fmt.Errorf("the server's address for messages, %q, is invalid", visible.Strip(string(data)))
		}
		return endpoint.String(), nil
	}
}

// read handles the server's messages until the stream ends.
func (s *httpSSE) read(events *sse.Reader) error {
	for {
		kind, data, err := events.Next()
		if errors.Is(err, bufio.ErrTooLong) {
			return errTooLong
		}
		if err != nil {
			return err
		}
		if kind != "message" {
			continue
		}
		_ = s.receive(s.Life(), data, s.waiting.pass) // other output is logged
	}
}

// request sends a request and waits for its answer on the stream.
func (s *httpSSE) request(ctx context.Context, r *outgoing) (*message, error) {
	bound, cancel := s.Bound(ctx)
	defer cancel()
	m, err := s.waiting.exchange(bound, r, nil, func() error { return s.put(bound, r) })
	return m, s.failed(ctx, err)
}

// put sends a message.
func (s *httpSSE) put(ctx context.Context, m *outgoing) error {
	bound, cancel := s.Bound(ctx)
	defer cancel()
	resp, err := s.send(bound, http.MethodPost, s.endpoint, mediaJSON, m, nil)
	if err != nil {
		return s.failed(ctx, err)
	}
	defer discard(resp)
	if resp.StatusCode/100 != 2 {
		return unexpected(resp)
	}
	return nil
}

// close ends the stream.
func (s *httpSSE) close() { s.shut() }

var (
	_ carrier = (*httpSSE)(nil)
	_ carrier = (*streamable)(nil)
	_ carrier = (*stdio)(nil)
)

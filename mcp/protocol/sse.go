package protocol

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp/internal/sse"
)

// httpSSE is the predecessor of streamable HTTP: one event stream with all messages of the server, whose first event contains the URL for
// messages to the server, see https://modelcontextprotocol.io/specification/2024-11-05/basic/transports ("HTTP with SSE").
type httpSSE struct {
	*web
	endpoint string // set before start returns
}

func newSSE(c *Conn) carrier { return &httpSSE{web: newWeb(c.dialer.Remote, c)} }

// start opens the stream and waits for the URL.
func (s *httpSSE) start(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.conn.running.Close)
	defer stop()
	resp, err := s.do(s.conn.running.Life(), http.MethodGet, s.base.String(), mediaEvents, nil, nil)
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
	if !s.conn.running.Go(func() {
		defer resp.Body.Close()
		err := s.drain(s.conn.running.Life(), nil, events)
		s.conn.running.Close() // ends requests in progress
		s.conn.fail(fmt.Errorf("%w: the stream of events ended: %w", errLost, err))
	}) {
		_ = resp.Body.Close()
		return ctx.Err()
	}
	return nil
}

// address reads the events up to the one with the URL for messages. The HTTP client refuses a URL of
// another origin.
func (s *httpSSE) address(events *sse.Reader) (string, error) {
	for {
		kind, data, err := events.Next()
		if err != nil {
			return "", fmt.Errorf("the server did not send the URL for messages: %w", err)
		}
		if kind != "endpoint" {
			continue
		}
		endpoint, err := s.base.Parse(string(data))
		if err != nil {
			return "", fmt.Errorf("the server's address for messages, %q, is invalid", visible.Strip(string(data)))
		}
		return endpoint.String(), nil
	}
}

// send sends a message.
func (s *httpSSE) send(ctx context.Context, m *outgoing) error {
	return s.bound(ctx, func(ctx context.Context) error {
		resp, err := s.do(ctx, http.MethodPost, s.endpoint, mediaJSON, m, nil)
		if err != nil {
			return err
		}
		defer discard(resp)
		if resp.StatusCode/100 != 2 {
			return unexpected(resp)
		}
		return nil
	})
}

var (
	_ carrier = (*httpSSE)(nil)
	_ carrier = (*streamable)(nil)
	_ carrier = (*stdio)(nil)
)

package protocol

import (
	"bufio"
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
	resp, err := s.send(s.Life(), http.MethodGet, s.url, mediaEvents, nil)
	if err != nil {
		return startFailed(ctx, err)
	}
	if resp.StatusCode != http.StatusOK || mediaType(resp) != mediaEvents {
		defer discard(resp)
		return unexpected(resp)
	}
	events := sse.NewReader(resp.Body, maxMessageBytes)
	if s.endpoint, err = s.address(events); err != nil {
		_ = resp.Body.Close()
		return startFailed(ctx, err)
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

// startFailed returns the cause of the context's end, if it ended, else err.
func startFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
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
		messages, err := decodeMessages(data)
		if err != nil {
			s.log.Print("an event that is not a message", data)
		}
		for i := range messages {
			if m := &messages[i]; m.isAnswer() {
				s.waiting.pass(m) // an unexpected one is dropped
			} else {
				s.serve(s.Life(), m, s.reply)
			}
		}
	}
}

// request sends a request and waits for its answer on the stream.
func (s *httpSSE) request(ctx context.Context, r *request) (*message, error) {
	bound, cancel := s.Bound(ctx)
	defer cancel()
	m, err := s.waiting.exchange(bound, r.ID, nil, func() error { return s.post(bound, r) })
	return m, s.failed(ctx, err)
}

// post sends a message.
func (s *httpSSE) post(ctx context.Context, body any) error {
	resp, err := s.send(ctx, http.MethodPost, s.endpoint, mediaJSON, body)
	if err != nil {
		return err
	}
	defer discard(resp)
	if resp.StatusCode/100 != 2 {
		return unexpected(resp)
	}
	return nil
}

// reply sends an answer to the server. If it is lost, the server's own timeout applies.
func (s *httpSSE) reply(ctx context.Context, r *response) { _ = s.post(ctx, r) }

// notify sends a notification.
func (s *httpSSE) notify(ctx context.Context, n *request) error {
	bound, cancel := s.Bound(ctx)
	defer cancel()
	return s.failed(ctx, s.post(bound, n))
}

// close ends the stream.
func (s *httpSSE) close() { s.shut() }

var (
	_ carrier = (*httpSSE)(nil)
	_ carrier = (*streamable)(nil)
	_ carrier = (*stdio)(nil)
)

package protocol

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/pause"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp/internal/sse"
)

var (
	// errSessionEnded is returned if the server no longer knows the session, so the request did not reach its tools.
	errSessionEnded = errors.New("the server no longer knows the session")
	// errCutShort is returned if the response contained no answer.
	errCutShort = errors.New("the server ended its answer before it was complete")
)

// newsWait limits the wait for the stream of the messages that a server sends unasked; servers open it in a
// few milliseconds.
const newsWait = 500 * time.Millisecond

// streamable is the carrier "Streamable HTTP": each message is an HTTP request, answered with a message or with a stream of messages, see
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports ("Streamable HTTP").
type streamable struct {
	*web
	session atomic.Value // string
}

func newStreamable(c *Conn) carrier { return &streamable{web: newWeb(c.dialer.Remote, c)} }

// start does nothing: the first message connects.
func (s *streamable) start(context.Context) error { return nil }

// sessionID returns the server's session ID; empty without one, as in the stateless revision.
func (s *streamable) sessionID() string {
	if s.conn.modern() {
		return ""
	}
	id, _ := s.session.Load().(string)
	return id
}

// post sends a message in the session. Requests and notifications have the header with their method: the stateless revision requires it,
// even in the handshake of the older ones with a server that answered the discovery too late, and older servers ignore it.
func (s *streamable) post(ctx context.Context, m *outgoing) (*http.Response, error) {
	header := s.header()
	if m.Method != "" {
		header.Set(mcp.HeaderMethod, m.Method)
	}
	return s.do(ctx, http.MethodPost, s.base.String(), mediaJSON+", "+mediaEvents, m, header)
}

// stream requests a stream of events in the session, after the event with an ID if it is not empty.
func (s *streamable) stream(ctx context.Context, after string) (*http.Response, error) {
	header := s.header()
	if after != "" {
		header.Set(headerLastEvent, after)
	}
	return s.do(ctx, http.MethodGet, s.base.String(), mediaEvents, nil, header)
}

// header returns the header of the session.
func (s *streamable) header() http.Header {
	header := http.Header{}
	if id := s.sessionID(); id != "" {
		header.Set(headerSession, id)
	}
	return header
}

// send sends a message, and receives the answer to a request.
func (s *streamable) send(ctx context.Context, m *outgoing) error {
	return s.bound(ctx, func(ctx context.Context) error {
		resp, err := s.post(ctx, m)
		if err != nil {
			return err
		}
		if m.wantsAnswer() {
			defer resp.Body.Close()
			return s.answer(ctx, m, resp)
		}
		defer discard(resp)
		if resp.StatusCode/100 != 2 {
			return &statusError{resp.StatusCode, excerpt(resp)}
		}
		return nil
	})
}

// answer receives the answer to a request.
func (s *streamable) answer(ctx context.Context, r *outgoing, resp *http.Response) error {
	first := r.Method == string(mcp.MethodInitialize)
	switch status := resp.StatusCode; {
	case first && status/100 == 4 && mediaType(resp) == mediaJSON:
		return &statusError{status, excerpt(resp)}
	case first && status/100 == 4: // the body may never end
		return &statusError{status: status}
	case status == http.StatusNotFound && (s.sessionID() != "" || mediaType(resp) != mediaJSON): // JSON without a session is about the method
		return errSessionEnded
	case status/100 != 2:
		return s.refused(resp, r)
	}
	if first {
		s.session.Store(resp.Header.Get(headerSession))
	}
	err := unexpected(resp)
	switch mediaType(resp) {
	case mediaJSON:
		err = s.whole(ctx, r, resp.Body)
	case mediaEvents:
		err = s.follow(ctx, r, resp)
	}
	if err != nil {
		return &answerError{err}
	}
	return nil
}

// answerError is the error of a request whose answer began, and is wrong or incomplete.
type answerError struct{ error }

// Unwrap returns the cause.
func (e *answerError) Unwrap() error { return e.error }

// refused returns the reason why a server refused a request, or passes the server's error on. An error with the request's ID is never
// about the session.
func (s *streamable) refused(resp *http.Response, r *outgoing) error {
	body := httpx.Excerpt(resp.Body, maxMessageBytes)
	var m message
	isError := !value.Crowded(body, maxMessageValues) && json.Unmarshal(body, &m) == nil && m.Error != nil && (!m.hasNoID() || bytes.Contains(body, []byte(`"jsonrpc"`)))
	text := strings.TrimSpace(visible.Bound(string(body), maxErrorBody))
	switch {
	case s.forgotten(resp.StatusCode, body) && !(isError && m.key() == string(r.ID)):
		return fmt.Errorf("%w (HTTP status %d): %s", errSessionEnded, resp.StatusCode, text)
	case isError:
		m.ID = r.ID
		s.conn.take(&m)
		return nil
	case resp.StatusCode/100 == 4:
		return &statusError{resp.StatusCode, text}
	}
	return errors.New((&statusError{resp.StatusCode, text}).Error()) // the server may have lost the session
}

// forgotten reports whether an answer in a session means that the server does not know the session. The official SDKs of TypeScript and
// Python answer so with the status 400 after a restart, others with 409, 410, 422 or 503. Answers with other words have other causes.
func (s *streamable) forgotten(status int, body []byte) bool {
	text := bytes.ToLower(body)
	says := func(word string) bool { return bytes.Contains(text, []byte(word)) }
	switch {
	case s.sessionID() == "":
		return false
	case status == http.StatusBadRequest:
		return says("session") || says("not initialized")
	case status == http.StatusConflict, status == http.StatusUnprocessableEntity, status == http.StatusServiceUnavailable:
		return says("session") && (says("expired") || says("unknown") || says("not found") || says("invalid session"))
	}
	return status == http.StatusNotFound || status == http.StatusGone
}

// whole reads an answer that is not a stream.
func (s *streamable) whole(ctx context.Context, r *outgoing, body io.Reader) error {
	raw, err := httpx.ReadAll(body, maxMessageBytes)
	switch {
	case errors.Is(err, httpx.ErrTooLarge):
		return errTooLong
	case err != nil:
		return err
	}
	if err := s.conn.receive(ctx, r, raw); err != nil {
		return fmt.Errorf("invalid answer of the server: %w", err)
	}
	if s.conn.awaits(r) {
		return errors.New("invalid answer of the server: it does not answer the request")
	}
	return nil
}

// follow reads the event stream of a request, up to the answer. If the stream ends or breaks earlier, after an event with an ID, follow
// requests the rest from a server of the older revisions.
func (s *streamable) follow(ctx context.Context, r *outgoing, resp *http.Response) error {
	events := sse.NewReader(resp.Body, maxMessageBytes)
	for {
		err := s.drain(ctx, r, events)
		_ = resp.Body.Close()
		if err == nil || errors.Is(err, errTooLong) || ctx.Err() != nil {
			return err
		}
		if events.LastID == "" || s.conn.modern() {
			return cutShort(err)
		}
		if pause.For(ctx, reconnectDelay(events)) != nil {
			return ctx.Err()
		}
		if resp, err = s.stream(ctx, events.LastID); err != nil {
			return cutShort(err)
		}
		if resp.StatusCode != http.StatusOK || mediaType(resp) != mediaEvents {
			_ = resp.Body.Close()
			return fmt.Errorf("%w, and the rest is not available: %w", errCutShort, unexpected(resp))
		}
		events.Resume(resp.Body)
	}
}

// reconnectDelay returns how long to wait before requesting a stream that ended: the server's value, within limits.
func reconnectDelay(events *sse.Reader) time.Duration {
	return min(max(cmp.Or(events.Retry, time.Second), 100*time.Millisecond), 30*time.Second)
}

// cutShort returns the error of an answer that ended early.
func cutShort(cause error) error {
	if errors.Is(cause, io.EOF) {
		return errCutShort
	}
	return fmt.Errorf("%w: %w", errCutShort, cause)
}

// hearNews receives the messages that a server of the older revisions sends outside its answers, until close. It first waits until the
// stream is open, at most for newsWait: servers drop requests that they send before that.
func (s *streamable) hearNews(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, newsWait)
	defer cancel()
	s.conn.running.Go(func() { s.listen(s.conn.running.Life(), cancel) })
	<-ctx.Done()
}

// listen requests the stream repeatedly, from the last event on, until ctx ends or the server has no such stream. It calls opened at the
// latest when it ends. If the server no longer knows the session of a stream that was open, the connection counts as lost: a new one
// reads the changed lists.
func (s *streamable) listen(ctx context.Context, opened func()) {
	defer opened()
	events := sse.NewReader(nil, maxMessageBytes)
	wasOpen := false
	for {
		resp, err := s.stream(ctx, events.LastID)
		switch {
		case err != nil:
		case resp.StatusCode != http.StatusOK || mediaType(resp) != mediaEvents:
			if wasOpen && s.forgotten(resp.StatusCode, httpx.Excerpt(resp.Body, maxErrorBody)) {
				s.conn.fail(errSessionEnded)
			}
			discard(resp)
			err = &statusError{status: resp.StatusCode}
		default:
			wasOpen = true
			opened()
			events.Resume(resp.Body)
			err = s.drain(ctx, nil, events) // this stream has no answers
			_ = resp.Body.Close()
		}
		if refusedAsSuch(err) && !(wasOpen && isDown(err)) || pause.For(ctx, reconnectDelay(events)) != nil {
			return
		}
	}
}

// isDown reports whether a server is restarting or overloaded, by the status that it or its proxy answers with.
func isDown(err error) bool {
	status, ok := errors.AsType[*statusError](err)
	return ok && status.status >= http.StatusInternalServerError
}

// close ends the session.
func (s *streamable) close() {
	if id := s.sessionID(); id != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.conn.life), goodbyeTimeout)
		defer cancel()
		if resp, err := s.do(ctx, http.MethodDelete, s.base.String(), mediaJSON, nil, http.Header{headerSession: {id}}); err == nil {
			discard(resp)
		}
	}
	s.web.close()
}

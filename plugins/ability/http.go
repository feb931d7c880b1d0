package ability

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

const (
	maxRedirects     = 5
	maxRequestHeader = 64 << 10 // of names and values together, in bytes
)

// fetch sends an HTTP request to an address of the grant's scope. Its answer is complete, or a stream that the plugin reads.
func (b *Broker) fetch(ctx context.Context, c Caller, req sdk.FetchRequest) (*sdk.FetchResponse, error) {
	u, asked, err := parseURL(req.URL)
	if err != nil {
		return nil, err
	}
	granted, ok := b.grants.origin(asked)
	switch {
	case !ok:
		return nil, b.denied(sdk.CapabilityHTTP, asked.String())
	case !b.rates.http.Allow():
		return nil, limited("more than %d requests a second", b.opts.Limits.HTTPRate)
	case req.Stream && c.Call == nil:
		return nil, errors.New("only a call of the plugin can stream an answer")
	case req.Stream && len(b.web.slots) == cap(b.web.slots): // the plugin itself may hold all slots with its streams
		return nil, limited("more than %d requests at the same time", b.opts.Limits.HTTPConcurrent)
	}
	timeout := b.opts.Limits.HTTPTimeout
	if given := time.Duration(req.TimeoutMS) * time.Millisecond; given > 0 && given < timeout {
		timeout = given
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case b.web.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("waited %s while %d other requests ran: %w", timeout, b.opts.Limits.HTTPConcurrent, ctx.Err())
	}
	life, leave := ctx, cancel
	if req.Stream {
		life, leave = b.running.Bound(c.Call)
	}
	end := func() {
		leave()
		<-b.web.slots
	}
	r, err := newRequest(context.WithValue(life, grantKey{}, &granted), &req, u)
	var resp *http.Response
	if err == nil {
		resp, err = b.send(ctx, r, leave)
	}
	if err != nil {
		end()
		return nil, b.explainHTTP(err, timeout)
	}
	answer := newResponse(resp)
	if req.Stream {
		answer.Stream = b.streams.add(&httpStream{call: c.Call, body: resp.Body, left: maxStreamBytes, end: func() {
			end()
			_ = resp.Body.Close()
		}})
		return answer, nil
	}
	defer end()
	defer resp.Body.Close()
	answer.Body, err = httpx.ReadAll(resp.Body, b.opts.Limits.HTTPBytes)
	if errors.Is(err, httpx.ErrTooLarge) {
		err = limited("the answer has more than %d bytes", b.opts.Limits.HTTPBytes)
	}
	return answer, b.explainHTTP(err, timeout)
}

// newRequest checks everything in the request except its address.
func newRequest(ctx context.Context, req *sdk.FetchRequest, u *url.URL) (*http.Request, error) {
	method := cmp.Or(req.Method, http.MethodGet)
	if !httpguts.ValidHeaderFieldName(method) || method == http.MethodConnect || method == http.MethodTrace {
		return nil, fmt.Errorf("method %q is not supported", method)
	}
	header, err := requestHeader(req.Headers)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(req.Body))
	if err != nil {
		return nil, err
	}
	r.Header = header
	return r, nil
}

func requestHeader(given map[string]string) (http.Header, error) {
	header, size := http.Header{}, 0
	for name, value := range given {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return nil, fmt.Errorf("header %q: the name contains characters that are not allowed", name)
		case isReserved(canonical):
			return nil, fmt.Errorf("header %q is set by tenon; omit it", name)
		case header[canonical] != nil:
			return nil, fmt.Errorf("duplicate header %q; names are case-insensitive", name)
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return nil, fmt.Errorf("header %q: the value contains a line break or another control character", name)
		}
		size += len(name) + len(value)
		header[canonical] = []string{value}
	}
	if size > maxRequestHeader {
		return nil, limited("the headers have %d bytes, at most %d are sent", size, maxRequestHeader)
	}
	if header["User-Agent"] == nil {
		header["User-Agent"] = []string{"tenon"}
	}
	return header, nil
}

// isReserved reports whether a header concerns the connection or the address, which plugins must not control.
func isReserved(canonical string) bool {
	switch canonical {
	case "Connection", "Content-Length", "Expect", "Host", "Http2-Settings", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return strings.HasPrefix(canonical, "Proxy-")
}

// send sends a request, follows redirects, and returns the answer when its headers have arrived. If ctx ends before, it calls cancel, which ends
// the request.
func (b *Broker) send(ctx context.Context, r *http.Request, cancel func()) (*http.Response, error) {
	arrived := context.AfterFunc(ctx, cancel)
	client := http.Client{Transport: b.web.transport, CheckRedirect: b.checkRedirect}
	resp, err := client.Do(r)
	if !arrived() {
		return nil, ctx.Err()
	}
	return resp, err
}

// newResponse returns a response without its body.
func newResponse(resp *http.Response) *sdk.FetchResponse {
	answer := &sdk.FetchResponse{Status: resp.StatusCode, Headers: map[string]string{}}
	for name, values := range resp.Header {
		answer.Headers[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
	}
	return answer
}

// checkRedirect checks the address of each redirect. Headers that the plugin set for one origin are not sent to another.
func (b *Broker) checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	asked, err := originOf(r.URL)
	if err != nil {
		return fmt.Errorf("redirect to %.64q: %w", r.URL.Scheme+"://"+r.URL.Host, err)
	}
	granted, ok := b.grants.origin(asked)
	if !ok {
		return b.denied(sdk.CapabilityHTTP, asked.String())
	}
	r.URL.Host = asked.hostport()
	r.Header.Del("Referer") // may contain the query
	if slices.ContainsFunc(via, func(before *http.Request) bool { return !httpx.SameOrigin(before.URL, r.URL) }) {
		for name := range r.Header {
			if !slices.Contains([]string{"Accept", "Accept-Language", "Content-Type", "User-Agent"}, name) {
				r.Header.Del(name)
			}
		}
	}
	*r = *r.WithContext(context.WithValue(r.Context(), grantKey{}, &granted))
	return nil
}

// explainHTTP turns an error of the client into one for the plugin's author.
func (b *Broker) explainHTTP(err error, timeout time.Duration) error {
	err = httpx.WithoutURL(err) // the URL may hold a secret, and errors are logged
	if private, ok := errors.AsType[*privateError](err); ok {
		b.opts.Logger.Warn("plugin kept from an address that is not public", "host", private.host, "addr", private.addr)
		return &problem{guest.StatusDenied, fmt.Sprintf("plugin %q: %s", b.opts.Plugin, private)}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no complete answer within %s: %w", timeout, err)
	}
	return err
}

const (
	// maxStreamBytes is the maximum size of a streamed answer. A model's answer of 16 MiB takes about three times as much as events.
	maxStreamBytes = 64 << 20
	// maxChunk is the maximum size of one piece.
	maxChunk = 64 << 10
)

// httpStream is an answer that a plugin reads in pieces. It ends with the call during which the plugin sent the request.
type httpStream struct {
	call context.Context // the call that it belongs to
	end  func()          // ends the request and releases its slot

	mu   sync.Mutex // held while reading
	body io.Reader
	left int // remaining bytes of the limit
}

// streams are the open streams of a plugin by number.
type streams struct {
	last atomic.Int64
	open sync.Map // *httpStream by number
}

// add keeps a stream until the stream or its call ends, and returns its number, which is never 0.
func (s *streams) add(one *httpStream) int64 {
	id := s.last.Add(1)
	s.open.Store(id, one)
	context.AfterFunc(one.call, func() { s.close(id) })
	return id
}

// find returns a stream of the call.
func (s *streams) find(c Caller, id int64) (*httpStream, error) {
	found, _ := s.open.Load(id)
	if one, ok := found.(*httpStream); ok && one.call == c.Call {
		return one, nil
	}
	return nil, fmt.Errorf("stream %d not found: it ended, or belongs to another call", id)
}

// close ends a stream, unless it has ended.
func (s *streams) close(id int64) {
	if found, ok := s.open.LoadAndDelete(id); ok {
		found.(*httpStream).end()
	}
}

// readStream returns the next piece of a streamed answer.
func (b *Broker) readStream(_ context.Context, c Caller, req guest.StreamRef) (out guest.StreamChunk, err error) {
	s, err := b.streams.find(c, req.Stream)
	if err != nil {
		return out, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	piece := make([]byte, maxChunk)
	n, err := s.body.Read(piece)
	out.Data = piece[:n]
	if s.left -= n; s.left < 0 {
		err = limited("the answer has more than %d MiB", maxStreamBytes>>20)
	}
	switch {
	case errors.Is(err, io.EOF):
		out.End, err = true, nil
		b.streams.close(req.Stream)
	case err != nil:
		b.streams.close(req.Stream)
	}
	return out, err
}

// closeStream ends a stream early.
func (b *Broker) closeStream(_ context.Context, c Caller, req guest.StreamRef) (empty, error) {
	if _, err := b.streams.find(c, req.Stream); err == nil {
		b.streams.close(req.Stream)
	}
	return empty{}, nil
}

package ability

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

const (
	maxRedirects     = 5
	maxRequestHeader = 64 << 10 // of names and values together, in bytes
)

// fetch sends an HTTP request to an address of the grant's scope.
func (b *Broker) fetch(ctx context.Context, c Caller, req sdk.FetchRequest) (*sdk.FetchResponse, error) {
	u, asked, err := parseURL(req.URL)
	if err != nil {
		return nil, err
	}
	granted, ok := b.grants.origin(asked)
	if !ok {
		return nil, b.denied(sdk.CapabilityHTTP, asked.String())
	}
	if !b.rates.http.Allow() {
		return nil, limited("more than %d requests a second", b.limits.HTTPRate)
	}
	if req.Stream {
		return b.openStream(ctx, c, &req, u, &granted)
	}
	timeout := b.limits.HTTPTimeout
	if given := time.Duration(req.TimeoutMS) * time.Millisecond; given > 0 && given < timeout {
		timeout = given
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := newRequest(context.WithValue(ctx, grantKey{}, &granted), &req, u)
	if err != nil {
		return nil, err
	}
	select {
	case b.web.slots <- struct{}{}:
		defer func() { <-b.web.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waited %s while %d other requests ran: %w", timeout, b.limits.HTTPConcurrent, ctx.Err())
	}
	answer, err := b.send(r)
	if err != nil {
		return nil, b.explainHTTP(err, timeout)
	}
	return answer, nil
}

// newRequest checks everything in the request except its address.
func newRequest(ctx context.Context, req *sdk.FetchRequest, u *url.URL) (*http.Request, error) {
	method := cmp.Or(req.Method, http.MethodGet)
	if !isToken(method) || method == http.MethodConnect || method == http.MethodTrace {
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
		case !isToken(name):
			return nil, fmt.Errorf("header %q: the name holds characters that are not allowed", name)
		case isReserved(canonical):
			return nil, fmt.Errorf("header %q is set by tenon; omit it", name)
		case header[canonical] != nil:
			return nil, fmt.Errorf("duplicate header %q; names are case-insensitive", name)
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return nil, fmt.Errorf("header %q: the value holds a line break or another control character", name)
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

// isToken reports whether s is a valid method or header name, see RFC 9110, section 5.6.2.
func isToken(s string) bool {
	const special = "!#$%&'*+-.^_`|~"
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune(special, r)
	})
}

// send follows redirects and reads the answer.
func (b *Broker) send(r *http.Request) (*sdk.FetchResponse, error) {
	client := http.Client{Transport: b.web.transport, CheckRedirect: b.checkRedirect}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := httpx.ReadAll(resp.Body, b.limits.HTTPBytes)
	if errors.Is(err, httpx.ErrTooLarge) {
		return nil, limited("the answer has more than %d bytes", b.limits.HTTPBytes)
	}
	if err != nil {
		return nil, err
	}
	answer := newResponse(resp)
	answer.Body = body
	return answer, nil
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
	if !isOneOrigin(asked, via) {
		for name := range r.Header {
			if !slices.Contains([]string{"Accept", "Accept-Language", "Content-Type", "User-Agent"}, name) {
				r.Header.Del(name)
			}
		}
	}
	*r = *r.WithContext(context.WithValue(r.Context(), grantKey{}, &granted))
	return nil
}

// isOneOrigin reports whether all requests so far have the origin of the next one.
func isOneOrigin(asked origin, via []*http.Request) bool {
	return !slices.ContainsFunc(via, func(before *http.Request) bool {
		o, err := originOf(before.URL)
		return err != nil || !o.same(asked)
	})
}

// explainHTTP turns an error of the client into one for the plugin's author.
func (b *Broker) explainHTTP(err error, timeout time.Duration) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // its URL may hold a secret, and errors are logged
	}
	if private, ok := errors.AsType[*privateError](err); ok {
		b.log.Warn("plugin kept from an address that is not public", "host", private.host, "addr", private.addr)
		return &problem{guest.StatusDenied, fmt.Sprintf("plugin %q: %s", b.plugin, private)}
	}
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no complete answer within %s: %w", timeout, err)
	}
	return err
}

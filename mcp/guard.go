package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/visible"
)

const (
	// goodbyeTimeout limits the request that ends a session, which runs in the background.
	goodbyeTimeout = time.Second
	// maxErrorBody is the maximum part of a server's error page in an error, in bytes.
	maxErrorBody = 512
	maxRedirects = 5
)

// statusError is an HTTP answer outside the protocol.
type statusError struct {
	status int
	body   string
}

// Error returns the status and the beginning of the body.
func (e *statusError) Error() string {
	text := fmt.Sprintf("the server answered with HTTP status %d (%s)", e.status, http.StatusText(e.status))
	if e.body != "" {
		text += ": " + e.body
	}
	return text
}

// authError is returned if the server requires authentication.
type authError struct {
	status   int
	metadata string // URL of the server's OAuth metadata, if it has any
	token    bool   // a token was sent
}

// Error returns the remedy.
func (e *authError) Error() string {
	const remedy = `put a token into its headers, such as "Authorization": "Bearer …"`
	switch {
	case e.token:
		return fmt.Sprintf("the server refused the token in its headers (HTTP status %d); renew it", e.status)
	case e.metadata != "":
		return fmt.Sprintf("the server asks for OAuth (%s), which tenon does not support yet; %s", e.metadata, remedy)
	}
	return fmt.Sprintf("the server asks who you are (HTTP status %d), and tenon does not support OAuth yet; %s", e.status, remedy)
}

// guard sends all HTTP requests to a server. It sends the configured headers only to the server's origin and limits the
// answers.
type guard struct {
	base    *url.URL
	headers map[string]string
	inner   *http.Transport
}

func newGuard(base *url.URL, headers map[string]string) *guard {
	inner, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		inner = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	return &guard{base: base, headers: headers, inner: inner.Clone()}
}

func (g *guard) client() *http.Client {
	return &http.Client{Transport: g, CheckRedirect: httpx.CheckRedirect(maxRedirects, "the url")}
}

// RoundTrip sends one request.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := httpx.Stay(g.base, req.URL, "the url"); err != nil {
		return nil, err
	}
	cancel := context.CancelFunc(func() {})
	ctx := req.Context()
	if req.Method == http.MethodDelete {
		ctx, cancel = context.WithTimeout(ctx, goodbyeTimeout)
	}
	req = req.Clone(ctx)
	for name, value := range g.headers {
		req.Header.Set(name, value)
	}
	resp, err := g.inner.RoundTrip(req)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &boundedBody{body: resp.Body, cancel: cancel, stream: mediaType(resp) == "text/event-stream"}
	if err := g.judge(resp); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// judge turns answers outside the protocol into errors. It keeps the answers that streamable handles: an unknown
// session (404), an unsupported stream (405), and errors of the protocol.
func (g *guard) judge(resp *http.Response) error {
	switch {
	case resp.StatusCode < 400, resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusMethodNotAllowed:
		return nil
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		_, token := g.headers["Authorization"]
		return &authError{resp.StatusCode, resourceMetadata(resp.Header.Values("WWW-Authenticate")), token}
	case mediaType(resp) == "application/json":
		return nil
	}
	text := httpx.Excerpt(resp.Body, maxErrorBody)
	return &statusError{resp.StatusCode, strings.TrimSpace(visible.Strip(string(text)))}
}

func mediaType(resp *http.Response) string {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return media
}

// resourceMetadata returns the URL of the server's authorization metadata, see RFC 9728, section 5.1.
func resourceMetadata(challenges []string) string {
	for _, c := range challenges {
		_, rest, found := strings.Cut(c, "resource_metadata=")
		if !found {
			continue
		}
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			value, _, _ := strings.Cut(quoted, `"`)
			return visible.Strip(value)
		}
		value, _, _ := strings.Cut(rest, ",")
		return visible.Strip(strings.TrimSpace(value))
	}
	return ""
}

// boundedBody limits the size of a body, or of each event of an event stream.
type boundedBody struct {
	body   io.ReadCloser
	cancel context.CancelFunc
	stream bool
	size   int // of the body, or since the last empty line
	blank  bool
}

// Read returns an error once the limit is exceeded.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if b.stream {
		b.count(p[:n])
	} else {
		b.size += n
	}
	if b.size > maxMessageBytes {
		return 0, errTooLong
	}
	return n, err
}

// count counts the bytes since the last empty line, which ends an event.
func (b *boundedBody) count(p []byte) {
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if len(bytes.TrimRight(line, "\r")) > 0 {
			b.blank = false
		}
		b.size += len(line)
		if ended {
			if b.blank {
				b.size = 0
			}
			b.blank = true
		}
		p = rest
	}
}

// Close closes the body.
func (b *boundedBody) Close() error {
	defer b.cancel()
	return b.body.Close()
}

// refusedAsSuch reports whether the server answered, even with a refusal: the connection works.
func refusedAsSuch(err error) bool {
	var status *statusError
	var auth *authError
	return errors.As(err, &status) || errors.As(err, &auth)
}

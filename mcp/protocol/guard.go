package protocol

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/visible"
)

const (
	// goodbyeTimeout limits the request that ends a session, and others that run in the background.
	goodbyeTimeout = time.Second
	// maxErrorBody is the maximum part of a server's error page in an error, in bytes.
	maxErrorBody = 512
)

// statusError is an HTTP answer outside the protocol.
type statusError struct {
	status int
	body   string
}

// Error returns the status and the beginning of the body.
func (e *statusError) Error() string {
	text := fmt.Sprintf("the server answered with HTTP status %d (%s): %s", e.status, http.StatusText(e.status), e.body)
	return strings.TrimSuffix(text, ": ")
}

// Authorizer adds credentials to the requests to a remote server that has none in its configured headers. It is safe for
// concurrent use.
type Authorizer interface {
	// Authorize adds the credentials to a request, if it has any. It is called before each request is sent.
	Authorize(req *http.Request) error
	// Challenged is called once for a request that the server answered with the status 401 or 403. It may read the body of the
	// answer, and must not close it. If it returns true, the request is authorized and sent once more; otherwise it fails with an
	// AuthError, whose cause is err.
	Challenged(ctx context.Context, req *http.Request, resp *http.Response) (retry bool, err error)
}

// AuthError is returned if the server requires sign-in, or refuses the credentials.
type AuthError struct {
	Status int
	Token  bool   // the configured headers contain a token
	Body   string // beginning of the server's explanation
	Err    error  // error of the Authorizer; nil without one
}

// Error returns the server's answer and, without an Authorizer, the remedy.
func (e *AuthError) Error() string {
	text := fmt.Sprintf("the server requires sign-in (HTTP status %d)", e.Status)
	switch {
	case e.Token:
		text = fmt.Sprintf("the server refused the token in its headers (HTTP status %d); renew it", e.Status)
	case e.Status == http.StatusForbidden:
		text = fmt.Sprintf("the server refused access (HTTP status %d)", e.Status)
	case e.Err == nil:
		text += `; put a token into its headers, such as "Authorization": "Bearer …"`
	}
	if e.Body != "" {
		text += ": " + e.Body
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the error of the Authorizer.
func (e *AuthError) Unwrap() error { return e.Err }

// RoundTrip sends one request. The configured headers and credentials go only to the server's origin.
func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := httpx.Stay(w.base, req.URL, "the url"); err != nil {
		return nil, err
	}
	resp, err := w.authorized(req.Clone(req.Context()))
	if err != nil {
		return nil, err
	}
	if err := w.judge(resp); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// authorized sends a request with the server's headers and credentials. If the server refuses it, the request is sent at most once more
// with new credentials.
func (w *web) authorized(req *http.Request) (*http.Response, error) {
	for name, value := range w.remote.Headers {
		req.Header.Set(name, value)
	}
	a := w.remote.Authorizer
	if a == nil {
		return w.inner.RoundTrip(req)
	}
	for again := true; ; again = false {
		if err := a.Authorize(req); err != nil {
			return nil, &AuthError{Status: http.StatusUnauthorized, Err: err}
		}
		resp, err := w.inner.RoundTrip(req)
		if err != nil || !again || !challenge(resp) {
			return resp, err
		}
		retry, err := a.Challenged(req.Context(), req, resp)
		if !retry {
			if err != nil {
				defer resp.Body.Close()
				return nil, w.denied(resp, err)
			}
			return resp, nil
		}
		discard(resp)
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// challenge reports whether the server requires other credentials.
func challenge(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
}

// errRefusedAgain is the cause if the server refused a new token.
var errRefusedAgain = errors.New("it refused a new token, too")

func (w *web) denied(resp *http.Response, cause error) error {
	if cause == nil && resp.StatusCode == http.StatusUnauthorized && w.remote.Authorizer != nil {
		cause = errRefusedAgain
	}
	_, token := w.remote.Headers["Authorization"]
	return &AuthError{resp.StatusCode, token, excerpt(resp), cause}
}

// judge turns answers outside the protocol into errors. It keeps the answers that streamable handles: an unknown
// session (404, or 400), an unsupported stream (405), and errors of the protocol.
func (w *web) judge(resp *http.Response) error {
	switch {
	case resp.StatusCode < 400, resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusMethodNotAllowed:
		return nil
	case challenge(resp):
		return w.denied(resp, nil)
	case mediaType(resp) == mediaJSON:
		return nil
	case resp.StatusCode == http.StatusBadRequest && resp.Request.Header.Get(headerSession) != "":
		return nil
	}
	return &statusError{resp.StatusCode, excerpt(resp)}
}

// excerpt returns the beginning of an error page.
func excerpt(resp *http.Response) string {
	return strings.TrimSpace(visible.Strip(string(httpx.Excerpt(resp.Body, maxErrorBody))))
}

func mediaType(resp *http.Response) string {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return media
}

// refusedAsSuch reports whether err is an answer of the server, if only a refusal: the connection works.
func refusedAsSuch(err error) bool {
	return errors.As(err, new(*statusError)) || errors.As(err, new(*AuthError))
}

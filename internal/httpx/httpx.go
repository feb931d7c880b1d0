// Package httpx bounds the answers of HTTP servers and keeps requests within one origin.
package httpx

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// ErrTooLarge is returned when a body is longer than its limit.
var ErrTooLarge = errors.New("the answer is too large")

// ReadAll reads a body of at most limit bytes. Errors: ErrTooLarge, and the body's errors with the number of bytes read before.
func ReadAll(body io.Reader, limit int) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(body, int64(limit)+1))
	if len(content) > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	}
	if err != nil {
		return nil, fmt.Errorf("the answer broke off after %d bytes: %w", len(content), err)
	}
	return content, nil
}

// Excerpt returns at most limit bytes from the beginning of a body, for an error message. Read errors are ignored.
func Excerpt(body io.Reader, limit int) []byte {
	content, _ := io.ReadAll(io.LimitReader(body, int64(limit)))
	return content
}

// NoTLS reports whether a request failed because the server does not support TLS. net/http has a separate error for a server that answers in
// plain HTTP.
func NoTLS(err error) bool {
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, new(tls.RecordHeaderError))
}

// WithoutURL returns an error of http.Client without its wrapper, whose text contains the method and the whole URL.
func WithoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// Proxied sends requests like its transport. If a request through a proxy fails, the error is a ProxyError, or ErrProxyAddress if the proxy's
// address is invalid. This also applies to a transport without a proxy, which callers choose if http.ProxyFromEnvironment finds none. The
// error for a certificate with an unknown issuer contains TrustRemedy.
type Proxied struct{ *http.Transport }

// TrustRemedy is the remedy for a server whose certificate has an unknown issuer, such as a proxy that inspects connections.
const TrustRemedy = "if you trust the issuer, add its certificate to the system's (on Linux, SSL_CERT_FILE can name it)"

// RoundTrip sends a request.
func (p Proxied) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := checkProxy(req.URL); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // nothing was sent
		}
		return nil, err
	}
	resp, err := p.Transport.RoundTrip(req)
	if errors.As(err, new(x509.UnknownAuthorityError)) {
		err = fmt.Errorf("%w; %s", err, TrustRemedy)
	}
	if err == nil || p.Proxy == nil || req.Context().Err() != nil {
		return resp, err
	}
	if proxy, proxyErr := p.Proxy(req); proxyErr == nil && proxy != nil {
		err = &ProxyError{proxy.Scheme + "://" + proxy.Host, err}
	}
	return nil, err
}

// ErrProxyAddress is returned for a request that should go to a proxy whose address is invalid.
var ErrProxyAddress = errors.New("invalid address of a proxy")

// checkProxy finds invalid addresses of proxies. net/http would send requests without a proxy then. Errors: ErrProxyAddress.
func checkProxy(u *url.URL) error {
	c := httpproxy.FromEnvironment()
	name, address := "HTTP_PROXY", &c.HTTPProxy
	if u.Scheme == "https" {
		name, address = "HTTPS_PROXY", &c.HTTPSProxy
	}
	if _, err := url.Parse("http://" + *address); err == nil { // the last form that net/http tries
		return nil
	}
	*address = "http://proxy" // unless NO_PROXY lists the server
	if proxy, err := c.ProxyFunc()(u); proxy == nil {
		return err
	}
	return fmt.Errorf("%w in %s: remove blanks and line breaks, and write special characters in its user name and password as %%XX", ErrProxyAddress, name)
}

// ProxyError is the error of a request that was sent through a proxy: net/http names only the server.
type ProxyError struct {
	Proxy string // address of the proxy, without user and password
	Err   error
}

// Error returns the text of the error.
func (e *ProxyError) Error() string { return "through the proxy " + e.Proxy + ": " + e.Err.Error() }

// Unwrap returns the error of the request.
func (e *ProxyError) Unwrap() error { return e.Err }

// Dialer returns a dialer for connections whose server may be silent for minutes. It notices within 45 seconds that a connection died silently,
// for example because the network changed, like the pings of HTTP/2.
func Dialer() *net.Dialer {
	return &net.Dialer{
		Timeout:         30 * time.Second,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 10 * time.Second, Count: 3},
	}
}

// Port returns the port of the URL without zeros at its start, or the usual port of http and https.
func Port(u *url.URL) string {
	switch p := strings.TrimLeft(u.Port(), "0"); {
	case p != "":
		return p
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}

// SameOrigin reports whether two URLs have the same scheme, host and port.
func SameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && Port(a) == Port(b)
}

// Stay returns an error if u is of another origin than base. option is the name of the user's setting for base.
func Stay(base, u *url.URL, option string) error {
	if SameOrigin(base, u) {
		return nil
	}
	return fmt.Errorf("redirect to another origin, %s://%s, is not followed; if it is right, set %s to it", u.Scheme, u.Host, option)
}

// CheckRedirect returns a function for http.Client that follows at most limit redirects, all within the origin of the first request:
// another origin must not receive the request's headers or body, and without the body a request means something else.
func CheckRedirect(limit int, option string) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if err := Stay(via[0].URL, req.URL, option); err != nil {
			return err
		}
		if req.Method != via[0].Method { // see RFC 9110, 15.4
			return fmt.Errorf("redirect to %s, which would lose the content of the request, is not followed; if it is right, set %s to its address", req.URL.Path, option)
		}
		if len(via) >= limit {
			return fmt.Errorf("the server redirected %d times", limit)
		}
		return nil
	}
}

package wire

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/sdk"
)

// Setup describes the connection to one provider.
type Setup struct {
	Info      sdk.ProviderInfo
	Options   *Options
	Transport *http.Transport
	Log       *slog.Logger
	// Headers are sent with every request. The provider's headers replace them.
	Headers map[string]string
	// Authorize adds the credentials to a request with this body, after all headers were set. If nil, the key is sent as a bearer
	// token, unless the provider's headers have an Authorization.
	Authorize func(req *http.Request, body []byte) error
	// Frames reads the events of a stream. If nil, they are server-sent events.
	Frames func(io.Reader) Frames
}

// Conn sends requests to one provider. It may be used concurrently.
type Conn struct {
	Setup
	timeouts
	base    *url.URL // including the query of every request
	http    *http.Client
	secrets []string // must not appear in errors
}

// Request is one request to a provider.
type Request struct {
	Path    string // below the base URL; escaped; can have a query
	Body    []byte
	Headers map[string]string // replace those of the provider, the model and the model request
	Accept  string            // default: text/event-stream
	Decoder func(*Answer) Decoder

	model *sdk.ModelRequest // set by Ask
}

// Open checks the provider's address, headers and options. It does not use the network. The host adds the provider to its errors.
func Open(s Setup) (*Conn, error) {
	if s.Info.BaseURL == "" {
		return nil, fmt.Errorf("the base URL is missing: set provider.%s.options.baseURL", s.Info.ID)
	}
	if _, variable, ok := strings.Cut(s.Info.BaseURL, "${"); ok {
		name, _, _ := strings.Cut(variable, "}")
		return nil, fmt.Errorf("its address needs %s: set this variable, or the option for it", name)
	}
	base, err := url.Parse(s.Info.BaseURL)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, fmt.Errorf("options.baseURL is not an http or https URL: %s", secret.WithoutSecrets(s.Info.BaseURL))
	}
	if err := checkHeaders(s.Info); err != nil {
		return nil, err
	}
	if s.Frames == nil {
		s.Frames = newEvents
	}
	s.Headers = headers(s.Headers, s.Info.Headers)
	c := &Conn{
		Setup: s, timeouts: s.Options.timeouts(), base: base, secrets: secretsOf(s.Info, base),
		http: &http.Client{Transport: httpx.Proxied{Transport: s.Transport}, CheckRedirect: httpx.CheckRedirect(maxRedirects, "options.baseURL")},
	}
	return c, s.Options.close(s.Log)
}

// checkHeaders returns an error for a key or header with invalid characters, for example a line end from a file. The error does not
// contain the value.
func checkHeaders(info sdk.ProviderInfo) error {
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	if strings.ContainsFunc(info.Key, control) {
		return fmt.Errorf("the key contains a line end or another control character; check provider.%s.options.apiKey, or the variable that holds it", info.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(info.Headers)) {
		if strings.ContainsFunc(info.Headers[name], control) {
			return fmt.Errorf("options.headers[%q] contains a line end or another control character", name)
		}
		if name == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") != "" {
			return fmt.Errorf("options.headers: %q is not the name of a header", name)
		}
	}
	return nil
}

// errProxyLogin is the error of a proxy that refuses the user and password in its address, or their absence.
var errProxyLogin = errors.New("the proxy requires a valid user name and password in its address")

// maxRedirects is the limit of net/http.
const maxRedirects = 10

// NewTransport returns the pool of connections. Compression is off because it would hold back the
// events of a stream; the read buffer is large because a stream is many small events.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         httpx.Dialer().DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 15 * time.Second,
		IdleConnTimeout:     15 * time.Second, // one that died meanwhile would cost more than many handshakes: its request waits until the timeout
		MaxIdleConnsPerHost: 8,
		DisableCompression:  true,
		ReadBufferSize:      32 << 10,
		// Without pings, a connection that died silently, for example while the machine slept, would be used until the request's timeout, and
		// again by the next attempt.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second},
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
			if res.StatusCode == http.StatusProxyAuthRequired {
				return errProxyLogin
			}
			return nil
		},

		MaxResponseHeaderBytes: 256 << 10,
	}
}

// Ask encodes the body of a request, sends it and passes on the answer. Errors of the server and of the connection are *sdk.ProviderError.
func (c *Conn) Ask(ctx context.Context, req *sdk.ModelRequest, encode func(*sdk.ModelRequest) ([]byte, error), r *Request, sink func(sdk.StreamEvent) error) (err error) {
	if r.Body, err = encode(req); err != nil {
		return fmt.Errorf("provider %s: encode the request: %w", c.Info.ID, err) // not a *sdk.ProviderError: a retry would not help
	}
	r.model = req
	ex, err := c.send(ctx, http.MethodPost, r)
	if err != nil {
		return err
	}
	defer ex.close()
	return c.failure(ctx, ex, consume(ex, c.Frames, r.Decoder(&Answer{sink: sink})))
}

// send sends one request. The caller closes the exchange. Only the host retries.
func (c *Conn) send(ctx context.Context, method string, r *Request) (*exchange, error) {
	ex := newExchange(ctx, c.header, c.secrets)
	res, err := c.do(ex, method, r)
	if err != nil {
		ex.close()
		return nil, c.failure(ctx, ex, err)
	}
	ex.begin(res, c.idle)
	return ex, nil
}

// do returns a successful response. The caller closes its body. A request whose sign-in the server refuses is sent once more with new
// credentials.
func (c *Conn) do(ex *exchange, method string, r *Request) (*http.Response, error) {
	res, signed, err := c.attempt(ex, method, r, nil)
	if err == nil && res.StatusCode == http.StatusUnauthorized && signed != nil {
		_ = res.Body.Close()
		res, _, err = c.attempt(ex, method, r, signed)
	}
	switch {
	case err != nil && res != nil: // a redirect that is not followed; the body is closed
		return nil, &Refusal{Status: res.StatusCode, Header: res.Header, Body: []byte(httpx.WithoutURL(err).Error())}
	case err != nil:
		return nil, err
	}
	if strings.EqualFold(res.Header.Get("Content-Encoding"), "gzip") {
		res.Body = &gzipBody{ReadCloser: res.Body}
	}
	return succeeded(res)
}

// gzipBody decodes the body of a server that compresses although the request does not ask for it.
type gzipBody struct {
	io.ReadCloser
	decoder *gzip.Reader // nil before the first Read
}

func (b *gzipBody) Read(p []byte) (n int, err error) {
	if b.decoder == nil {
		if b.decoder, err = gzip.NewReader(b.ReadCloser); err != nil {
			return 0, err
		}
	}
	return b.decoder.Read(p)
}

// attempt sends a request once and returns the headers with its credentials; nil without a sign-in. refused are the previous attempt's
// headers.
func (c *Conn) attempt(ex *exchange, method string, r *Request, refused map[string]string) (*http.Response, map[string]string, error) {
	req, err := c.request(ex.ctx, method, r)
	if err != nil {
		return nil, nil, err
	}
	var signed map[string]string
	switch {
	case c.Info.Authorize != nil:
		signed, err = c.Info.Authorize(ex.ctx, refused)
	case c.Authorize != nil:
		err = c.Authorize(req, r.Body)
	}
	if err != nil {
		return nil, nil, &authError{err, oauth.Passing(err)}
	}
	for name, value := range signed {
		req.Header.Set(name, value)
	}
	ex.secrets = append(ex.secrets, headerSecrets(req.Header)...)
	c.Log.Debug("request to a model server", "provider", c.Info.ID, "method", method, "server", req.URL.Scheme+"://"+req.URL.Host, "bytes", len(r.Body))
	res, err := c.http.Do(req)
	return res, signed, err
}

// request returns a request with all headers except the credentials that are not a key.
func (c *Conn) request(ctx context.Context, method string, r *Request) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url(r.Path), bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", cmp.Or(r.Accept, "text/event-stream"))
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "tenon")
	if c.Authorize == nil && c.Info.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Info.Key)
	}
	sets := []map[string]string{c.Headers}
	if m := r.model; m != nil {
		sets = append(sets, m.Model.Headers, copilotHeaders(&c.Info, m), m.Headers)
	}
	for name, value := range headers(append(sets, r.Headers)...) {
		req.Header.Set(name, value)
	}
	return req, nil
}

// headers joins sets of headers; each set replaces headers of the earlier ones. If a set has several spellings of a name, the choice is
// always the same.
func headers(sets ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, set := range sets {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			all[http.CanonicalHeaderKey(name)] = set[name]
		}
	}
	return all
}

// url returns the address of a path with an optional query, in addition to the query of the base URL.
func (c *Conn) url(path string) string {
	path, query, _ := strings.Cut(path, "?")
	u := c.base.JoinPath(path)
	u.RawQuery = strings.Trim(u.RawQuery+"&"+query, "&")
	return u.String()
}

// Segment escapes a name, such as a model's, as one segment of a path: / : and @ too.
func Segment(name string) string {
	return strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}

// authError is a failure to get credentials for a request.
type authError struct {
	err     error
	passing bool // the network or the server of a sign-in failed
}

func (e *authError) Error() string { return "credentials: " + e.err.Error() }
func (e *authError) Unwrap() error { return e.err }

// KeyHeader returns a Setup.Authorize that sends a key in a header, unless it is empty or the user's headers have their own.
func KeyHeader(name, key string) func(*http.Request, []byte) error {
	return func(req *http.Request, _ []byte) error {
		if key != "" && req.Header.Get(name) == "" {
			req.Header.Set(name, key)
		}
		return nil
	}
}

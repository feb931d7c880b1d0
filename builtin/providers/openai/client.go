package openai

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/sdk"
)

// client sends requests to one provider in one of the two protocols.
type client struct {
	settings
	info      sdk.ProviderInfo
	responses bool
	base      *url.URL // including the query of every request
	http      *http.Client
	secrets   []string // must not appear in errors
}

var (
	_ sdk.ModelClient = (*client)(nil)
	_ sdk.ModelLister = (*client)(nil)
)

func newClient(info sdk.ProviderInfo, responses bool, transport *http.Transport, log *slog.Logger) (*client, error) {
	if info.BaseURL == "" {
		return nil, fmt.Errorf("provider %s has no base URL: set provider.%s.options.baseURL", info.ID, info.ID)
	}
	base, err := url.Parse(info.BaseURL)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, fmt.Errorf("provider %s: options.baseURL %q is not an http or https URL", info.ID, redactURL(info.BaseURL))
	}
	if err := checkHeaders(info); err != nil {
		return nil, err
	}
	s, err := newSettings(info, base, log)
	if err != nil {
		return nil, err
	}
	return &client{
		settings: s, info: info, responses: responses, secrets: secretsOf(info, base),
		base: base, http: &http.Client{Transport: transport, CheckRedirect: httpx.CheckRedirect(maxRedirects, "options.baseURL")},
	}, nil
}

// checkHeaders returns an error for a key or header with invalid characters, for example a line end from a file. The error does not
// contain the value.
func checkHeaders(info sdk.ProviderInfo) error {
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	if strings.ContainsFunc(info.Key, control) {
		return fmt.Errorf("provider %s: the key contains a line end or another control character; check provider.%s.options.apiKey, or the variable that holds it", info.ID, info.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(info.Headers)) {
		if strings.ContainsFunc(info.Headers[name], control) {
			return fmt.Errorf("provider %s: options.headers[%q] contains a line end or another control character", info.ID, name)
		}
		if name == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") != "" {
			return fmt.Errorf("provider %s: options.headers: %q is not the name of a header", info.ID, name)
		}
	}
	return nil
}

// maxRedirects is the limit of net/http.
const maxRedirects = 10

// newTransport returns the pool of connections. Compression is off because it would hold back the
// events of a stream; the read buffer is large because a stream is many small events.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 15 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 8,
		DisableCompression:  true,
		ReadBufferSize:      32 << 10,

		MaxResponseHeaderBytes: 256 << 10,
	}
}

// Stream sends the request and passes on the answer.
func (c *client) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	path, encode := "chat/completions", c.chatBody
	if c.responses {
		path, encode = "responses", c.responsesBody
	}
	body, err := encode(req)
	if err != nil {
		return fmt.Errorf("provider %s: encode the request: %w", c.info.ID, err) // not a *sdk.ProviderError: a retry would not help
	}
	ex, err := c.send(ctx, http.MethodPost, path, body, req.Model.Headers, req.Headers, map[string]string{"Accept": "text/event-stream"})
	if err != nil {
		return err
	}
	defer ex.close()
	return c.failure(ctx, ex, consume(ex, c.decoder(&answer{sink: sink})))
}

func (c *client) decoder(out *answer) decoder {
	if c.responses {
		return &responsesDecoder{answer: out}
	}
	return &chatDecoder{answer: out}
}

// send sends one request; later headers replace earlier ones of the same name, and all replace the provider's. The caller closes the
// exchange. The host does the retries.
func (c *client) send(ctx context.Context, method, path string, body []byte, headers ...map[string]string) (*exchange, error) {
	ex := newExchange(ctx, c.headerTimeout)
	res, err := c.do(ex.ctx, method, path, body, headers)
	if err != nil {
		ex.close()
		return nil, c.failure(ctx, ex, err)
	}
	ex.begin(res, c.idleTimeout)
	return ex, nil
}

// do returns a successful response. The caller closes its body.
func (c *client) do(ctx context.Context, method, path string, body []byte, headers []map[string]string) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath(path).String(), content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "tenon")
	if c.info.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.info.Key)
	}
	for _, set := range append([]map[string]string{c.headers}, headers...) {
		for name, value := range set {
			req.Header.Set(name, value)
		}
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	return succeeded(res)
}

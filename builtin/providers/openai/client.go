package openai

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	openaigo "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/tenonhq/tenon/sdk"
)

// client asks the models of one provider in one of the two protocols.
type client struct {
	settings
	info      sdk.ProviderInfo
	responses bool
	api       openaigo.Client
	secrets   []string // never to be seen in an error
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
	s, err := newSettings(info, base, log)
	if err != nil {
		return nil, err
	}
	c := &client{settings: s, info: info, responses: responses, secrets: secretsOf(info, base)}
	// A literal, not NewClient: that one takes key, address and headers from OPENAI_* variables, which
	// may belong to another server.
	c.api = openaigo.Client{Options: c.options(base, transport)}
	return c, nil
}

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
	}
}

func (c *client) options(base *url.URL, transport *http.Transport) []option.RequestOption {
	plain := *base
	plain.RawQuery = ""
	opts := []option.RequestOption{
		option.WithBaseURL(plain.String()),
		option.WithHTTPClient(&http.Client{Transport: transport}),
		option.WithMaxRetries(0), // the host retries
		option.WithMiddleware(c.refuse),
		option.WithHeader("User-Agent", "tenon"),
	}
	// What the library tells about this machine is nobody's business.
	for _, name := range []string{"Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Retry-Count", "Timeout"} {
		opts = append(opts, option.WithHeaderDel("X-Stainless-"+name))
	}
	for name, values := range base.Query() {
		for _, v := range values {
			opts = append(opts, option.WithQueryAdd(name, v))
		}
	}
	if c.info.Key != "" {
		opts = append(opts, option.WithAPIKey(c.info.Key))
	}
	return slices.Concat(opts, headerOptions(c.headers))
}

func headerOptions(headers map[string]string) []option.RequestOption {
	opts := make([]option.RequestOption, 0, len(headers))
	for name, value := range headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	return opts
}

// Stream asks the model and passes on its answer.
func (c *client) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	path, encode := "chat/completions", c.chatBody
	if c.responses {
		path, encode = "responses", c.responsesBody
	}
	body, err := encode(req)
	if err != nil {
		return fmt.Errorf("provider %s: encode the request: %w", c.info.ID, err) // no *sdk.ProviderError: asking again would not help
	}
	opts := slices.Concat(headerOptions(req.Model.Headers), headerOptions(req.Headers))
	ex, err := c.send(ctx, http.MethodPost, path, body, append(opts, option.WithHeader("Accept", "text/event-stream"))...)
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

// send makes one request. The caller closes the exchange.
func (c *client) send(ctx context.Context, method, path string, body []byte, opts ...option.RequestOption) (*exchange, error) {
	ex := newExchange(ctx, c.headerTimeout)
	var payload any
	if body != nil {
		payload = body
	}
	var res *http.Response
	if err := c.api.Execute(ex.ctx, method, path, payload, &res, opts...); err != nil {
		ex.close()
		return nil, c.failure(ctx, ex, err)
	}
	ex.begin(res, c.idleTimeout)
	return ex, nil
}

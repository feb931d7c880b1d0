package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/sdk"
)

// dialer makes connections to one server.
type dialer struct {
	server  Server
	options *Options
	project sdk.Project
	log     *serverLog
	logger  *slog.Logger
	// changed is told that the server's lists changed. It must not block.
	changed func()
	answers func() *responder // who answers the server's requests
}

// dial connects and asks what the server offers. ctx bounds it as a whole, and each of its requests has the server's deadline.
func (d *dialer) dial(ctx context.Context) (*conn, error) {
	if err := d.server.Validate(); err != nil {
		return nil, err
	}
	switch d.server.Transport {
	case TransportStdio:
		return d.dialStdio(ctx)
	case TransportSSE:
		return d.open(ctx, d.sse, attempt{legacy: true, timeout: d.server.timeout()})
	}
	return d.dialHTTP(ctx)
}

// dialStdio starts the server. It is spoken to in the older way first, which every server of today understands: one that is asked
// something it does not know may ignore it, and be waited for at every start.
func (d *dialer) dialStdio(ctx context.Context) (*conn, error) {
	c, err := d.open(ctx, d.stdio, attempt{legacy: true, timeout: d.server.timeout()})
	if err == nil || broken(err) || ctx.Err() != nil || !errors.As(err, new(*refusal)) {
		return c, err
	}
	if c, modern := d.open(ctx, d.stdio, attempt{timeout: d.server.timeout()}); modern == nil {
		return c, nil
	}
	return nil, err
}

// dialHTTP tries streamable HTTP, then, when the server refuses the first message as such, the transport from before.
func (d *dialer) dialHTTP(ctx context.Context) (*conn, error) {
	c, err := d.open(ctx, d.streamable(false), attempt{timeout: d.server.timeout()})
	if err == nil && !c.modern() && c.announces() {
		// News come over a stream of its own, which mcp-go opens only when it is told so before.
		if listening, err := d.open(ctx, d.streamable(true), attempt{legacy: true, timeout: d.server.timeout()}); err == nil {
			_ = c.close()
			return listening, nil
		}
	}
	var status *statusError
	refused := errors.Is(err, transport.ErrLegacySSEServer) || errors.As(err, &status) && status.status < 500
	if !refused {
		return c, err
	}
	if c, old := d.open(ctx, d.sse, attempt{legacy: true, timeout: d.server.timeout()}); old == nil {
		return c, nil
	}
	return nil, fmt.Errorf("it speaks neither streamable HTTP nor SSE at this address: %w", err)
}

// attempt is one way to connect.
type attempt struct {
	legacy  bool // the handshake from before the stateless revision
	timeout time.Duration
}

// refusal is the answer of a server that does not want our handshake.
type refusal struct{ err error }

// Error returns what the server said.
func (r *refusal) Error() string { return r.err.Error() }

// Unwrap returns what the server said.
func (r *refusal) Unwrap() error { return r.err }

func (d *dialer) stdio() (transport.Interface, *wire, error) {
	s := d.server.placed()
	if s.Root != "" && s.Command != d.server.Command && !inside(s.Root, s.Command) {
		return nil, nil, fmt.Errorf("command: %s is not inside of the plugin", d.server.Command)
	}
	t, err := newStdio(&s, s.directory(d.project.Directory), d.options.Environ, d.log)
	if err != nil {
		return nil, nil, err
	}
	w := newWire(t)
	go func() { // ends with the process
		<-t.lost
		w.fail(t.err())
	}()
	return w, w, nil
}

func (d *dialer) streamable(listen bool) func() (transport.Interface, *wire, error) {
	return func() (transport.Interface, *wire, error) {
		base, err := url.Parse(d.server.URL)
		if err != nil {
			return nil, nil, err
		}
		httpClient := newGuard(base, d.server.Headers).client()
		options := []transport.StreamableHTTPCOption{
			transport.WithHTTPBasicClient(httpClient), transport.WithHTTPLogger(quiet(d.log)),
		}
		if listen {
			//lint:ignore SA1019 the servers of today have no other way to tell news
			options = append(options, transport.WithContinuousListening())
		}
		inner, err := transport.NewStreamableHTTP(d.server.URL, options...)
		if err != nil {
			return nil, nil, err
		}
		w := &httpWire{wire: newWire(inner), url: d.server.URL, http: httpClient}
		return w, w.wire, nil
	}
}

func (d *dialer) sse() (transport.Interface, *wire, error) {
	base, err := url.Parse(d.server.URL)
	if err != nil {
		return nil, nil, err
	}
	httpClient := newGuard(base, d.server.Headers).client()
	inner, err := transport.NewSSE(d.server.URL,
		transport.WithHTTPClient(httpClient), transport.WithSSELogger(quiet(d.log)), transport.WithEndpointTimeout(d.server.timeout()),
		transport.WithResponseTimeout(maxCallTime))
	if err != nil {
		return nil, nil, err
	}
	w := &httpWire{wire: newWire(inner), url: d.server.URL, http: httpClient}
	inner.SetConnectionLostHandler(func(err error) {
		w.fail(fmt.Errorf("%w: the stream of events ended: %w", errLost, err))
		_ = inner.Close() // whoever waits for an answer need not wait any more
	})
	return w, w.wire, nil
}

// open connects over a new transport.
func (d *dialer) open(ctx context.Context, make func() (transport.Interface, *wire, error), a attempt) (*conn, error) {
	t, w, err := make()
	if err != nil {
		return nil, err
	}
	c := &conn{wire: w, calls: newCalls()}
	options := d.clientOptions(t, c)
	if a.legacy {
		//lint:ignore SA1019 the servers of today know no other handshake
		options = append(options, client.WithLegacyProtocolOnly())
	} else {
		options = append(options, client.WithDiscoverTimeout(min(probeTimeout, a.timeout)))
	}
	c.client = client.NewClient(t, options...)
	c.client.OnNotification(func(n mcp.JSONRPCNotification) { d.notified(c, n) })
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	if err := d.handshake(ctx, c); err != nil {
		_ = c.client.Close()
		return nil, err
	}
	return c, nil
}

func (d *dialer) clientOptions(t transport.Interface, c *conn) []client.ClientOption {
	capabilities := mcp.ClientCapabilities{Extensions: map[string]any{interceptorExtension: map[string]any{}}}
	options := []client.ClientOption{}
	if _, old := t.(*httpWire); old {
		if _, sse := t.(*httpWire).inner.(*transport.SSE); sse {
			return append(options, client.WithClientCapabilities(capabilities)) // mcp-go passes no requests of such servers on
		}
	}
	capabilities.Elicitation = &mcp.ElicitationCapability{Form: &struct{}{}}
	capabilities.Roots = &struct {
		ListChanged bool `json:"listChanged,omitempty"`
	}{}
	r := d.answers()
	r.calls = c.calls
	return append(options, client.WithClientCapabilities(capabilities),
		client.WithSamplingHandler(r), client.WithElicitationHandler(r), client.WithRootsHandler(r))
}

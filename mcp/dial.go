package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// dialer makes connections to one server.
type dialer struct {
	server  Server
	options *Options
	project sdk.Project
	log     *serverLog
	logger  *slog.Logger
	// changed is called when the server's lists have changed. It must not block.
	changed func()
	answers func() *responder // answers the server's requests
}

// dial connects and requests the server's lists. ctx limits it as a whole; each of its requests has the server's timeout.
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

// dialStdio starts the server. It tries the older revisions first, which every current server understands: an unknown request
// may be ignored, and each start would wait for it.
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

// dialHTTP tries streamable HTTP and, if the server refuses the first message, the older transport.
func (d *dialer) dialHTTP(ctx context.Context) (*conn, error) {
	c, err := d.open(ctx, d.streamable, attempt{timeout: d.server.timeout()})
	if err == nil && !c.modern() && c.announces() {
		c.hearNews()
	}
	var status *statusError
	refused := errors.Is(err, errOldServer) || errors.As(err, &status) && status.status < 500
	if !refused {
		return c, err
	}
	if c, old := d.open(ctx, d.sse, attempt{legacy: true, timeout: d.server.timeout()}); old == nil {
		return c, nil
	}
	return nil, fmt.Errorf("no streamable HTTP or SSE endpoint at this address: %w", err)
}

// attempt is one way to connect.
type attempt struct {
	legacy  bool // the handshake of the older revisions
	timeout time.Duration
}

// refusal is the error of a server that refuses the handshake.
type refusal struct{ err error }

// Error returns the server's error.
func (r *refusal) Error() string { return r.err.Error() }

// Unwrap returns the server's error.
func (r *refusal) Unwrap() error { return r.err }

func (d *dialer) stdio() (carrier, error) {
	s := d.server.placed()
	if s.Root != "" && s.Command != d.server.Command && !inside(s.Root, s.Command) {
		return nil, fmt.Errorf("command: %s is not inside the plugin", d.server.Command)
	}
	return newStdio(&s, s.Directory(d.project.Directory), d.options, d.log)
}

func (d *dialer) streamable() (carrier, error) {
	base, err := url.Parse(d.server.URL)
	if err != nil {
		return nil, err
	}
	return newStreamable(d.server.URL, newGuard(base, d.server.Headers).client(), d.log), nil
}

func (d *dialer) sse() (carrier, error) {
	base, err := url.Parse(d.server.URL)
	if err != nil {
		return nil, err
	}
	return newSSE(d.server.URL, newGuard(base, d.server.Headers).client(), d.log), nil
}

// open connects over a new carrier.
func (d *dialer) open(ctx context.Context, make func() (carrier, error), a attempt) (*conn, error) {
	t, err := make()
	if err != nil {
		return nil, err
	}
	c := newConn(t, d.options.version(), d.answers())
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	if err := d.handshake(ctx, c, a); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

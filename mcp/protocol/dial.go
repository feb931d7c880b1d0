package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/ongoing"
)

// discoveryShare is the part of Timeout for the discovery of the stateless revision, which older servers may ignore: a third leaves
// time for the handshake and another discovery.
const discoveryShare = 3

// Dialer makes connections to one server.
type Dialer struct {
	// Command runs a local server; nil for a remote one.
	Command *Command
	// Remote is the address of a remote server.
	Remote *Remote
	// Timeout limits each way to connect, and requests other than calls of tools.
	Timeout time.Duration
	// Silence limits the time of each call of a tool without progress. Zero means Timeout.
	Silence time.Duration
	// Info names tenon to the server.
	Info mcp.Implementation
	// Capabilities lists the requests that Answer supports.
	Capabilities mcp.ClientCapabilities
	// Log receives the server's output outside the protocol.
	Log *Log
	// Answer answers the server's requests, except ping.
	Answer Answer
	// Notified is called for notifications except those of progress, on a reading goroutine. It must not block.
	Notified func(method string, params map[string]any)
}

// Remote is the address of a server over HTTP.
type Remote struct {
	URL string
	// SSE means the predecessor of streamable HTTP.
	SSE bool
	// Headers are sent only to the origin of URL.
	Headers map[string]string
	// Authorizer adds credentials to requests; nil without sign-in.
	Authorizer Authorizer
}

// Dial connects and performs the handshake.
func (d *Dialer) Dial(ctx context.Context) (*Conn, error) {
	switch {
	case d.Command != nil:
		return d.dialStdio(ctx)
	case d.Remote.SSE:
		return d.open(ctx, newSSE, true)
	}
	return d.dialHTTP(ctx)
}

// dialStdio starts the server. It tries the older revisions first, which every current server understands: an older server
// may ignore an unknown request, and then each start would wait for an answer.
func (d *Dialer) dialStdio(ctx context.Context) (*Conn, error) {
	c, err := d.open(ctx, newStdio, true)
	if err == nil || Broken(err) || errors.Is(err, ErrLate) || ctx.Err() != nil {
		return c, err
	}
	if c, modern := d.open(ctx, newStdio, false); modern == nil {
		return c, nil
	}
	return nil, err
}

// dialHTTP tries streamable HTTP and, if the server refuses the first message, the older transport.
func (d *Dialer) dialHTTP(ctx context.Context) (*Conn, error) {
	c, err := d.open(ctx, newStreamable, false)
	if err == nil && !c.modern() {
		c.carrier.(*streamable).hearNews(ctx)
	}
	if status, ok := errors.AsType[*statusError](err); !ok || status.status >= 500 {
		return c, err
	}
	if c, old := d.open(ctx, newSSE, true); old == nil {
		return c, nil
	}
	return nil, fmt.Errorf("no streamable HTTP or SSE endpoint at this address: %w", err)
}

// newConn returns a connection without a carrier. The end of ctx does not end it.
func newConn(ctx context.Context, d *Dialer) *Conn {
	c := &Conn{
		dialer: d, running: ongoing.New(ctx), calls: ongoing.New(ctx), incoming: make(chan struct{}, maxIncoming),
		refused: make(chan json.RawMessage, maxRefused),
		waiting: map[string]chan *message{}, repeated: map[string]mcp.Tool{},
	}
	c.life, c.fail = context.WithCancelCause(context.WithoutCancel(ctx))
	return c
}

// open connects over a new carrier. legacy means the handshake of the older revisions.
func (d *Dialer) open(ctx context.Context, carry func(*Conn) carrier, legacy bool) (*Conn, error) {
	c := newConn(ctx, d)
	c.carrier = carry(c)
	c.running.Go(c.sendRefusals) // ends with the life
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	step, err := "connect", c.carrier.start(ctx)
	if err == nil {
		step, err = "answer the first message", c.introduce(ctx, legacy, d.Timeout/discoveryShare)
	}
	if err == nil {
		return c, nil
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("it did not %s in %s; %w", step, d.Timeout, ErrLate)
	}
	c.Close()
	return nil, err
}

package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/pause"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp/input"
	"github.com/tenonhq/tenon/mcp/interceptor"
	"github.com/tenonhq/tenon/mcp/protocol"
)

const (
	// maxInstructions is the maximum size of a server's instructions in bytes.
	maxInstructions = 8 << 10
	// interceptorExtension is the capability of a server with interceptors (SEP-2624).
	interceptorExtension = "io.modelcontextprotocol/interceptors"
)

// connection is a connection with the definition of its server.
type connection struct {
	*protocol.Conn
	definition atomic.Pointer[Definition] // the current one; replaced by refresh
}

// dial connects, requests the server's lists and records the outcome. Each way to connect, and the lists, have the server's timeout.
func (p *Plugin) dial(ctx context.Context) (*connection, error) {
	c, err := p.connect(ctx)
	switch {
	case err == nil:
		p.record(c.definition.Load(), nil)
	case !errors.Is(ctx.Err(), context.Canceled) && !(p.options.SigningIn && needsSignIn(err)):
		p.record(nil, err)
	}
	return c, err
}

func (p *Plugin) connect(ctx context.Context) (*connection, error) {
	if err := p.server.Validate(); err != nil {
		return nil, err
	}
	responder := &input.Responder{Server: p.server.Name, Host: p.host}
	conn, err := p.dialer(responder).Dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn}
	ctx, cancel := context.WithTimeout(ctx, p.server.Limit())
	defer cancel()
	level := "info"
	if p.logger.Enabled(ctx, slog.LevelDebug) {
		level = "debug"
	}
	c.SetLogLevel(ctx, level)
	if _, err = c.refresh(ctx); err == nil && responder.GaveRoots() {
		err = c.takeRoots(ctx)
	}
	if err != nil {
		c.Close()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("it did not list its tools in %s; %w", p.server.Limit(), protocol.ErrLate)
		}
		return nil, err
	}
	return c, nil
}

// rootsGrace is the time for a server to apply the roots it was sent; the official filesystem server needs a few milliseconds.
const rootsGrace = 50 * time.Millisecond

// takeRoots waits until the server has applied the roots that it requested after the handshake. The server would handle an earlier call
// without them.
func (c *connection) takeRoots(ctx context.Context) error {
	if _, err := c.Request(ctx, string(mcp.MethodPing), nil); protocol.Broken(err) { // an answer shows that the roots were read
		return err
	}
	return pause.For(ctx, rootsGrace)
}

// dialer returns the way to the server.
func (p *Plugin) dialer(responder *input.Responder) *protocol.Dialer {
	s := &p.server
	capabilities := input.Capabilities()
	capabilities.Extensions = map[string]any{interceptorExtension: map[string]any{}}
	d := &protocol.Dialer{
		Timeout: s.Limit(), Silence: cmp.Or(s.Timeout, DefaultSilence), Info: mcp.Implementation{Name: "tenon", Version: cmp.Or(p.options.Version, "dev")},
		Capabilities: capabilities, Log: p.log, Answer: responder.Answer, Notified: p.notified,
	}
	if s.Transport == TransportStdio {
		d.Command = &protocol.Command{
			Name: s.Command, Args: s.Args, Environ: p.options.Environ, Env: s.Env, Dir: s.Directory(p.project.Directory), Confine: p.options.Confine,
		}
	} else {
		d.Remote = &protocol.Remote{URL: s.URL, SSE: s.Transport == TransportSSE, Headers: s.Headers, Authorizer: p.options.Authorizer}
	}
	return d
}

// refresh requests the server's lists, and returns its definition.
func (c *connection) refresh(ctx context.Context) (*Definition, error) {
	hello := c.Hello()
	def := &Definition{
		Title: strings.TrimSpace(visible.Strip(hello.ServerInfo.Name + " " + hello.ServerInfo.Version)), Protocol: hello.ProtocolVersion,
		Instructions: visible.Bound(hello.Instructions, maxInstructions), Resources: hello.Capabilities.Resources != nil,
	}
	var err error
	if hello.Capabilities.Tools != nil {
		def.Tools, def.More, err = readList[Tool](c.List(ctx, "tools"))
	}
	if err == nil && hello.Capabilities.Prompts != nil {
		var more bool
		def.Prompts, more, err = readList[Prompt](c.List(ctx, "prompts"))
		def.More = def.More || more
	}
	if err != nil {
		return nil, err
	}
	def.Tools = firstOfEach(def.Tools, func(t Tool) string { return t.Name })
	def.Prompts = firstOfEach(def.Prompts, func(p Prompt) string { return p.Name })
	for i := range def.Tools {
		if t := &def.Tools[i]; string(t.OutputSchema) == "null" {
			t.OutputSchema = nil
		}
	}
	_, extension := hello.Capabilities.Extensions[interceptorExtension]
	_, experimental := hello.Capabilities.Experimental[interceptorExtension] // of libraries without extensions
	if extension || experimental {
		elements, more, err := c.List(ctx, "interceptors")
		if err == nil && more { // a hook that is left out may be the one that protects the user
			err = errors.New("list its interceptors: too many")
		}
		if err != nil {
			return nil, err
		}
		for _, e := range elements {
			spec, err := interceptor.Decode(e)
			if err != nil {
				return nil, fmt.Errorf("list its interceptors: %w", err)
			}
			def.Interceptors = append(def.Interceptors, spec)
		}
	}
	c.definition.Store(def)
	return def, nil
}

// readList decodes the elements of a list. It omits invalid ones, so that they do not hide the others.
func readList[T any](elements []json.RawMessage, more bool, err error) ([]T, bool, error) {
	var out []T
	for _, e := range elements {
		var one T
		if json.Unmarshal(e, &one) == nil {
			out = append(out, one)
		}
	}
	return out, more, err
}

// firstOfEach omits elements without a name, and all but the first of a name: approvals are compared by name.
func firstOfEach[T any](list []T, name func(T) string) []T {
	known := map[string]bool{"": true}
	return slices.DeleteFunc(list, func(one T) bool {
		again := known[name(one)]
		known[name(one)] = true
		return again
	})
}

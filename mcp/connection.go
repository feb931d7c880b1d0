package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp/input"
	"github.com/tenonhq/tenon/mcp/interceptor"
	"github.com/tenonhq/tenon/mcp/protocol"
	"github.com/tenonhq/tenon/sdk"
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
	interceptors bool // the server has some

	mu  sync.Mutex
	def *Definition // the current one; replaced by refresh
}

// dialer makes connections to one server.
type dialer struct {
	server  Server
	options *Options
	project sdk.Project
	log     *serverLog
	logger  *slog.Logger
	host    sdk.Host // nil while a server is only probed
	// changed is called when the server's lists have changed. It must not block.
	changed func()
	// updated is called when a resource that was subscribed to has changed. It must not block.
	updated func(uri string)

	errors atomic.Int32 // number of the errors that the server reported
}

// dial connects and requests the server's lists. Each way to connect, and the lists, have the server's timeout.
func (d *dialer) dial(ctx context.Context) (*connection, error) {
	c, err := d.connect(ctx)
	switch {
	case err == nil:
		d.record(c.definition(), nil)
	case !errors.Is(ctx.Err(), context.Canceled):
		d.record(nil, err)
	}
	return c, err
}

func (d *dialer) connect(ctx context.Context) (*connection, error) {
	if err := d.server.Validate(); err != nil {
		return nil, err
	}
	responder := &input.Responder{Server: d.server.Name, Host: d.host}
	conn, err := d.protocol(responder).Dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, interceptors: offersInterceptors(conn.Hello().Raw)}
	ctx, cancel := context.WithTimeout(ctx, d.server.Limit())
	defer cancel()
	level := "info"
	if d.logger.Enabled(ctx, slog.LevelDebug) {
		level = "debug"
	}
	c.SetLogLevel(ctx, level)
	if _, err = c.refresh(ctx); err == nil && responder.GaveRoots() {
		err = c.takeRoots(ctx)
	}
	if err != nil {
		c.Close()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("its tools were not listed within %s; raise its timeout if it needs longer: %w", d.server.Limit(), context.DeadlineExceeded)
		}
		return nil, err
	}
	return c, nil
}

// rootsGrace is the time for a server to apply the roots it was sent; the official filesystem server needs a few milliseconds.
const rootsGrace = 50 * time.Millisecond

// takeRoots waits until the server has taken the roots that it requested after the handshake: it would judge an earlier call without them.
func (c *connection) takeRoots(ctx context.Context) error {
	if _, err := c.Request(ctx, string(mcp.MethodPing), nil); protocol.Broken(err) { // an answer shows that the roots were read
		return err
	}
	select {
	case <-time.After(rootsGrace):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// protocol returns the way to the server.
func (d *dialer) protocol(responder *input.Responder) *protocol.Dialer {
	capabilities := input.Capabilities()
	capabilities.Extensions = map[string]any{interceptorExtension: map[string]any{}}
	p := &protocol.Dialer{
		Timeout: d.server.Limit(), Info: mcp.Implementation{Name: "tenon", Version: d.options.version()},
		Capabilities: capabilities, Log: d.log, Answer: responder.Answer, Notified: d.notified,
	}
	if d.server.Transport != TransportStdio {
		p.Remote = &protocol.Remote{
			URL: d.server.URL, SSE: d.server.Transport == TransportSSE, Headers: d.server.Headers, Authorizer: d.options.Authorizer,
		}
		return p
	}
	s := &d.server
	p.Command = &protocol.Command{
		Name: s.Command, Args: s.Args, Environ: d.options.Environ, Env: s.Env, Dir: s.Directory(d.project.Directory), Confine: d.options.Confine,
	}
	return p
}

// offersInterceptors reports whether the server's first answer contains the extension. Libraries without extensions put it into experimental.
func offersInterceptors(raw json.RawMessage) bool {
	var answer struct {
		Capabilities struct {
			Extensions   map[string]json.RawMessage `json:"extensions"`
			Experimental map[string]json.RawMessage `json:"experimental"`
		} `json:"capabilities"`
	}
	if json.Unmarshal(raw, &answer) != nil {
		return false
	}
	_, extension := answer.Capabilities.Extensions[interceptorExtension]
	_, experimental := answer.Capabilities.Experimental[interceptorExtension]
	return extension || experimental
}

// refresh requests the server's lists, and returns its definition.
func (c *connection) refresh(ctx context.Context) (*Definition, error) {
	hello := c.Hello()
	def := &Definition{
		Title: strings.TrimSpace(visible.Strip(hello.Name + " " + hello.Version)), Protocol: hello.Protocol,
		Instructions: visible.Bound(hello.Instructions, maxInstructions), Resources: hello.Capabilities.Resources != nil,
	}
	var err error
	if hello.Capabilities.Tools != nil {
		if def.Tools, err = readList(ctx, c, "tools", decodeTool); err != nil {
			return nil, err
		}
	}
	if hello.Capabilities.Prompts != nil {
		if def.Prompts, err = readList(ctx, c, "prompts", decodePrompt); err != nil {
			return nil, err
		}
	}
	if c.interceptors {
		elements, err := c.List(ctx, "interceptors")
		if err != nil {
			return nil, err
		}
		for _, e := range elements {
			spec, err := interceptor.Decode(e)
			if err != nil { // a hook that is left out may be the one that protects the user
				return nil, fmt.Errorf("list its interceptors: %w", err)
			}
			def.Interceptors = append(def.Interceptors, spec)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.def = def
	return def, nil
}

func (c *connection) definition() *Definition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.def
}

// readList reads all pages of a list.
func readList[T any](ctx context.Context, c *connection, what string, decode func(json.RawMessage) (T, error)) ([]T, error) {
	elements, err := c.List(ctx, what)
	return decodeList(elements, decode), err
}

// decodeList decodes the elements of a list. It omits invalid ones, so that they do not hide the others.
func decodeList[T any](elements []json.RawMessage, decode func(json.RawMessage) (T, error)) []T {
	var out []T
	for _, e := range elements {
		if one, err := decode(e); err == nil {
			out = append(out, one)
		}
	}
	return out
}

// decodePrompt decodes one element of a list of prompts.
func decodePrompt(raw json.RawMessage) (Prompt, error) {
	var p Prompt
	if err := json.Unmarshal(raw, &p); err != nil {
		return Prompt{}, err
	}
	if p.Name == "" {
		return Prompt{}, errors.New("it has no name")
	}
	return p, nil
}

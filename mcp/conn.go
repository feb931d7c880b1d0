package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/mcp/interceptor"
)

const (
	// probeTimeout limits the request that detects the stateless revision of the protocol: older servers may ignore it.
	probeTimeout = 2 * time.Second
	// maxPages and maxEntries limit the lists of a server.
	maxPages   = 100
	maxEntries = 2000
	// maxInstructions is the maximum size of a server's instructions in bytes.
	maxInstructions = 8 << 10
	// interceptorExtension is the capability of a server with interceptors (SEP-2624).
	interceptorExtension = "io.modelcontextprotocol/interceptors"
)

// conn is one connection. It is safe for concurrent use.
type conn struct {
	wire      *wire
	calls     *calls
	responder *responder
	def       *Definition // the current one; replaced by refresh

	// Set by the handshake.
	version string // of the protocol
	server  mcp.ServerCapabilities

	info         mcp.Implementation // of tenon
	capabilities mcp.ClientCapabilities

	silent   atomic.Int32        // consecutive timeouts without any message of the server
	repeated map[string]mcp.Tool // by name: tools whose arguments are repeated in HTTP headers; guarded by calls.mu
}

func newConn(t carrier, version string, r *responder) *conn {
	c := &conn{wire: newWire(t), calls: newCalls(), responder: r, info: mcp.Implementation{Name: "tenon", Version: version}}
	r.calls = c.calls
	c.capabilities = mcp.ClientCapabilities{
		Extensions:  map[string]any{interceptorExtension: map[string]any{}},
		Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}},
		Sampling:    &mcp.SamplingCapability{},
		Roots: &struct {
			ListChanged bool `json:"listChanged,omitempty"`
		}{},
	}
	return c
}

// handshake agrees on a revision and requests the server's lists.
func (d *dialer) handshake(ctx context.Context, c *conn, a attempt) error {
	us := peer{
		notified: func(method string, params map[string]any) { d.notified(c, method, params) },
		answer:   c.responder.answer,
		lost:     c.wire.fail,
	}
	if err := c.wire.carrier.start(ctx, us); err != nil {
		return inTime(ctx, "connect", d.server.timeout(), err)
	}
	hello, raw, err := c.introduce(ctx, a)
	if err != nil {
		if !broken(err) && ctx.Err() == nil {
			return &refusal{err}
		}
		return inTime(ctx, "answer the first message", d.server.timeout(), err)
	}
	def := &Definition{
		Title: visible.Strip(hello.ServerInfo.Name + " " + hello.ServerInfo.Version), Protocol: c.version,
		Instructions: bound(hello.Instructions, maxInstructions), Resources: hello.Capabilities.Resources != nil,
	}
	return c.list(ctx, def, offersInterceptors(raw))
}

// offersInterceptors reports whether the server's first answer contains the extension, at the position of any of its drafts.
func offersInterceptors(raw json.RawMessage) bool {
	var answer struct {
		Capabilities struct {
			Interceptors json.RawMessage            `json:"interceptors"`
			Extensions   map[string]json.RawMessage `json:"extensions"`
			Experimental map[string]json.RawMessage `json:"experimental"`
		} `json:"capabilities"`
	}
	if json.Unmarshal(raw, &answer) != nil {
		return false
	}
	c := answer.Capabilities
	_, extension := c.Extensions[interceptorExtension]
	_, experimental := c.Experimental[interceptorExtension]
	_, early := c.Experimental["interceptors"]
	return extension || experimental || early || len(c.Interceptors) > 0 && string(c.Interceptors) != "null"
}

// list sets the lists of a definition.
func (c *conn) list(ctx context.Context, def *Definition, interceptors bool) error {
	var err error
	if c.server.Tools != nil {
		if def.Tools, err = listAll(ctx, c, "tools", c.decodeTool); err != nil {
			return err
		}
	}
	if c.server.Prompts != nil {
		if def.Prompts, err = listAll(ctx, c, "prompts", decodePrompt); err != nil {
			return err
		}
	}
	if interceptors {
		if def.Interceptors, err = listAll(ctx, c, "interceptors", interceptor.Decode); err != nil {
			return err
		}
	}
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	c.def = def
	return nil
}

// refresh requests the server's lists again.
func (c *conn) refresh(ctx context.Context) (*Definition, error) {
	def := *c.definition()
	if err := c.list(ctx, &def, len(def.Interceptors) > 0); err != nil {
		return nil, err
	}
	return &def, nil
}

func (c *conn) definition() *Definition {
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	return c.def
}

// listAll reads all pages of a list. It omits invalid elements, so that they do not hide the others. Only an invalid interceptor is
// an error.
func listAll[T any](ctx context.Context, c *conn, what string, decode func(json.RawMessage) (T, error)) ([]T, error) {
	var out []T
	cursor := ""
	for range maxPages {
		raw, err := c.page(ctx, what+"/list", cursor)
		if err != nil {
			return nil, fmt.Errorf("list its %s: %w", what, err)
		}
		var page map[string]json.RawMessage
		var elements []json.RawMessage
		if json.Unmarshal(raw, &page) != nil || json.Unmarshal(page[what], &elements) != nil {
			return nil, fmt.Errorf("list its %s: missing list %q in the answer", what, what)
		}
		for _, e := range elements {
			one, err := decode(e)
			if err != nil && what == "interceptors" {
				return nil, fmt.Errorf("list its interceptors: %w", err)
			}
			if err == nil && len(out) < maxEntries {
				out = append(out, one)
			}
		}
		next := ""
		if page["nextCursor"] != nil && json.Unmarshal(page["nextCursor"], &next) != nil || next == cursor || len(out) == maxEntries {
			return out, nil
		}
		cursor = next
	}
	return out, nil
}

// page requests one page of a list.
func (c *conn) page(ctx context.Context, method, cursor string) (json.RawMessage, error) {
	params := map[string]any{}
	if cursor != "" {
		params["cursor"] = cursor
	}
	return c.request(ctx, method, params)
}

// announces reports whether the server sends notifications about changed lists.
func (c *conn) announces() bool {
	return c.server.Tools != nil && c.server.Tools.ListChanged || c.server.Prompts != nil && c.server.Prompts.ListChanged
}

// listen requests the notifications of a server of the stateless revision, until ctx ends.
func (c *conn) listen(ctx context.Context) {
	if c.modern() && c.announces() {
		// After an error the lists are requested at the next start.
		_, _ = c.request(ctx, string(mcp.MethodSubscriptionsListen), map[string]any{
			"notifications": mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true},
		})
	}
}

// hearNews receives the notifications of a server of the older revisions over HTTP, which need a separate stream.
func (c *conn) hearNews() {
	if s, ok := c.wire.carrier.(*streamable); ok {
		s.hearNews()
	}
}

func (c *conn) close() { c.wire.close() }

// inTime returns a readable error for a timeout, else err.
func inTime(ctx context.Context, what string, timeout time.Duration, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it did not %s in %s; raise its timeout if it needs longer: %w", what, timeout, context.DeadlineExceeded)
	}
	return err
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

// bound cuts a stranger's text at a number of bytes and takes out what could change a terminal.
func bound(text string, limit int) string { return visible.Cut(visible.Strip(text), limit, " …") }

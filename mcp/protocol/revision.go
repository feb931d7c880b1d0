package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// maxRounds is the maximum number of requests for user input in one call.
	maxRounds = 10
	// maxEmptyRounds is how many times in a row a busy server can ask to be called again without requesting input.
	maxEmptyRounds = 3
)

// errNotModern is returned if a server answers the discovery without naming the revision: an older server may answer any method.
var errNotModern = errors.New("the server did not name a revision it supports")

// introduce agrees on a revision of the protocol: first the stateless one with its discovery (SEP-2575), then the older ones with a
// handshake. A server that did not answer the discovery within probe, and then refuses the handshake, may be a slow server of the
// stateless revision: the discovery is repeated, with all the time that ctx has left.
func (c *Conn) introduce(ctx context.Context, legacy bool, probe time.Duration) error {
	if legacy {
		return c.initialize(ctx)
	}
	probing, cancel := context.WithTimeout(ctx, probe)
	defer cancel()
	err := c.discover(probing)
	if err == nil || errors.As(err, new(*AuthError)) {
		return err
	}
	refused := c.initialize(ctx)
	if refused != nil && errors.Is(err, context.DeadlineExceeded) {
		if err = c.discover(ctx); err == nil || errors.As(err, new(*AuthError)) {
			return err
		}
	}
	return refused
}

// discover sends the discovery of the stateless revision. If the server names such a revision, it repeats the request with that.
func (c *Conn) discover(ctx context.Context) error {
	c.version.Store(mcp.LATEST_PROTOCOL_VERSION)
	raw, err := c.Request(ctx, string(mcp.MethodServerDiscover), nil)
	if other, ok := errors.AsType[mcp.UnsupportedProtocolVersionError](err); ok {
		if v := mcp.NegotiateMutuallySupportedVersion(other.Supported); mcp.IsModernProtocol(v) {
			c.version.Store(v)
			raw, err = c.Request(ctx, string(mcp.MethodServerDiscover), nil)
		}
	}
	var found mcp.DiscoverResult
	if err == nil {
		err = json.Unmarshal(raw, &found)
	}
	if err == nil && !slices.Contains(found.SupportedVersions, c.revision()) {
		err = errNotModern
	}
	if err != nil {
		c.version.Store("")
		return err
	}
	c.hello = &mcp.InitializeResult{ProtocolVersion: c.revision(), Capabilities: found.Capabilities, Instructions: found.Instructions}
	if info := found.GetResultMeta().ServerInfo(); info != nil {
		c.hello.ServerInfo = *info
	}
	return nil
}

// initialize performs the handshake, see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle ("Initialization").
func (c *Conn) initialize(ctx context.Context) error {
	raw, err := c.Request(ctx, string(mcp.MethodInitialize), map[string]any{
		"protocolVersion": mcp.LATEST_LEGACY_PROTOCOL_VERSION, "clientInfo": c.dialer.Info, "capabilities": c.dialer.Capabilities,
	})
	if err != nil {
		return err
	}
	var hello mcp.InitializeResult
	if err := json.Unmarshal(raw, &hello); err != nil {
		return fmt.Errorf("invalid answer to the first message: %w", err)
	}
	if !mcp.IsValidProtocolVersion(hello.ProtocolVersion) {
		return mcp.UnsupportedProtocolVersionError{Version: hello.ProtocolVersion}
	}
	c.hello = &hello
	c.version.Store(hello.ProtocolVersion)
	if err := c.notify(ctx, string(mcp.MethodNotificationInitialized), nil); err != nil {
		return &carrierError{err}
	}
	return nil
}

// revision returns the revision of the protocol, or "" before it is agreed on.
func (c *Conn) revision() string {
	version, _ := c.version.Load().(string)
	return version
}

// modern reports whether the connection uses the stateless revision.
func (c *Conn) modern() bool { return mcp.IsModernProtocol(c.revision()) }

// Request sends a request and returns its raw result.
func (c *Conn) Request(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	var header http.Header
	if c.modern() {
		var err error
		params = c.complete(params)
		if header, err = c.header(method, params); err != nil {
			return nil, err
		}
	}
	return c.exchange(ctx, method, params, header)
}

// complete adds the fields that the stateless revision requires in each request.
func (c *Conn) complete(params map[string]any) map[string]any {
	meta := map[string]any{
		mcp.MetaKeyProtocolVersion: c.revision(), mcp.MetaKeyClientInfo: c.dialer.Info, mcp.MetaKeyClientCapabilities: c.dialer.Capabilities,
	}
	if level := c.logLevel.Load(); level != nil {
		meta[mcp.MetaKeyLogLevel] = *level
	}
	if given, ok := params["_meta"].(map[string]any); ok {
		maps.Copy(meta, given)
	}
	out := map[string]any{"_meta": meta}
	for key, value := range params {
		if key != "_meta" {
			out[key] = value
		}
	}
	return out
}

// header returns the HTTP headers of the stateless revision (SEP-2243): the method, its target, and the arguments that the
// tool's schema names.
func (c *Conn) header(method string, params map[string]any) (http.Header, error) {
	if !c.overHTTP() {
		return nil, nil
	}
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	for name, value := range mcp.StandardHeaders(c.revision(), mcp.MCPMethod(method), encoded) {
		header.Set(name, value)
	}
	if name, ok := params["name"].(string); ok && method == string(mcp.MethodToolsCall) {
		c.mu.Lock()
		tool := c.repeated[name] // without an entry, none of its arguments is a header
		c.mu.Unlock()
		for name, value := range mcp.GenerateParamHeaders(&tool, encoded) {
			header.Set(name, value)
		}
	}
	return header, nil
}

func (c *Conn) overHTTP() bool {
	_, ok := c.carrier.(*streamable)
	return ok
}

// rounds repeats a request until the server has all its input: in the stateless revision, a result can consist of questions, and the
// client sends the request again with the answers (SEP-2322).
func (c *Conn) rounds(ctx context.Context, on *Call, method string, params map[string]any) (json.RawMessage, error) {
	empty := 0
	for range maxRounds {
		raw, err := c.Request(ctx, method, params)
		if err != nil || !bytes.Contains(raw, []byte(`"input_required"`)) { // the usual case, without decoding a long result twice
			return raw, err
		}
		var asked struct {
			Type     string `json:"resultType"`
			Requests map[string]struct {
				Method string          `json:"method"`
				Params json.RawMessage `json:"params"`
			} `json:"inputRequests"`
			State string `json:"requestState"`
		}
		switch err := json.Unmarshal(raw, &asked); {
		case asked.Type != "input_required":
			return raw, nil
		case err != nil:
			return nil, fmt.Errorf("invalid request for input: %w", err)
		}
		if empty++; len(asked.Requests) > 0 {
			empty = 0
		}
		if empty == maxEmptyRounds {
			return nil, errors.New("it is too busy to answer")
		}
		answers := map[string]any{}
		for _, id := range slices.Sorted(maps.Keys(asked.Requests)) {
			if answers[id], err = c.dialer.Answer(ctx, on, asked.Requests[id].Method, asked.Requests[id].Params); err != nil {
				return nil, fmt.Errorf("answer its question: %w", err)
			}
		}
		params = maps.Clone(params)
		delete(params, "inputResponses")
		delete(params, "requestState")
		if len(answers) > 0 {
			params["inputResponses"] = answers
		}
		if asked.State != "" {
			params["requestState"] = asked.State
		}
	}
	return nil, fmt.Errorf("it requested input %d times without a result", maxRounds)
}

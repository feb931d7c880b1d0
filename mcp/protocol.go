package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// maxRounds is the maximum number of requests for user input in one call.
	maxRounds = 10
	// maxEmptyRounds is the maximum number of consecutive requests of a busy server to be called again without input.
	maxEmptyRounds = 3
)

// introduce agrees on a revision of the protocol: first the stateless one with its discovery (SEP-2575), then the
// older ones with a handshake. raw is the server's answer.
func (c *conn) introduce(ctx context.Context, a attempt) (hello *mcp.InitializeResult, raw json.RawMessage, err error) {
	if !a.legacy {
		if hello, raw, err = c.discover(ctx, a); err == nil || errors.As(err, new(*authError)) {
			return hello, raw, err
		}
	}
	return c.initialize(ctx)
}

// discover sends the discovery of the stateless revision. If the server names another such revision, it repeats the request with that.
func (c *conn) discover(ctx context.Context, a attempt) (*mcp.InitializeResult, json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, min(probeTimeout, a.timeout))
	defer cancel()
	c.setVersion(mcp.LATEST_PROTOCOL_VERSION)
	raw, err := c.request(ctx, string(mcp.MethodServerDiscover), nil)
	var other mcp.UnsupportedProtocolVersionError
	if errors.As(err, &other) {
		if v := mcp.NegotiateMutuallySupportedVersion(other.Supported); mcp.IsModernProtocol(v) && v != c.version {
			c.setVersion(v)
			raw, err = c.request(ctx, string(mcp.MethodServerDiscover), nil)
		}
	}
	var found mcp.DiscoverResult
	if err == nil {
		err = json.Unmarshal(raw, &found)
	}
	if err != nil {
		c.setVersion("")
		return nil, nil, err
	}
	c.server = found.Capabilities
	hello := &mcp.InitializeResult{ProtocolVersion: c.version, Capabilities: found.Capabilities, Instructions: found.Instructions}
	if info := found.GetResultMeta().ServerInfo(); info != nil {
		hello.ServerInfo = *info
	}
	return hello, raw, nil
}

// initialize performs the handshake, see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle ("Initialization").
func (c *conn) initialize(ctx context.Context) (*mcp.InitializeResult, json.RawMessage, error) {
	raw, err := c.request(ctx, string(mcp.MethodInitialize), map[string]any{
		"protocolVersion": mcp.LATEST_LEGACY_PROTOCOL_VERSION, "clientInfo": c.info, "capabilities": c.capabilities,
	})
	if err != nil {
		return nil, nil, err
	}
	hello := &mcp.InitializeResult{}
	if err := json.Unmarshal(raw, hello); err != nil {
		return nil, nil, fmt.Errorf("invalid answer to the first message: %w", err)
	}
	if !mcp.IsValidProtocolVersion(hello.ProtocolVersion) {
		return nil, nil, mcp.UnsupportedProtocolVersionError{Version: hello.ProtocolVersion}
	}
	c.server = hello.Capabilities
	c.setVersion(hello.ProtocolVersion)
	if err := c.wire.notify(ctx, string(mcp.MethodNotificationInitialized), nil); err != nil {
		return nil, nil, &carrierError{err}
	}
	return hello, raw, nil
}

// setVersion sets the revision, which HTTP requests contain.
func (c *conn) setVersion(version string) {
	c.version = version
	if web, ok := c.wire.carrier.(interface{ setVersion(string) }); ok {
		web.setVersion(version)
	}
}

// modern reports whether the connection is stateless, so that each request is complete.
func (c *conn) modern() bool { return mcp.IsModernProtocol(c.version) }

// request sends a request and returns its raw result.
func (c *conn) request(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	if !c.modern() {
		if params == nil {
			return c.wire.request(ctx, method, nil, nil)
		}
		return c.wire.request(ctx, method, params, nil)
	}
	params = c.complete(params)
	header, err := c.header(method, params)
	if err != nil {
		return nil, err
	}
	return c.wire.request(ctx, method, params, header)
}

// complete adds the fields that the stateless revision requires in each request.
func (c *conn) complete(params map[string]any) map[string]any {
	meta := map[string]any{
		mcp.MetaKeyProtocolVersion: c.version, mcp.MetaKeyClientInfo: c.info, mcp.MetaKeyClientCapabilities: c.capabilities,
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
func (c *conn) header(method string, params map[string]any) (http.Header, error) {
	if !c.overHTTP() {
		return nil, nil
	}
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	for name, value := range mcp.StandardHeaders(c.version, mcp.MCPMethod(method), encoded) {
		header.Set(name, value)
	}
	if name, ok := params["name"].(string); ok && method == string(mcp.MethodToolsCall) {
		c.calls.mu.Lock()
		tool, known := c.repeated[name]
		c.calls.mu.Unlock()
		if known {
			for name, value := range mcp.GenerateParamHeaders(&tool, encoded) {
				header.Set(name, value)
			}
		}
	}
	return header, nil
}

func (c *conn) overHTTP() bool {
	_, ok := c.wire.carrier.(*streamable)
	return ok
}

// decodeTool decodes one element of a list of tools. In the stateless revision over HTTP, tools whose schemas require impossible headers
// must be omitted (SEP-2243).
func (c *conn) decodeTool(raw json.RawMessage) (Tool, error) {
	tool, err := decodeTool(raw)
	if err != nil || !c.modern() || !c.overHTTP() {
		return tool, err
	}
	var whole mcp.Tool
	if json.Unmarshal(raw, &whole) != nil {
		return tool, nil // an invalid schema requires no headers
	}
	if err := mcp.ValidateParamHeaderAnnotations(&whole); err != nil {
		return Tool{}, err
	}
	c.calls.mu.Lock()
	defer c.calls.mu.Unlock()
	if c.repeated == nil {
		c.repeated = map[string]mcp.Tool{}
	}
	c.repeated[tool.Name] = whole
	return tool, nil
}

// rounds repeats a request until the server has all its input: in the stateless revision, a result can be questions, whose answers are
// sent with the same request (SEP-2322).
func (c *conn) rounds(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	empty := 0
	for range maxRounds {
		raw, err := c.request(ctx, method, params)
		if err != nil || !wantsInput(raw) {
			return raw, err
		}
		var asked struct {
			Requests mcp.InputRequests `json:"inputRequests"`
			State    string            `json:"requestState"`
		}
		if err := json.Unmarshal(raw, &asked); err != nil {
			return nil, fmt.Errorf("invalid request for input: %w", err)
		}
		if empty++; len(asked.Requests) > 0 {
			empty = 0
		}
		if empty == maxEmptyRounds {
			return nil, errors.New("it is too busy to answer")
		}
		answers := mcp.InputResponses{}
		for _, id := range slices.Sorted(maps.Keys(asked.Requests)) {
			if answers[id], err = c.responder.input(ctx, asked.Requests[id]); err != nil {
				return nil, fmt.Errorf("it asks for something: %w", err)
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

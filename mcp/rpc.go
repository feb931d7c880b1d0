package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxIncoming bounds the requests of a server that are answered at the same time.
const maxIncoming = 16

// request is a request to the server.
type request struct {
	JSONRPC string      `json:"jsonrpc"`
	ID      int64       `json:"id"`
	Method  string      `json:"method"`
	Params  any         `json:"params,omitempty"`
	header  http.Header // of the request over HTTP
}

// response is our answer to a request of the server.
type response struct {
	JSONRPC string                   `json:"jsonrpc"`
	ID      json.RawMessage          `json:"id"`
	Result  any                      `json:"result,omitempty"`
	Error   *mcp.JSONRPCErrorDetails `json:"error,omitempty"`
}

// notification tells the server something.
type notification struct {
	JSONRPC string         `json:"jsonrpc"`
	Method  string         `json:"method"`
	Params  map[string]any `json:"params,omitempty"`
}

// message is any message of the server: an answer has no method, a notification no ID.
type message struct {
	ID     json.RawMessage          `json:"id"`
	Method string                   `json:"method"`
	Params json.RawMessage          `json:"params"`
	Result json.RawMessage          `json:"result"`
	Error  *mcp.JSONRPCErrorDetails `json:"error"`
}

func (m *message) isAnswer() bool { return m.Method == "" }

func (m *message) isNotification() bool {
	return m.Method != "" && (len(m.ID) == 0 || string(m.ID) == "null")
}

// decodeMessages reads what a server sent at once: a message, or a batch of them, as the revision of 2025-03-26 has it.
func decodeMessages(raw []byte) ([]*message, error) {
	if len(raw) > 0 && raw[0] == '[' {
		var batch []*message
		if err := json.Unmarshal(raw, &batch); err != nil {
			return nil, err
		}
		for _, m := range batch {
			if m == nil {
				return nil, errors.New("a batch with nothing in it")
			}
		}
		return batch, nil
	}
	m := &message{}
	if len(raw) == 0 || raw[0] != '{' {
		return nil, errors.New("no JSON object")
	}
	return []*message{m}, json.Unmarshal(raw, m)
}

// carrier takes messages to a server and brings its own. Safe for use from many goroutines after start.
type carrier interface {
	// start connects, once. ctx bounds the connecting alone.
	start(ctx context.Context, p peer) error
	// request sends a request and waits for its answer, for as long as ctx lasts.
	request(ctx context.Context, r *request) (*message, error)
	notify(ctx context.Context, n *notification) error
	// close ends the connection; nothing of it runs after it returns. It may be called without start, and twice.
	close()
}

// peer is our side of a connection: who gets what the server sends by itself.
type peer struct {
	// notified is told of notifications, on a reading goroutine. It must not block.
	notified func(method string, params map[string]any)
	// answer answers a request of the server. errNoMethod: there is no such request.
	answer func(ctx context.Context, method string, params json.RawMessage) (any, error)
	// lost is told why the connection is gone. It must not block.
	lost func(cause error)
}

var errNoMethod = errors.New("method not found")

// notify passes a notification on and reports whether it could be read.
func (p *peer) notify(m *message) bool {
	var params map[string]any
	if len(m.Params) > 0 && json.Unmarshal(m.Params, &params) != nil {
		return false
	}
	p.notified(m.Method, params)
	return true
}

// respond answers a request of the server, whatever comes of it.
func (p *peer) respond(ctx context.Context, m *message) *response {
	result, err := p.answer(ctx, m.Method, m.Params)
	switch {
	case errors.Is(err, errNoMethod):
		return refusing(m, mcp.METHOD_NOT_FOUND, "there is no method "+m.Method)
	case err != nil:
		return refusing(m, mcp.INTERNAL_ERROR, err.Error())
	}
	return &response{JSONRPC: mcp.JSONRPC_VERSION, ID: m.ID, Result: result}
}

// refusing answers a request with an error.
func refusing(m *message, code int, text string) *response {
	return &response{JSONRPC: mcp.JSONRPC_VERSION, ID: m.ID, Error: &mcp.JSONRPCErrorDetails{Code: code, Message: text}}
}

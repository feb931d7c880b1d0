package mcp

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// message is any JSON-RPC message.
type message struct {
	ID     json.RawMessage          `json:"id"`
	Method string                   `json:"method"`
	Params json.RawMessage          `json:"params"`
	Result json.RawMessage          `json:"result"`
	Error  *mcp.JSONRPCErrorDetails `json:"error"`
}

func (t *stdio) receive(line []byte) {
	if len(line) == 0 {
		return
	}
	if line[0] == '[' { // a batch, as the revision of 2025-03-26 has it
		var batch []json.RawMessage
		if json.Unmarshal(line, &batch) == nil {
			for _, one := range batch {
				t.dispatch(one)
			}
			return
		}
	}
	t.dispatch(line)
}

func (t *stdio) dispatch(raw []byte) {
	var m message
	if raw[0] != '{' || json.Unmarshal(raw, &m) != nil {
		t.log.print("output that is no message", raw)
		return
	}
	switch {
	case m.Method == "":
		t.respond(&m, raw)
	case len(m.ID) == 0:
		t.notified(raw)
	default:
		t.requested(&m)
	}
}

// respond hands an answer to who waits for it. An answer that comes late, twice or for nobody is dropped.
func (t *stdio) respond(m *message, raw []byte) {
	t.mu.Lock()
	waiting, ok := t.pending[string(m.ID)]
	delete(t.pending, string(m.ID))
	t.mu.Unlock()
	if !ok {
		t.log.print("an answer nobody waits for", raw)
		return
	}
	waiting <- &transport.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, Result: m.Result, Error: m.Error}
}

func (t *stdio) notified(raw []byte) {
	var n mcp.JSONRPCNotification
	if json.Unmarshal(raw, &n) != nil {
		t.log.print("a notification that cannot be read", raw)
		return
	}
	t.mu.Lock()
	notify := t.notify
	t.mu.Unlock()
	if notify != nil {
		notify(n)
	}
}

// requested answers a request of the server on a goroutine of its own.
func (t *stdio) requested(m *message) {
	var id mcp.RequestId
	if id.UnmarshalJSON(m.ID) != nil {
		return
	}
	request := transport.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Method: m.Method, Params: m.Params}
	t.mu.Lock()
	answer := t.answer
	t.mu.Unlock()
	select {
	case t.incoming <- struct{}{}:
	default:
		t.reply(transport.NewJSONRPCErrorResponse(id, mcp.INTERNAL_ERROR, "too many requests at the same time", nil))
		return
	}
	t.running.Go(func() { // ends with the connection at the latest: life does
		defer func() { <-t.incoming }()
		t.reply(answerRequest(t.life, answer, request))
	})
}

// answerRequest asks the handler and makes an answer of whatever it says.
func answerRequest(ctx context.Context, answer transport.RequestHandler, request transport.JSONRPCRequest) *transport.JSONRPCResponse {
	if answer == nil {
		return transport.NewJSONRPCErrorResponse(request.ID, mcp.METHOD_NOT_FOUND, "not ready for "+request.Method, nil)
	}
	response, err := answer(ctx, request)
	if err != nil {
		code := mcp.INTERNAL_ERROR
		if strings.HasPrefix(err.Error(), "unsupported request method") {
			code = mcp.METHOD_NOT_FOUND
		}
		return transport.NewJSONRPCErrorResponse(request.ID, code, err.Error(), nil)
	}
	return response
}

func (t *stdio) reply(response *transport.JSONRPCResponse) {
	line, err := json.Marshal(response)
	if err != nil {
		return
	}
	select {
	case t.out <- &outgoing{line: append(line, '\n')}:
	case <-t.lost:
	}
}

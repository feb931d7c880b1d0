package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/tenonhq/tenon/plugins/plugintest/conformance"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Codes of JSON-RPC.
const (
	codeUnknownMethod = -32601
	codeInternal      = -32603
)

// protocolVersion is the revision of MCP the server speaks.
const protocolVersion = "2025-06-18"

// message is one line in either direction.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error returns the message.
func (e *rpcError) Error() string { return e.Message }

// server answers requests, each on a goroutine of its own.
type server struct {
	setup
	guest  *guest.Guest
	plugin *conformance.Plugin

	writing sync.Mutex
	out     io.Writer

	mu      sync.Mutex
	running map[string]context.CancelFunc // by the id of the request

	requests sync.WaitGroup
}

func (s *server) receive(ctx context.Context, line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	if m.Method == "notifications/cancelled" {
		var params struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(m.Params, &params) == nil {
			s.cancel(string(params.RequestID))
		}
		return
	}
	if len(m.ID) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.running[string(m.ID)] = cancel
	s.mu.Unlock()
	s.requests.Go(func() { // ends with its request, or with the process
		defer s.cancel(string(m.ID))
		result, err := s.answer(ctx, &m)
		reply := message{JSONRPC: "2.0", ID: m.ID, Result: result}
		if err != nil {
			var rpc *rpcError
			if !errors.As(err, &rpc) {
				rpc = &rpcError{codeInternal, err.Error()}
			}
			reply.Result, reply.Error = nil, rpc
		}
		s.send(reply)
	})
}

func (s *server) cancel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.running[id]; cancel != nil {
		cancel()
		delete(s.running, id)
	}
}

func (s *server) send(m message) {
	raw, err := json.Marshal(m)
	if err != nil {
		raw = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, m.ID, codeInternal, err)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if _, err := s.out.Write(append(raw, '\n')); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (s *server) answer(ctx context.Context, m *message) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	switch m.Method {
	case "initialize":
		capabilities := map[string]any{"tools": struct{}{}}
		if s.Interceptors {
			capabilities["experimental"] = map[string]any{"io.modelcontextprotocol/interceptors": struct{}{}}
		}
		return map[string]any{
			"protocolVersion": protocolVersion, "capabilities": capabilities,
			"serverInfo": map[string]string{"name": conformance.Name, "version": conformance.Version},
		}, nil
	case "ping":
		return struct{}{}, nil
	case "tools/list":
		return map[string]any{"tools": s.toolList()}, nil
	case "tools/call":
		return s.callTool(ctx, m.Params)
	case "interceptors/list":
		return map[string]any{"interceptors": s.interceptorList()}, nil
	case "interceptor/invoke":
		return s.invoke(ctx, m.Params)
	}
	return nil, &rpcError{codeUnknownMethod, "unknown method " + m.Method}
}

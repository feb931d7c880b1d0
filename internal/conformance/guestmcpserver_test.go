package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/internal/jsonline"
	"github.com/tenonhq/tenon/sdk/guest"
)

// codeInternal is JSON-RPC's code of an internal error.
const codeInternal = -32603

// protocolVersion is the revision of MCP the server speaks.
const protocolVersion = "2025-06-18"

// mcpGuest answers requests, each in its own goroutine.
type mcpGuest struct {
	serverSetup
	guest  *guest.Guest
	plugin *conformance.Plugin
	conn   *jsonline.Conn

	calls    guest.Calls
	requests sync.WaitGroup
}

func (s *mcpGuest) receive(ctx context.Context, m *jsonline.Message) {
	if m.Method == "notifications/cancelled" {
		var params struct {
			RequestID uint64 `json:"requestId"`
		}
		if json.Unmarshal(m.Params, &params) == nil {
			s.calls.Cancel(params.RequestID)
		}
		return
	}
	if m.ID == 0 {
		return
	}
	ctx = s.calls.Begin(ctx, m.ID, 0)
	s.requests.Go(func() { // ends with its request, or with the process
		defer s.calls.Cancel(m.ID)
		result, err := s.answer(ctx, m)
		var body []byte
		if err == nil {
			body, err = json.Marshal(result)
		}
		var problem *jsonline.Error
		if err != nil && !errors.As(err, &problem) {
			problem = &jsonline.Error{Code: codeInternal, Message: err.Error()}
		}
		if err := s.conn.Reply(m.ID, body, problem); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	})
}

// panicLog returns the logger of panics.
func panicLog() *slog.Logger { return slog.New(slog.NewTextHandler(os.Stderr, nil)) }

func (s *mcpGuest) answer(ctx context.Context, m *jsonline.Message) (any, error) {
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
		output, err := guest.Guard(panicLog(), func() (string, error) { return s.callTool(ctx, m.Params) })
		if err != nil {
			output = err.Error() // as the protocol requires, errors are results
		}
		return map[string]any{"content": []map[string]string{{"type": "text", "text": output}}, "isError": err != nil}, nil
	case "interceptors/list":
		return map[string]any{"interceptors": s.interceptorList()}, nil
	case "interceptor/invoke":
		return guest.Guard(panicLog(), func() (any, error) { return s.invoke(ctx, m.Params) })
	}
	return nil, &jsonline.Error{Code: jsonline.CodeMethodNotFound, Message: "unknown method " + m.Method}
}

package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/tenonhq/tenon/internal/value"
)

const (
	// maxMessageBytes is the maximum size of one message of a server, enough for a resource of 10 MiB in base64.
	maxMessageBytes = 16 << 20
	// maxMessageValues is the maximum number of JSON values in a message: an empty object of 3 bytes takes up to 200 in memory, and an
	// output schema compares each, which takes up to 10 µs.
	maxMessageValues = 1 << 18
)

// errTooLong is returned if a message of a server is too large.
var errTooLong = fmt.Errorf("the server sent a message of more than %d MiB or %d values; request less of it", maxMessageBytes>>20, maxMessageValues)

// outgoing is a message to the server: a request; without an ID, a notification; without a method, the answer to a request.
type outgoing struct {
	JSONRPC string                   `json:"jsonrpc"`
	ID      json.RawMessage          `json:"id,omitempty"`
	Method  string                   `json:"method,omitempty"`
	Params  map[string]any           `json:"params,omitzero"`
	Result  any                      `json:"result,omitempty"`
	Error   *mcp.JSONRPCErrorDetails `json:"error,omitempty"`
	header  http.Header              // for the HTTP request
}

// message is any message of the server: an answer has no method, a notification no ID.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *errorDetails   `json:"error"`
}

// errorDetails is the error in an answer. It need not follow JSON-RPC exactly: otherwise the call would wait for another answer.
type errorDetails struct{ mcp.JSONRPCErrorDetails }

// UnmarshalJSON keeps the message of an error whose other fields cannot be decoded, such as a code that is a string.
func (e *errorDetails) UnmarshalJSON(data []byte) error {
	if err := e.JSONRPCErrorDetails.UnmarshalJSON(data); err != nil && e.Message == "" {
		e.Message = string(data)
	}
	return nil
}

// wantsAnswer reports whether the message is a request.
func (m *outgoing) wantsAnswer() bool { return m.Method != "" && m.ID != nil }

// key returns the ID of a request that the message answers. Some servers return it as a string, or as 1.0.
func (m *message) key() string { return strings.TrimSuffix(strings.Trim(string(m.ID), `"`), ".0") }

func (m *message) hasNoID() bool { return len(m.ID) == 0 || string(m.ID) == "null" }

// decodeMessages decodes a message, or a batch of messages as in the revision 2025-03-26. Programs in .NET begin their output with a byte order mark.
func decodeMessages(raw []byte) ([]message, error) {
	raw = bytes.TrimLeft(raw, "\ufeff \t\r\n")
	if value.Crowded(raw, maxMessageValues) {
		return nil, errTooLong
	}
	messages := make([]message, 1)
	into := any(&messages[0])
	if bytes.HasPrefix(raw, []byte("[")) {
		into = &messages
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return nil, err
	}
	return messages, nil
}

// carrier exchanges messages with a server. It is safe for concurrent use after start.
type carrier interface {
	// start connects, once. ctx limits only the connecting.
	start(ctx context.Context) error
	// send sends a message. Answers arrive by Conn.receive: the carrier may wait for them, or return before. ctx limits only send.
	send(ctx context.Context, m *outgoing) error
	// close ends the connection to the server. It is called once, possibly without an earlier start. Conn waits for the goroutines.
	close()
}

// ErrNoMethod is the answer to a request with an unknown method.
var ErrNoMethod = errors.New("method not found")

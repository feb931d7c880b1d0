package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// ErrNotGranted is wrapped by the error of an operation of the host that the user did not grant to the plugin.
var ErrNotGranted = errors.New("not granted")

// Names of capabilities. Capability.Scope limits each.
const (
	CapabilityHTTP    = "http"     // scheme://host[:port]; a leading *. in the host matches any subdomain
	CapabilityKV      = "kv"       // no scope
	CapabilitySecret  = "secret"   // names of environment variables whose values the plugin may read
	CapabilityConfig  = "config"   // no scope: reads the merged configuration without its secrets
	CapabilityTool    = "tool"     // ids of tools it may call; * matches any characters
	CapabilitySession = "session"  // no scope: reads the messages of the session it is called for
	CapabilityAsk     = "ask"      // no scope: asks the user for permission
	CapabilityEvents  = "events"   // types of events it may subscribe to; * matches any characters
	CapabilityModel   = "model"    // no scope: sends requests to the user's model (MCP sampling)
	CapabilityEnv     = "env"      // names of environment variables that are set for its process
	CapabilityRead    = "fs.read"  // directories it may read; $PROJECT is the worktree, $DATA its own directory
	CapabilityWrite   = "fs.write" // directories it may read and write, as for fs.read
	CapabilityClock   = "clock"    // no scope: the real time, for wasm
	CapabilityAuth    = "auth"     // IDs of providers that it signs in to
)

// Abilities of the host. A plugin asserts the one it needs from its Host, whichever carrier runs it. The methods of an ability that was not
// granted return an error that wraps ErrNotGranted.

// KeyValue stores small values for the plugin, across sessions and restarts. Each plugin has its own store.
type KeyValue interface {
	// Get returns false if the key does not exist.
	Get(ctx context.Context, key string) (value []byte, found bool, err error)
	Set(ctx context.Context, key string, value []byte) error
	Delete(ctx context.Context, key string) error
	// Keys lists the keys that begin with the prefix, sorted.
	Keys(ctx context.Context, prefix string) ([]string, error)
}

// SecretReader returns secrets that the plugin was granted, by name.
type SecretReader interface {
	Secret(ctx context.Context, name string) (string, error)
}

// Fetcher sends HTTP requests to the addresses the plugin was granted.
type Fetcher interface {
	Fetch(ctx context.Context, req *FetchRequest) (*FetchResponse, error)
}

// FetchRequest is one HTTP request.
type FetchRequest struct {
	Method    string            `json:"method,omitempty"` // default GET
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers,omitempty"`
	Body      Bytes             `json:"body,omitempty"`
	TimeoutMS int64             `json:"timeout,omitempty"` // milliseconds; default and maximum: the rest of the call, at most 30 s
	Stream    bool              `json:"stream,omitempty"`  // the body is read in pieces, see StreamFetcher; Fetch ignores it
}

// FetchResponse is the response to a FetchRequest, of any status.
type FetchResponse struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"` // names in lower case
	Body    Bytes             `json:"body"`
	Stream  int64             `json:"stream,omitempty"` // number of the stream of the body; 0: the body is Body
}

// StreamFetcher is a Fetcher whose answers can be read while they arrive. Only plugins that are not compiled in have it.
type StreamFetcher interface {
	// FetchStream returns the response without its body, and the body, which ends with the call of the plugin. The caller closes it.
	FetchStream(ctx context.Context, req *FetchRequest) (*FetchResponse, io.ReadCloser, error)
}

// ToolRequest requests a tool call on behalf of a session.
type ToolRequest struct {
	SessionID string          `json:"sessionID,omitempty"` // default: the session the plugin is called for
	Tool      string          `json:"tool"`
	Args      json.RawMessage `json:"args"`
}

// ToolCaller calls a tool through the same hooks, checks and permissions as a tool call of the model. The session must have a running
// turn. A refusal is a *Refusal.
type ToolCaller interface {
	CallTool(ctx context.Context, req ToolRequest) (*ToolResult, error)
}

// SessionReader returns the messages of a session, oldest first. They must not be changed.
type SessionReader interface {
	SessionMessages(ctx context.Context, sessionID string) ([]MessageWithParts, error)
}

// Asker requests permission on behalf of a session with a running turn: rules and gates decide, then the user. Nil means granted. A
// refusal is a *Refusal.
type Asker interface {
	AskPermission(ctx context.Context, req PermissionRequest) error
}

// UserQuestioner asks the user on behalf of a session with a running turn, as Questioner does for a tool call.
type UserQuestioner interface {
	AskUser(ctx context.Context, sessionID string, questions []Question) ([][]string, error)
}

// EventSource streams the events of the host. The channel is closed when ctx ends. It buffers size events; when it is full, the oldest is
// dropped.
type EventSource interface {
	Events(ctx context.Context, size int) <-chan Event
}

// SampleRequest is a request to the user's model for one answer. Messages of the assistant may have calls of earlier answers, as tool parts
// with their results.
type SampleRequest struct {
	SessionID   string             `json:"sessionID,omitempty"`
	System      string             `json:"system,omitempty"`
	Messages    []MessageWithParts `json:"messages"`
	MaxTokens   int64              `json:"maxTokens,omitempty"`
	Temperature *float64           `json:"temperature,omitempty"`
	Models      []string           `json:"models,omitempty"` // preferred models; the host may choose another
	Small       bool               `json:"small,omitempty"`  // the small model is sufficient
	// Tools are those that the model may call. The host runs none of them: the calls are part of the answer.
	Tools      []ToolDefinition `json:"tools,omitempty"`
	ToolChoice string           `json:"toolChoice,omitempty"` // as in ModelRequest
}

// SampleResult is the model's answer.
type SampleResult struct {
	Text         string       `json:"text"`
	Model        string       `json:"model"`        // provider/model
	FinishReason string       `json:"finishReason"` // stop, length, …
	Calls        []SampleCall `json:"calls,omitempty"`
}

// SampleCall is a call of one of the tools of a SampleRequest.
type SampleCall struct {
	ID   string          `json:"id"` // unique in the answer
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"` // an object; not checked against the tool's schema
}

// Sampler sends requests to the user's model. The host asks for permission first, with the permission key "sampling" and the plugin's name
// as pattern.
type Sampler interface {
	Sample(ctx context.Context, req SampleRequest) (*SampleResult, error)
}

// ConfigReader returns the merged configuration without its secrets. It must not be changed.
type ConfigReader interface {
	Config() *Config
}

// RuleReader reports whether the permission rules of a session with a running turn deny something. Only plugins that are compiled in have
// it.
type RuleReader interface {
	Denies(sessionID, permission, pattern string) bool
}

// Bytes are text or binary data. The JSON is a string if they are valid UTF-8, else {"base64": "…"}.
type Bytes []byte

// MarshalJSON encodes the bytes as a string if they are valid UTF-8.
func (b Bytes) MarshalJSON() ([]byte, error) {
	if utf8.Valid(b) {
		return json.Marshal(string(b))
	}
	return json.Marshal(map[string][]byte{"base64": b})
}

// UnmarshalJSON decodes either form. Errors wrap ErrWire.
func (b *Bytes) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*b = Bytes(text)
		return nil
	}
	var coded struct {
		Base64 []byte `json:"base64"`
	}
	if err := json.Unmarshal(data, &coded); err != nil {
		return fmt.Errorf("%w: bytes: want a string or {\"base64\": …}: %w", ErrWire, err)
	}
	*b = coded.Base64
	return nil
}

package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// ErrNotGranted means that the user did not give the plugin leave for what it asked of the host.
var ErrNotGranted = errors.New("not granted")

// Names of capabilities. What each is limited to stands in Capability.Scope.
const (
	CapabilityHTTP    = "http"    // scheme://host[:port] each; a leading *. in the host stands for any subdomain
	CapabilityKV      = "kv"      // no scope
	CapabilitySecret  = "secret"  // names of environment variables whose values the plugin may ask for
	CapabilityConfig  = "config"  // no scope: the merged configuration without its secrets
	CapabilityTool    = "tool"    // ids of tools it may call; * stands for any characters
	CapabilitySession = "session" // no scope: the messages of the session it is called for
	CapabilityAsk     = "ask"     // no scope: ask the user for leave
	CapabilityEvents  = "events"  // types of events it may subscribe to; * stands for any characters
	CapabilityModel   = "model"   // no scope: ask the user's model (MCP sampling)
	CapabilityEnv     = "env"     // names of environment variables it gets
	CapabilityRead    = "fs.read" // directories it may read; $PROJECT stands for the worktree, $DATA for its own directory
	CapabilityWrite   = "fs.write"
	CapabilityClock   = "clock" // no scope: the real time, for wasm
)

// What follows are abilities of the host. A plugin asserts the one it needs from its Host, in whatever way it runs; an ability that
// was not granted answers with an error that wraps ErrNotGranted.

// KeyValue keeps small values for the plugin, over sessions and restarts. Each plugin has its own.
type KeyValue interface {
	// Get returns false when there is no such key.
	Get(ctx context.Context, key string) (value []byte, found bool, err error)
	Set(ctx context.Context, key string, value []byte) error
	Delete(ctx context.Context, key string) error
	// Keys lists the keys that begin with the prefix, sorted.
	Keys(ctx context.Context, prefix string) ([]string, error)
}

// SecretReader gives the plugin the secrets it was granted, by name.
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
	TimeoutMS int64             `json:"timeout,omitempty"` // milliseconds; default and most: what is left of the call
}

// FetchResponse is the answer to a FetchRequest, whatever its status.
type FetchResponse struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"` // names in lower case
	Body    Bytes             `json:"body"`
}

// ToolRequest asks for a tool call on behalf of a session.
type ToolRequest struct {
	SessionID string          `json:"sessionID,omitempty"` // default: the session the plugin is called for
	Tool      string          `json:"tool"`
	Args      json.RawMessage `json:"args"`
}

// ToolCaller calls a tool through the same hooks, checks and permissions as a call of the model's. The session must have a turn
// that runs. A refusal is a *Refusal.
type ToolCaller interface {
	CallTool(ctx context.Context, req ToolRequest) (*ToolResult, error)
}

// SessionReader gives the messages of a session, oldest first. They must not be changed.
type SessionReader interface {
	SessionMessages(ctx context.Context, sessionID string) ([]MessageWithParts, error)
}

// Asker asks for leave on behalf of a session that has a turn that runs: rules and gates decide, then the user. nil means granted,
// a refusal is a *Refusal.
type Asker interface {
	AskPermission(ctx context.Context, req PermissionRequest) error
}

// UserQuestioner asks the user on behalf of a session that has a turn that runs, as Questioner does for a tool call.
type UserQuestioner interface {
	AskUser(ctx context.Context, sessionID string, questions []Question) ([][]string, error)
}

// EventSource streams the events of the host. The channel is closed when ctx ends; a subscriber that does not keep up with size
// events loses the oldest.
type EventSource interface {
	Events(ctx context.Context, size int) <-chan Event
}

// SampleRequest asks the user's model for one answer, without tools.
type SampleRequest struct {
	SessionID   string             `json:"sessionID,omitempty"`
	System      string             `json:"system,omitempty"`
	Messages    []MessageWithParts `json:"messages"`
	MaxTokens   int64              `json:"maxTokens,omitempty"`
	Temperature *float64           `json:"temperature,omitempty"`
	Models      []string           `json:"models,omitempty"` // what the caller would like; the host may take another
	Small       bool               `json:"small,omitempty"`  // the small model will do
}

// SampleResult is the model's answer.
type SampleResult struct {
	Text         string `json:"text"`
	Model        string `json:"model"`        // provider/model
	FinishReason string `json:"finishReason"` // stop, length, …
}

// Sampler asks the user's model. The host asks for leave first, with the permission key "sampling" and the plugin's name as pattern.
type Sampler interface {
	Sample(ctx context.Context, req SampleRequest) (*SampleResult, error)
}

// What follows are contributions that need more than data.

// ReferenceSource resolves the @name of a prompt that names no file and no agent, such as @server:uri of an MCP server. found is
// false when the name means nothing to the plugin. It may take as long as reading what is named takes.
type ReferenceSource interface {
	Reference(ctx context.Context, name string) (parts Parts, found bool, err error)
}

// CommandRenderer makes the prompt of a command of this plugin whose template alone does not say it.
type CommandRenderer interface {
	RenderCommand(ctx context.Context, name, arguments string) (Parts, error)
}

// ToolDeadline is implemented by tools that bound a call themselves at less, or by the user's wish at more, than
// DefaultToolTimeout.
type ToolDeadline interface {
	Deadline() time.Duration
}

// Bytes is text or any other bytes in JSON: a string when it is valid UTF-8, {"base64": "…"} otherwise.
type Bytes []byte

// MarshalJSON encodes the bytes as text where they are.
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

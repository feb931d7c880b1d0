package sdk

import (
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/value"
)

// Roles of messages.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Message is a *UserMessage, an *AssistantMessage or, for an unknown role, an *UnknownMessage.
type Message interface {
	// Head returns the identifiers. The caller may change them in place.
	Head() *MessageHead
	Role() string
	isMessage()
}

// MessageHead identifies a message.
type MessageHead struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
}

// Head returns h.
func (h *MessageHead) Head() *MessageHead { return h }

// UserMessage is a message of the user, or of the host on behalf of the user.
type UserMessage struct {
	MessageHead
	Time    MessageTime     `json:"time"`
	Agent   string          `json:"agent"`
	Model   ModelRef        `json:"model"`
	Format  *OutputFormat   `json:"format,omitempty"`
	Summary *MessageSummary `json:"summary,omitempty"`
	System  string          `json:"system,omitempty"` // added to the system prompt of this turn
	Tools   map[string]bool `json:"tools,omitempty"`  // false removes a tool for this turn
	Extra   Extra           `json:"-"`
}

// AssistantMessage is the result of one step: one for each model request.
type AssistantMessage struct {
	MessageHead
	ParentID   string          `json:"parentID"` // the user message it answers
	ModelID    string          `json:"modelID"`
	ProviderID string          `json:"providerID"`
	Mode       string          `json:"mode"` // the agent's name, kept for older clients
	Agent      string          `json:"agent"`
	Variant    string          `json:"variant,omitempty"`
	Path       MessagePath     `json:"path"`
	Cost       USD             `json:"cost"`
	Tokens     Tokens          `json:"tokens"`
	Time       MessageTime     `json:"time"`
	Finish     string          `json:"finish,omitempty"` // one of the Finish constants
	Error      *NamedError     `json:"error,omitempty"`
	Summary    bool            `json:"summary,omitempty"` // the result of a compaction
	Structured json.RawMessage `json:"structured,omitempty"`
	Extra      Extra           `json:"-"`
}

// UnknownMessage keeps a message of an unknown role.
type UnknownMessage struct {
	MessageHead
	Raw json.RawMessage // the whole object, unchanged
}

// Values of AssistantMessage.Finish.
const (
	FinishStop          = "stop"
	FinishLength        = "length"
	FinishToolCalls     = "tool-calls"
	FinishContentFilter = "content-filter"
	FinishError         = "error"
	FinishOther         = "other"
	FinishUnknown       = "unknown"
)

// MessageTime holds the times of a message. A user message has no Completed.
type MessageTime struct {
	Created   Millis `json:"created"`
	Completed Millis `json:"completed,omitempty"`
}

// MessagePath holds the directories of a step.
type MessagePath struct {
	Cwd  string `json:"cwd"`
	Root string `json:"root"`
}

// MessageSummary describes the changes of a turn.
type MessageSummary struct {
	Title string     `json:"title,omitempty"`
	Body  string     `json:"body,omitempty"`
	Diffs []FileDiff `json:"diffs"`
}

// OutputFormat requests plain text, or JSON that matches a schema. Type is FormatText or FormatJSONSchema.
type OutputFormat struct {
	Type       string          `json:"type"`
	Schema     json.RawMessage `json:"schema,omitempty"`
	RetryCount *int            `json:"retryCount,omitempty"` // default 2
}

// Formats of answers.
const (
	FormatText       = "text"
	FormatJSONSchema = "json_schema"
)

// MessageWithParts is a message with its parts in order.
type MessageWithParts struct {
	Info  Message `json:"info"`
	Parts Parts   `json:"parts"`
}

func (*UserMessage) isMessage()      {}
func (*AssistantMessage) isMessage() {}
func (*UnknownMessage) isMessage()   {}

// Role returns RoleUser.
func (*UserMessage) Role() string { return RoleUser }

// Role returns RoleAssistant.
func (*AssistantMessage) Role() string { return RoleAssistant }

// Role returns the role in the JSON.
func (m *UnknownMessage) Role() string { return jsontext.StringField(m.Raw, "role") }

// UnmarshalJSON decodes the message and keeps its unknown fields.
func (m *UserMessage) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, m) }

// MarshalJSON encodes the message with its role and its unknown fields.
func (m UserMessage) MarshalJSON() ([]byte, error) { return value.Marshal(&m) }

// UnmarshalJSON decodes the message and keeps its unknown fields.
func (m *AssistantMessage) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, m) }

// MarshalJSON encodes the message with its role and its unknown fields.
func (m AssistantMessage) MarshalJSON() ([]byte, error) { return value.Marshal(&m) }

// UnmarshalJSON keeps the object. Errors wrap ErrWire.
func (m *UnknownMessage) UnmarshalJSON(data []byte) error {
	var head MessageHead
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("%w: message of role %q: %w", ErrWire, jsontext.StringField(data, "role"), err)
	}
	m.MessageHead, m.Raw = head, append(json.RawMessage(nil), data...)
	return nil
}

// MarshalJSON returns the unchanged object with the identifiers of the head.
func (m UnknownMessage) MarshalJSON() ([]byte, error) {
	var was MessageHead
	if err := json.Unmarshal(m.Raw, &was); err != nil || was == m.MessageHead {
		return m.Raw, err
	}
	return jsontext.ReplaceFields(m.Raw, map[string]string{"id": m.ID, "sessionID": m.SessionID}), nil
}

// DecodeMessage decodes a message by its role. Errors wrap ErrWire.
func DecodeMessage(data []byte) (Message, error) { return value.DecodeMember[Message](data) }

// UnmarshalJSON decodes info by its role and each part by its type.
func (m *MessageWithParts) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, m) }

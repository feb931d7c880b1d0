package sdk

import (
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/value"
)

// Types of events, as opencode's stream names them.
const (
	EventSessionCreated    = "session.created"
	EventSessionUpdated    = "session.updated"
	EventSessionDeleted    = "session.deleted"
	EventSessionStatus     = "session.status"
	EventSessionIdle       = "session.idle"
	EventSessionCompacted  = "session.compacted"
	EventSessionError      = "session.error"
	EventMessageUpdated    = "message.updated"
	EventMessageRemoved    = "message.removed"
	EventPartUpdated       = "message.part.updated"
	EventPartDelta         = "message.part.delta"
	EventPartRemoved       = "message.part.removed"
	EventPermissionAsked   = "permission.asked"
	EventPermissionReplied = "permission.replied"
	EventQuestionAsked     = "question.asked"
	EventQuestionReplied   = "question.replied"
	EventQuestionRejected  = "question.rejected"
	EventTodoUpdated       = "todo.updated"
	EventCommandExecuted   = "command.executed"
	EventFileEdited        = "file.edited"
	EventPluginNotice      = "plugin.notice" // not in opencode: a plugin failed and was skipped, denied or quarantined
)

// Event is an event of the host. Properties is the pointer type for Type in this file, or *Object for an unknown type.
type Event struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Properties any    `json:"properties"`
	// Extra holds the unknown fields of the event. Its member "properties" holds the unknown fields of the properties.
	Extra Extra `json:"-"`
}

// Properties of the events.
type (
	// SessionInfo belongs to session.created, session.updated and session.deleted.
	SessionInfo struct {
		SessionID string  `json:"sessionID"`
		Info      Session `json:"info"`
	}
	// SessionStatusInfo belongs to session.status.
	SessionStatusInfo struct {
		SessionID string        `json:"sessionID"`
		Status    SessionStatus `json:"status"`
	}
	// SessionRef belongs to session.idle and session.compacted.
	SessionRef struct {
		SessionID string `json:"sessionID"`
	}
	// SessionErrorInfo belongs to session.error.
	SessionErrorInfo struct {
		SessionID string      `json:"sessionID,omitempty"`
		Error     *NamedError `json:"error,omitempty"`
	}
	// MessageInfo belongs to message.updated.
	MessageInfo struct {
		SessionID string  `json:"sessionID"`
		Info      Message `json:"info"`
	}
	// MessageRef belongs to message.removed.
	MessageRef struct {
		SessionID string `json:"sessionID"`
		MessageID string `json:"messageID"`
	}
	// PartInfo belongs to message.part.updated.
	PartInfo struct {
		SessionID string `json:"sessionID"`
		Part      Part   `json:"part"`
		Time      Millis `json:"time"`
	}
	// PartDelta belongs to message.part.delta. Field is "text", or "raw" for the arguments of a tool call.
	PartDelta struct {
		SessionID string `json:"sessionID"`
		MessageID string `json:"messageID"`
		PartID    string `json:"partID"`
		Field     string `json:"field"`
		Delta     string `json:"delta"`
	}
	// PartRef belongs to message.part.removed.
	PartRef struct {
		SessionID string `json:"sessionID"`
		MessageID string `json:"messageID"`
		PartID    string `json:"partID"`
	}
	// PermissionReplied belongs to permission.replied.
	PermissionReplied struct {
		SessionID string `json:"sessionID"`
		RequestID string `json:"requestID"`
		Reply     Reply  `json:"reply"`
	}
	// QuestionReplied belongs to question.replied and, without answers, to question.rejected.
	QuestionReplied struct {
		SessionID string     `json:"sessionID"`
		RequestID string     `json:"requestID"`
		Answers   [][]string `json:"answers,omitempty"`
	}
	// TodoInfo belongs to todo.updated.
	TodoInfo struct {
		SessionID string `json:"sessionID"`
		Todos     []Todo `json:"todos"`
	}
	// CommandInfo belongs to command.executed.
	CommandInfo struct {
		Name      string `json:"name"`
		SessionID string `json:"sessionID"`
		Arguments string `json:"arguments"`
		MessageID string `json:"messageID"`
	}
	// FileEdited belongs to file.edited.
	FileEdited struct {
		File string `json:"file"`
	}
	// PluginNotice belongs to plugin.notice: a failure of a plugin and its consequence.
	PluginNotice struct {
		Plugin      string `json:"plugin"`
		Hook        string `json:"hook,omitempty"`
		Message     string `json:"message"`
		Quarantined bool   `json:"quarantined,omitempty"`
	}
)

// newProperties returns the properties of an event, by its type.
var newProperties = map[string]func() any{
	EventSessionCreated:    newOf[SessionInfo],
	EventSessionUpdated:    newOf[SessionInfo],
	EventSessionDeleted:    newOf[SessionInfo],
	EventSessionStatus:     newOf[SessionStatusInfo],
	EventSessionIdle:       newOf[SessionRef],
	EventSessionCompacted:  newOf[SessionRef],
	EventSessionError:      newOf[SessionErrorInfo],
	EventMessageUpdated:    newOf[MessageInfo],
	EventMessageRemoved:    newOf[MessageRef],
	EventPartUpdated:       newOf[PartInfo],
	EventPartDelta:         newOf[PartDelta],
	EventPartRemoved:       newOf[PartRef],
	EventPermissionAsked:   newOf[PermissionRequest],
	EventPermissionReplied: newOf[PermissionReplied],
	EventQuestionAsked:     newOf[QuestionRequest],
	EventQuestionReplied:   newOf[QuestionReplied],
	EventQuestionRejected:  newOf[QuestionReplied],
	EventTodoUpdated:       newOf[TodoInfo],
	EventCommandExecuted:   newOf[CommandInfo],
	EventFileEdited:        newOf[FileEdited],
	EventPluginNotice:      newOf[PluginNotice],
}

func newOf[T any]() any { return new(T) }

// UnmarshalJSON decodes the properties by the type of the event and keeps unknown fields. Errors wrap ErrWire.
func (e *Event) UnmarshalJSON(data []byte) error {
	var raw struct {
		ID         string          `json:"id"`
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
	}
	extra, err := value.UnmarshalStruct(data, &raw)
	if err != nil {
		return fmt.Errorf("%w: event: %w", ErrWire, err)
	}
	*e = Event{ID: raw.ID, Type: raw.Type, Properties: &Object{}, Extra: extra}
	if known := newProperties[raw.Type]; known != nil {
		e.Properties = known()
	}
	if len(raw.Properties) == 0 {
		return nil
	}
	inner, err := value.UnmarshalStruct(raw.Properties, e.Properties)
	if err != nil {
		return fmt.Errorf("%w: event %s: %w", ErrWire, raw.Type, err)
	}
	if len(inner) > 0 {
		if e.Extra == nil {
			e.Extra = Extra{}
		}
		e.Extra["properties"], _ = jsontext.Marshal(inner) // raw JSON that was valid before
	}
	return nil
}

// MarshalJSON encodes the event with its unknown fields.
func (e Event) MarshalJSON() ([]byte, error) { return value.Marshal(&e) }

// UnmarshalJSON decodes the message by its role.
func (m *MessageInfo) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, m) }

// UnmarshalJSON decodes the part by its type.
func (p *PartInfo) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, p) }

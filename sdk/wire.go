package sdk

import (
	"encoding/json"

	"github.com/tenonhq/tenon/internal/value"
)

// ErrWire is wrapped by errors about JSON that does not match its type.
var ErrWire = value.ErrWire

// Extra holds the unknown fields of an object, by name. They are encoded unchanged. Nil means none.
//
// It also holds the unknown fields of nested objects without Extra: of an object under its name, and of list elements under keys that are derived from
// the elements, so that the fields stay with their element when the list changes.
type Extra map[string]json.RawMessage

// The value engine learns here about types whose declarations do not show how they are encoded.
var _ = value.Register(value.Contract{
	Unions: []value.Union{
		value.NewUnion[Part]("type", Part.Type, PartHead{}, &UnknownPart{},
			&TextPart{}, &ReasoningPart{}, &FilePart{}, &AgentPart{}, &ToolPart{}, &StepStartPart{}, &StepFinishPart{},
			&SnapshotPart{}, &PatchPart{}, &SubtaskPart{}, &CompactionPart{}, &RetryPart{}),
		value.NewUnion[Message]("role", Message.Role, MessageHead{}, &UnknownMessage{}, &UserMessage{}, &AssistantMessage{}),
	},
	Keeping: []any{Session{}, ErrorData{}, FileSource{}, ProviderOptions{}},
	State:   ToolState{},
	States: map[string]any{
		string(ToolPending): toolPending{}, string(ToolRunning): toolRunning{},
		string(ToolCompleted): toolCompleted{}, string(ToolError): toolError{},
	},
})

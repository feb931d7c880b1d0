package sdk

import (
	"encoding/json"

	"github.com/tenonhq/tenon/internal/value"
)

// ErrWire is wrapped by every error about JSON that does not have the shape its type demands.
var ErrWire = value.ErrWire

// Extra holds the fields of an object that this version of the sdk does not know, by name. They are
// written back unchanged when the object is encoded. Nil means none.
//
// Objects inside that have no Extra of their own keep theirs here: those of a nested object under its
// name, those of the elements of a list under a key made from the element, so that they follow the
// element when the list changes and go when the element does.
type Extra map[string]json.RawMessage

// This describes to the value engine what the declarations of the types alone do not show.
var _ = value.Register(value.Contract{
	Unions: []value.Union{
		value.NewUnion[Part]("type", Part.Type, PartHead{}, &UnknownPart{},
			&TextPart{}, &ReasoningPart{}, &FilePart{}, &AgentPart{}, &ToolPart{}, &StepStartPart{}, &StepFinishPart{},
			&SnapshotPart{}, &PatchPart{}, &SubtaskPart{}, &CompactionPart{}, &RetryPart{}),
		value.NewUnion[Message]("role", Message.Role, MessageHead{}, &UnknownMessage{}, &UserMessage{}, &AssistantMessage{}),
	},
	Keeping: []any{Session{}, ErrorData{}, FileSource{}},
	State:   ToolState{},
	States: map[string]any{
		string(ToolPending): toolPending{}, string(ToolRunning): toolRunning{},
		string(ToolCompleted): toolCompleted{}, string(ToolError): toolError{},
	},
})

package value_test

import (
	"encoding/json"
	"reflect"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// structs returns types whose decoding is compared with that of encoding/json: all that keep unknown fields, and structs of every kind of field.
func structs() []reflect.Type {
	samples := []any{
		sdk.TextPart{}, sdk.ReasoningPart{}, sdk.FilePart{}, sdk.AgentPart{}, sdk.ToolPart{}, sdk.StepStartPart{}, sdk.StepFinishPart{},
		sdk.SnapshotPart{}, sdk.PatchPart{}, sdk.SubtaskPart{}, sdk.CompactionPart{}, sdk.RetryPart{}, sdk.UserMessage{},
		sdk.AssistantMessage{}, sdk.FileSource{}, sdk.Session{}, sdk.ErrorData{}, sdk.ProviderOptions{}, sdk.TodoInfo{}, sdk.PartDelta{},
		sdk.PermissionRequest{}, sdk.QuestionRequest{}, sdk.QuestionReplied{}, sdk.SessionInfo{}, sdk.SessionErrorInfo{},
		sdk.SessionStatusInfo{}, sdk.ModelRequest{},
		struct {
			ID         string          `json:"id"`
			Type       string          `json:"type"`
			Properties json.RawMessage `json:"properties"`
		}{},
	}
	types := value.States()
	for _, sample := range samples {
		types = append(types, reflect.TypeOf(sample))
	}
	return types
}

package value_test

import (
	"encoding/json"
	"reflect"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// twins are the plain types behind every UnmarshalJSON, and structs of every kind of field.
func twins() []value.Twin {
	type (
		text       sdk.TextPart
		reasoning  sdk.ReasoningPart
		file       sdk.FilePart
		agent      sdk.AgentPart
		tool       sdk.ToolPart
		stepStart  sdk.StepStartPart
		stepFinish sdk.StepFinishPart
		snapshot   sdk.SnapshotPart
		patch      sdk.PatchPart
		subtask    sdk.SubtaskPart
		compaction sdk.CompactionPart
		retry      sdk.RetryPart
		source     sdk.FileSource
		user       sdk.UserMessage
		assistant  sdk.AssistantMessage
		session    sdk.Session
		errorData  sdk.ErrorData
		options    sdk.ProviderOptions
		event      struct {
			ID         string          `json:"id"`
			Type       string          `json:"type"`
			Properties json.RawMessage `json:"properties"`
		}
	)
	return append(value.States(), []value.Twin{
		{Type: reflect.TypeFor[text](), Tag: "type", Want: sdk.PartTypeText},
		{Type: reflect.TypeFor[reasoning](), Tag: "type", Want: sdk.PartTypeReasoning},
		{Type: reflect.TypeFor[file](), Tag: "type", Want: sdk.PartTypeFile},
		{Type: reflect.TypeFor[agent](), Tag: "type", Want: sdk.PartTypeAgent},
		{Type: reflect.TypeFor[tool](), Tag: "type", Want: sdk.PartTypeTool},
		{Type: reflect.TypeFor[stepStart](), Tag: "type", Want: sdk.PartTypeStepStart},
		{Type: reflect.TypeFor[stepFinish](), Tag: "type", Want: sdk.PartTypeStepFinish},
		{Type: reflect.TypeFor[snapshot](), Tag: "type", Want: sdk.PartTypeSnapshot},
		{Type: reflect.TypeFor[patch](), Tag: "type", Want: sdk.PartTypePatch},
		{Type: reflect.TypeFor[subtask](), Tag: "type", Want: sdk.PartTypeSubtask},
		{Type: reflect.TypeFor[compaction](), Tag: "type", Want: sdk.PartTypeCompaction},
		{Type: reflect.TypeFor[retry](), Tag: "type", Want: sdk.PartTypeRetry},
		{Type: reflect.TypeFor[user](), Tag: "role", Want: sdk.RoleUser},
		{Type: reflect.TypeFor[assistant](), Tag: "role", Want: sdk.RoleAssistant},
		{Type: reflect.TypeFor[source]()},
		{Type: reflect.TypeFor[session]()},
		{Type: reflect.TypeFor[errorData]()},
		{Type: reflect.TypeFor[options]()},
		{Type: reflect.TypeFor[event]()},
		{Type: reflect.TypeFor[sdk.TodoInfo]()},
		{Type: reflect.TypeFor[sdk.PartDelta]()},
		{Type: reflect.TypeFor[sdk.PermissionRequest]()},
		{Type: reflect.TypeFor[sdk.QuestionRequest]()},
		{Type: reflect.TypeFor[sdk.QuestionReplied]()},
		{Type: reflect.TypeFor[sdk.SessionInfo]()},
		{Type: reflect.TypeFor[sdk.SessionErrorInfo]()},
		{Type: reflect.TypeFor[sdk.SessionStatusInfo]()},
		{Type: reflect.TypeFor[sdk.ModelRequest]()},
	}...)
}

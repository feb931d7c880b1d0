package sdk

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"github.com/google/go-cmp/cmp"
)

// twin is a type that decodeWire or decodeTagged decodes.
type twin struct {
	typ       reflect.Type
	tag, want string
}

// twins are the plain types behind every UnmarshalJSON, and structs of every kind of field.
func twins() []twin {
	type (
		text       TextPart
		reasoning  ReasoningPart
		file       FilePart
		agent      AgentPart
		tool       ToolPart
		stepStart  StepStartPart
		stepFinish StepFinishPart
		snapshot   SnapshotPart
		patch      PatchPart
		subtask    SubtaskPart
		compaction CompactionPart
		retry      RetryPart
		source     FileSource
		user       UserMessage
		assistant  AssistantMessage
		session    Session
		errorData  ErrorData
		options    ProviderOptions
		event      struct {
			ID         string          `json:"id"`
			Type       string          `json:"type"`
			Properties json.RawMessage `json:"properties"`
		}
	)
	return []twin{
		{reflect.TypeFor[text](), "type", PartTypeText},
		{reflect.TypeFor[reasoning](), "type", PartTypeReasoning},
		{reflect.TypeFor[file](), "type", PartTypeFile},
		{reflect.TypeFor[agent](), "type", PartTypeAgent},
		{reflect.TypeFor[tool](), "type", PartTypeTool},
		{reflect.TypeFor[stepStart](), "type", PartTypeStepStart},
		{reflect.TypeFor[stepFinish](), "type", PartTypeStepFinish},
		{reflect.TypeFor[snapshot](), "type", PartTypeSnapshot},
		{reflect.TypeFor[patch](), "type", PartTypePatch},
		{reflect.TypeFor[subtask](), "type", PartTypeSubtask},
		{reflect.TypeFor[compaction](), "type", PartTypeCompaction},
		{reflect.TypeFor[retry](), "type", PartTypeRetry},
		{reflect.TypeFor[user](), "role", RoleUser},
		{reflect.TypeFor[assistant](), "role", RoleAssistant},
		{typ: reflect.TypeFor[source]()},
		{typ: reflect.TypeFor[session]()},
		{typ: reflect.TypeFor[errorData]()},
		{typ: reflect.TypeFor[options]()},
		{typ: reflect.TypeFor[event]()},
		{typ: reflect.TypeFor[toolPending]()},
		{typ: reflect.TypeFor[toolRunning]()},
		{typ: reflect.TypeFor[toolCompleted]()},
		{typ: reflect.TypeFor[toolError]()},
		{typ: reflect.TypeFor[TodoInfo]()},
		{typ: reflect.TypeFor[PartDelta]()},
		{typ: reflect.TypeFor[PermissionRequest]()},
		{typ: reflect.TypeFor[QuestionRequest]()},
		{typ: reflect.TypeFor[QuestionReplied]()},
		{typ: reflect.TypeFor[SessionInfo]()},
		{typ: reflect.TypeFor[SessionErrorInfo]()},
		{typ: reflect.TypeFor[SessionStatusInfo]()},
		{typ: reflect.TypeFor[ModelRequest]()},
	}
}

// exact tells what encodes differently apart.
var exact = cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })

// CompareDecoders decodes data as every type both ways. It returns the names of the types the fast way
// takes the data for, and an error when what it makes of it is not what the slow way does.
func CompareDecoders(data []byte) (taken []string, err error) {
	for _, t := range twins() {
		fast, slow := reflect.New(t.typ), reflect.New(t.typ)
		extra, ok := decodeOrdinary(data, planOf(t.typ), fast.Elem(), t.tag, t.want)
		if !ok {
			if !fast.Elem().IsZero() {
				return nil, fmt.Errorf("%s: refused, but changed", t.typ.Name())
			}
			continue
		}
		taken = append(taken, t.typ.Name())
		var want Extra
		if t.tag == "" {
			want, err = decodeSlow(data, slow.Interface())
		} else {
			want, err = decodeTaggedSlow(t.tag, t.want, data, slow.Interface())
		}
		if err != nil {
			return nil, fmt.Errorf("%s: taken, but the slow way refuses it: %w", t.typ.Name(), err)
		}
		if diff := cmp.Diff(slow.Interface(), fast.Interface(), exact) + cmp.Diff(want, extra); diff != "" {
			return nil, fmt.Errorf("%s (-slow +fast):\n%s", t.typ.Name(), diff)
		}
	}
	var slow Object
	if fast, ok := ordinaryObject(data); ok {
		taken = append(taken, "Object")
		if err := slow.decodeSlow(data); err != nil {
			return nil, fmt.Errorf("object: taken, but the slow way refuses it: %w", err)
		}
		if diff := cmp.Diff(slow, fast, exact); diff != "" {
			return nil, fmt.Errorf("object (-slow +fast):\n%s", diff)
		}
	}
	return taken, nil
}

// TypeOf returns the value of the field type or role as encoding/json reads it.
func TypeOf(data []byte, tag string) string { return stringField(data, tag) }

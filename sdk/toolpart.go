package sdk

import (
	"encoding/json"

	"github.com/tenonhq/tenon/internal/value"
)

// ToolStatus is the status of a tool call.
type ToolStatus string

// The statuses of a tool call, in order.
const (
	ToolPending   ToolStatus = "pending"   // the model is still writing the arguments
	ToolRunning   ToolStatus = "running"   // the arguments are complete
	ToolCompleted ToolStatus = "completed" // finished; Output holds the result
	ToolError     ToolStatus = "error"     // refused, failed or interrupted; Error holds the reason
)

// ToolPart is one tool call and, once it ran, its result.
type ToolPart struct {
	PartHead
	CallID   string    `json:"callID"`
	Tool     string    `json:"tool"`
	Metadata Object    `json:"metadata,omitempty"`
	State    ToolState `json:"state,omitzero"` // zero only in a part that was sent without it
	Extra    Extra     `json:"-"`
}

// ToolState is the state of a tool call. The comments of the fields name the statuses that use them. In other statuses the JSON does not have
// them.
type ToolState struct {
	Status      ToolStatus
	Input       json.RawMessage // the arguments, an object; {} while pending
	Raw         string          // pending: the argument text so far
	Title       string          // running, completed
	Output      string          // completed
	Error       string          // error
	Metadata    Object          // running, completed, error
	Time        ToolTime        // running (Start), completed, error
	Attachments []*FilePart     // completed
	Extra       Extra
}

// ToolTime holds the times of a tool call. Compacted is set if its output was removed from requests; the output stays stored.
type ToolTime struct {
	Start     Millis `json:"start"`
	End       Millis `json:"end,omitempty"`
	Compacted Millis `json:"compacted,omitempty"`
}

// The states as the wire has them.
type (
	toolPending struct {
		Status ToolStatus      `json:"status"`
		Input  json.RawMessage `json:"input"`
		Raw    string          `json:"raw"`
	}
	toolRunning struct {
		Status   ToolStatus      `json:"status"`
		Input    json.RawMessage `json:"input"`
		Title    string          `json:"title,omitempty"`
		Metadata Object          `json:"metadata,omitempty"`
		Time     ToolTime        `json:"time"`
	}
	toolCompleted struct {
		Status      ToolStatus      `json:"status"`
		Input       json.RawMessage `json:"input"`
		Output      string          `json:"output"`
		Title       string          `json:"title"`
		Metadata    Object          `json:"metadata"`
		Time        ToolTime        `json:"time"`
		Attachments []*FilePart     `json:"attachments,omitempty"`
	}
	toolError struct {
		Status   ToolStatus      `json:"status"`
		Input    json.RawMessage `json:"input"`
		Error    string          `json:"error"`
		Metadata Object          `json:"metadata,omitempty"`
		Time     ToolTime        `json:"time"`
	}
)

// Type returns PartTypeTool.
func (*ToolPart) Type() string { return PartTypeTool }

// Open reports whether the call is pending or running.
func (s *ToolState) Open() bool { return s.Status == ToolPending || s.Status == ToolRunning }

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *ToolPart) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, p) }

// MarshalJSON encodes the part with its type and its unknown fields.
func (p ToolPart) MarshalJSON() ([]byte, error) { return value.Marshal(&p) }

// UnmarshalJSON decodes the state by its status. Errors wrap ErrWire.
func (s *ToolState) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, s) }

// MarshalJSON encodes the fields that belong to the status.
func (s ToolState) MarshalJSON() ([]byte, error) { return value.Marshal(&s) }

package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// ToolStatus is where a tool call stands.
type ToolStatus string

// The statuses of a tool call, in the order they are passed.
const (
	ToolPending   ToolStatus = "pending"   // the model is still writing the arguments
	ToolRunning   ToolStatus = "running"   // the arguments are complete
	ToolCompleted ToolStatus = "completed" // it ran; Output holds the result
	ToolError     ToolStatus = "error"     // refused, failed or interrupted; Error holds why
)

// ToolPart is one tool call and, once it ran, its result.
type ToolPart struct {
	PartHead
	CallID   string    `json:"callID"`
	Tool     string    `json:"tool"`
	Metadata Object    `json:"metadata,omitempty"`
	State    ToolState `json:"state,omitzero"` // missing only in a part that was sent in extracts
	Extra    Extra     `json:"-"`
}

// ToolState is the state of a tool call. Which fields count depends on Status; the others are neither
// read from nor written to JSON.
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

// ToolTime holds the times of a tool call. Compacted is set when its output was pruned from the
// conversation; the output itself stays stored.
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

// toolStates returns the wire form of each status.
func toolStates() map[ToolStatus]reflect.Type {
	return map[ToolStatus]reflect.Type{
		ToolPending:   reflect.TypeFor[toolPending](),
		ToolRunning:   reflect.TypeFor[toolRunning](),
		ToolCompleted: reflect.TypeFor[toolCompleted](),
		ToolError:     reflect.TypeFor[toolError](),
	}
}

// Type returns PartTypeTool.
func (*ToolPart) Type() string { return PartTypeTool }

// Open reports whether the call has no result yet.
func (s *ToolState) Open() bool { return s.Status == ToolPending || s.Status == ToolRunning }

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *ToolPart) UnmarshalJSON(data []byte) (err error) {
	type plain ToolPart
	p.Extra, err = decodeTagged("type", PartTypeTool, data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p ToolPart) MarshalJSON() ([]byte, error) {
	type plain ToolPart
	state := p.State
	if reflect.ValueOf(state).IsZero() || len(p.Extra)+len(state.Extra) > 0 {
		return encodeWire(PartTypeTool, plain(p), p.Extra)
	}
	// The state is the last field and most of the JSON: added by hand, it is not checked and copied once more.
	p.State = ToolState{}
	body, err := encodeWire(PartTypeTool, plain(p), nil)
	if err != nil {
		return nil, err
	}
	inner, err := state.MarshalJSON()
	if err != nil {
		return nil, err
	}
	body = append(body[:len(body)-1], `,"state":`...)
	return append(slices.Insert(inner, 0, body...), '}'), nil // a long state has room for it
}

// UnmarshalJSON decodes the state by its status. Errors wrap ErrWire.
func (s *ToolState) UnmarshalJSON(data []byte) (err error) {
	*s = ToolState{}
	switch status := ToolStatus(stringField(data, "status")); status {
	case ToolPending:
		var v toolPending
		if s.Extra, err = decodeWire(data, &v); err == nil {
			s.Input, s.Raw = v.Input, v.Raw
		}
		s.Status = status
	case ToolRunning:
		var v toolRunning
		if s.Extra, err = decodeWire(data, &v); err == nil {
			s.Input, s.Title, s.Metadata, s.Time = v.Input, v.Title, v.Metadata, v.Time
		}
		s.Status = status
	case ToolCompleted:
		var v toolCompleted
		if s.Extra, err = decodeWire(data, &v); err == nil {
			s.Input, s.Output, s.Title, s.Metadata, s.Time, s.Attachments = v.Input, v.Output, v.Title, v.Metadata, v.Time, v.Attachments
		}
		s.Status = status
		if slices.Contains(s.Attachments, nil) {
			return fmt.Errorf("%w: tool state: an attachment is null", ErrWire)
		}
	case ToolError:
		var v toolError
		if s.Extra, err = decodeWire(data, &v); err == nil {
			s.Input, s.Error, s.Metadata, s.Time = v.Input, v.Error, v.Metadata, v.Time
		}
		s.Status = status
	default:
		return fmt.Errorf("%w: tool state: unknown status %q", ErrWire, status)
	}
	return err
}

// MarshalJSON encodes the fields that belong to the status.
func (s ToolState) MarshalJSON() ([]byte, error) {
	input := s.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	metadata := s.Metadata
	switch s.Status {
	case ToolPending:
		return encodeWire("", toolPending{s.Status, input, s.Raw}, s.Extra)
	case ToolRunning:
		return encodeWire("", toolRunning{s.Status, input, s.Title, metadata, s.Time}, s.Extra)
	case ToolCompleted:
		if metadata == nil {
			metadata = Object{}
		}
		return encodeWire("", toolCompleted{s.Status, input, s.Output, s.Title, metadata, s.Time, s.Attachments}, s.Extra)
	case ToolError:
		return encodeWire("", toolError{s.Status, input, s.Error, metadata, s.Time}, s.Extra)
	}
	return nil, fmt.Errorf("tool state: unknown status %q", s.Status)
}

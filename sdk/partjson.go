package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/value"
)

// The JSON of the parts. Each keeps its unknown fields.

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *TextPart) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, p) }

// MarshalJSON encodes the part with its type and its unknown fields.
func (p TextPart) MarshalJSON() ([]byte, error) { return value.Marshal(&p) }

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *ReasoningPart) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, p) }

// MarshalJSON encodes the part with its type and its unknown fields.
func (p ReasoningPart) MarshalJSON() ([]byte, error) { return value.Marshal(&p) }

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *FilePart) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, p) }

// MarshalJSON encodes the part with its type and its unknown fields.
func (p FilePart) MarshalJSON() ([]byte, error) { return value.Marshal(&p) }

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *AgentPart) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, p) }

// MarshalJSON encodes the part with its type and its unknown fields.
func (p AgentPart) MarshalJSON() ([]byte, error) { return value.Marshal(&p) }

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *StepStartPart) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, p) }

// MarshalJSON encodes the part with its type and its unknown fields.
func (p StepStartPart) MarshalJSON() ([]byte, error) { return value.Marshal(&p) }

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *StepFinishPart) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, p) }

// MarshalJSON encodes the part with its type and its unknown fields.
func (p StepFinishPart) MarshalJSON() ([]byte, error) { return value.Marshal(&p) }

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *SnapshotPart) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, p) }

// MarshalJSON encodes the part with its type and its unknown fields.
func (p SnapshotPart) MarshalJSON() ([]byte, error) { return value.Marshal(&p) }

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *PatchPart) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, p) }

// MarshalJSON encodes the part with its type and its unknown fields.
func (p PatchPart) MarshalJSON() ([]byte, error) { return value.Marshal(&p) }

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *SubtaskPart) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, p) }

// MarshalJSON encodes the part with its type and its unknown fields.
func (p SubtaskPart) MarshalJSON() ([]byte, error) { return value.Marshal(&p) }

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *CompactionPart) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, p) }

// MarshalJSON encodes the part with its type and its unknown fields.
func (p CompactionPart) MarshalJSON() ([]byte, error) { return value.Marshal(&p) }

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *RetryPart) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, p) }

// MarshalJSON encodes the part with its type and its unknown fields.
func (p RetryPart) MarshalJSON() ([]byte, error) { return value.Marshal(&p) }

// UnmarshalJSON decodes the source and keeps its unknown fields.
func (s *FileSource) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, s) }

// MarshalJSON encodes the source with its unknown fields.
func (s FileSource) MarshalJSON() ([]byte, error) { return value.Marshal(&s) }

// UnmarshalJSON keeps the object. Errors wrap ErrWire.
func (p *UnknownPart) UnmarshalJSON(data []byte) error {
	var head PartHead
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("%w: part of type %q: %w", ErrWire, jsontext.StringField(data, "type"), err)
	}
	p.PartHead, p.Raw = head, bytes.Clone(data)
	return nil
}

// MarshalJSON returns the unchanged object with the identifiers of the head.
func (p UnknownPart) MarshalJSON() ([]byte, error) {
	var was PartHead
	if err := json.Unmarshal(p.Raw, &was); err != nil || was == p.PartHead {
		return p.Raw, err
	}
	ids := map[string]string{"id": p.ID, "sessionID": p.SessionID, "messageID": p.MessageID}
	return jsontext.ReplaceFields(p.Raw, ids), nil
}

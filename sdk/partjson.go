package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tenonhq/tenon/internal/value"
)

// The JSON of the parts: each decodes into its plain twin and keeps the fields it does not know.

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *TextPart) UnmarshalJSON(data []byte) (err error) {
	type plain TextPart
	p.Extra, err = value.DecodeTagged("type", PartTypeText, data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p TextPart) MarshalJSON() ([]byte, error) {
	type plain TextPart
	return value.EncodeWire(PartTypeText, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *ReasoningPart) UnmarshalJSON(data []byte) (err error) {
	type plain ReasoningPart
	p.Extra, err = value.DecodeTagged("type", PartTypeReasoning, data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p ReasoningPart) MarshalJSON() ([]byte, error) {
	type plain ReasoningPart
	return value.EncodeWire(PartTypeReasoning, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *FilePart) UnmarshalJSON(data []byte) (err error) {
	type plain FilePart
	p.Extra, err = value.DecodeTagged("type", PartTypeFile, data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p FilePart) MarshalJSON() ([]byte, error) {
	type plain FilePart
	return value.EncodeWire(PartTypeFile, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *AgentPart) UnmarshalJSON(data []byte) (err error) {
	type plain AgentPart
	p.Extra, err = value.DecodeTagged("type", PartTypeAgent, data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p AgentPart) MarshalJSON() ([]byte, error) {
	type plain AgentPart
	return value.EncodeWire(PartTypeAgent, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *StepStartPart) UnmarshalJSON(data []byte) (err error) {
	type plain StepStartPart
	p.Extra, err = value.DecodeTagged("type", PartTypeStepStart, data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p StepStartPart) MarshalJSON() ([]byte, error) {
	type plain StepStartPart
	return value.EncodeWire(PartTypeStepStart, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *StepFinishPart) UnmarshalJSON(data []byte) (err error) {
	type plain StepFinishPart
	p.Extra, err = value.DecodeTagged("type", PartTypeStepFinish, data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p StepFinishPart) MarshalJSON() ([]byte, error) {
	type plain StepFinishPart
	return value.EncodeWire(PartTypeStepFinish, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *SnapshotPart) UnmarshalJSON(data []byte) (err error) {
	type plain SnapshotPart
	p.Extra, err = value.DecodeTagged("type", PartTypeSnapshot, data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p SnapshotPart) MarshalJSON() ([]byte, error) {
	type plain SnapshotPart
	return value.EncodeWire(PartTypeSnapshot, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *PatchPart) UnmarshalJSON(data []byte) (err error) {
	type plain PatchPart
	p.Extra, err = value.DecodeTagged("type", PartTypePatch, data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p PatchPart) MarshalJSON() ([]byte, error) {
	type plain PatchPart
	return value.EncodeWire(PartTypePatch, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *SubtaskPart) UnmarshalJSON(data []byte) (err error) {
	type plain SubtaskPart
	p.Extra, err = value.DecodeTagged("type", PartTypeSubtask, data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p SubtaskPart) MarshalJSON() ([]byte, error) {
	type plain SubtaskPart
	return value.EncodeWire(PartTypeSubtask, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *CompactionPart) UnmarshalJSON(data []byte) (err error) {
	type plain CompactionPart
	p.Extra, err = value.DecodeTagged("type", PartTypeCompaction, data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p CompactionPart) MarshalJSON() ([]byte, error) {
	type plain CompactionPart
	return value.EncodeWire(PartTypeCompaction, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *RetryPart) UnmarshalJSON(data []byte) (err error) {
	type plain RetryPart
	p.Extra, err = value.DecodeTagged("type", PartTypeRetry, data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p RetryPart) MarshalJSON() ([]byte, error) {
	type plain RetryPart
	return value.EncodeWire(PartTypeRetry, plain(p), p.Extra)
}

// UnmarshalJSON decodes the source and keeps its unknown fields.
func (s *FileSource) UnmarshalJSON(data []byte) (err error) {
	type plain FileSource
	s.Extra, err = value.DecodeWire(data, (*plain)(s))
	return err
}

// MarshalJSON encodes the source with its unknown fields.
func (s FileSource) MarshalJSON() ([]byte, error) {
	type plain FileSource
	return value.EncodeWire("", plain(s), s.Extra)
}

// UnmarshalJSON keeps the object. Errors wrap ErrWire.
func (p *UnknownPart) UnmarshalJSON(data []byte) error {
	var head PartHead
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("%w: part of type %q: %w", ErrWire, value.StringField(data, "type"), err)
	}
	p.PartHead, p.Raw = head, bytes.Clone(data)
	return nil
}

// MarshalJSON returns the object as it came, with the identifiers of the head.
func (p UnknownPart) MarshalJSON() ([]byte, error) {
	var was PartHead
	if err := json.Unmarshal(p.Raw, &was); err != nil || was == p.PartHead {
		return p.Raw, err
	}
	ids := map[string]string{"id": p.ID, "sessionID": p.SessionID, "messageID": p.MessageID}
	return value.ReplaceFields(p.Raw, ids), nil
}

package sdk

// The JSON of the parts: each decodes into its plain twin and keeps the fields it does not know.

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *TextPart) UnmarshalJSON(data []byte) (err error) {
	type plain TextPart
	p.Extra, err = decodeTagged("type", data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p TextPart) MarshalJSON() ([]byte, error) {
	type plain TextPart
	return encodeWire(PartTypeText, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *ReasoningPart) UnmarshalJSON(data []byte) (err error) {
	type plain ReasoningPart
	p.Extra, err = decodeTagged("type", data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p ReasoningPart) MarshalJSON() ([]byte, error) {
	type plain ReasoningPart
	return encodeWire(PartTypeReasoning, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *FilePart) UnmarshalJSON(data []byte) (err error) {
	type plain FilePart
	p.Extra, err = decodeTagged("type", data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p FilePart) MarshalJSON() ([]byte, error) {
	type plain FilePart
	return encodeWire(PartTypeFile, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *AgentPart) UnmarshalJSON(data []byte) (err error) {
	type plain AgentPart
	p.Extra, err = decodeTagged("type", data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p AgentPart) MarshalJSON() ([]byte, error) {
	type plain AgentPart
	return encodeWire(PartTypeAgent, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *StepStartPart) UnmarshalJSON(data []byte) (err error) {
	type plain StepStartPart
	p.Extra, err = decodeTagged("type", data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p StepStartPart) MarshalJSON() ([]byte, error) {
	type plain StepStartPart
	return encodeWire(PartTypeStepStart, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *StepFinishPart) UnmarshalJSON(data []byte) (err error) {
	type plain StepFinishPart
	p.Extra, err = decodeTagged("type", data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p StepFinishPart) MarshalJSON() ([]byte, error) {
	type plain StepFinishPart
	return encodeWire(PartTypeStepFinish, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *SnapshotPart) UnmarshalJSON(data []byte) (err error) {
	type plain SnapshotPart
	p.Extra, err = decodeTagged("type", data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p SnapshotPart) MarshalJSON() ([]byte, error) {
	type plain SnapshotPart
	return encodeWire(PartTypeSnapshot, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *PatchPart) UnmarshalJSON(data []byte) (err error) {
	type plain PatchPart
	p.Extra, err = decodeTagged("type", data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p PatchPart) MarshalJSON() ([]byte, error) {
	type plain PatchPart
	return encodeWire(PartTypePatch, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *SubtaskPart) UnmarshalJSON(data []byte) (err error) {
	type plain SubtaskPart
	p.Extra, err = decodeTagged("type", data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p SubtaskPart) MarshalJSON() ([]byte, error) {
	type plain SubtaskPart
	return encodeWire(PartTypeSubtask, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *CompactionPart) UnmarshalJSON(data []byte) (err error) {
	type plain CompactionPart
	p.Extra, err = decodeTagged("type", data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p CompactionPart) MarshalJSON() ([]byte, error) {
	type plain CompactionPart
	return encodeWire(PartTypeCompaction, plain(p), p.Extra)
}

// UnmarshalJSON decodes the part and keeps its unknown fields.
func (p *RetryPart) UnmarshalJSON(data []byte) (err error) {
	type plain RetryPart
	p.Extra, err = decodeTagged("type", data, (*plain)(p))
	return err
}

// MarshalJSON encodes the part with its type and its unknown fields.
func (p RetryPart) MarshalJSON() ([]byte, error) {
	type plain RetryPart
	return encodeWire(PartTypeRetry, plain(p), p.Extra)
}

// UnmarshalJSON decodes the source and keeps its unknown fields.
func (s *FileSource) UnmarshalJSON(data []byte) (err error) {
	type plain FileSource
	s.Extra, err = decodeWire(data, (*plain)(s))
	return err
}

// MarshalJSON encodes the source with its unknown fields.
func (s FileSource) MarshalJSON() ([]byte, error) {
	type plain FileSource
	return encodeWire("", plain(s), s.Extra)
}

// MarshalJSON returns the object as it came.
func (p UnknownPart) MarshalJSON() ([]byte, error) { return p.Raw, nil }

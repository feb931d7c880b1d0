package sdk

import (
	"encoding/json"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/value"
)

// Types of parts.
const (
	PartTypeText       = "text"
	PartTypeReasoning  = "reasoning"
	PartTypeFile       = "file"
	PartTypeAgent      = "agent"
	PartTypeTool       = "tool"
	PartTypeStepStart  = "step-start"
	PartTypeStepFinish = "step-finish"
	PartTypeSnapshot   = "snapshot"
	PartTypePatch      = "patch"
	PartTypeSubtask    = "subtask"
	PartTypeCompaction = "compaction"
	PartTypeRetry      = "retry"
)

// Part is a piece of a message: one of the pointer types of this file, *ToolPart, or *UnknownPart for an unknown type.
type Part interface {
	// Head returns the identifiers. The caller may change them in place.
	Head() *PartHead
	Type() string
	isPart()
}

// PartHead identifies a part.
type PartHead struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
	MessageID string `json:"messageID"`
}

// Head returns h.
func (h *PartHead) Head() *PartHead { return h }

func (*PartHead) isPart() {}

// TextPart is text of the user or of the model.
type TextPart struct {
	PartHead
	Text      string    `json:"text"`
	Synthetic bool      `json:"synthetic,omitempty"` // written by the host, not typed by the user
	Ignored   bool      `json:"ignored,omitempty"`   // shown, but not sent to the model
	Time      *PartTime `json:"time,omitempty"`
	Metadata  Object    `json:"metadata,omitempty"`
	Extra     Extra     `json:"-"`
}

// ReasoningPart is the reasoning of the model before its answer.
type ReasoningPart struct {
	PartHead
	Text     string   `json:"text"`
	Metadata Object   `json:"metadata,omitempty"` // signatures that the provider expects in later requests
	Time     PartTime `json:"time"`
	Extra    Extra    `json:"-"`
}

// PartTime holds the times of a part. End is zero while the part is open.
type PartTime struct {
	Start Millis `json:"start"`
	End   Millis `json:"end,omitempty"`
}

// FilePart is a file for the model. URL is a data: or file: URL.
type FilePart struct {
	PartHead
	Mime     string      `json:"mime"`
	Filename string      `json:"filename,omitempty"`
	URL      string      `json:"url"`
	Source   *FileSource `json:"source,omitempty"`
	Extra    Extra       `json:"-"`
}

// FileSource is the mention of a file in the prompt. Type is file, symbol or resource; Extra keeps the fields of the last two.
type FileSource struct {
	Type  string      `json:"type"`
	Path  string      `json:"path,omitempty"`
	Text  *SourceText `json:"text,omitempty"`
	Extra Extra       `json:"-"`
}

// SourceText is a range of the prompt; Start and End count bytes.
type SourceText struct {
	Value string `json:"value"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// AgentPart requests a subagent by name.
type AgentPart struct {
	PartHead
	Name   string      `json:"name"`
	Source *SourceText `json:"source,omitempty"`
	Extra  Extra       `json:"-"`
}

// StepStartPart opens a step.
type StepStartPart struct {
	PartHead
	Snapshot string `json:"snapshot,omitempty"`
	Extra    Extra  `json:"-"`
}

// StepFinishPart closes a step.
type StepFinishPart struct {
	PartHead
	Reason   string `json:"reason"`
	Snapshot string `json:"snapshot,omitempty"`
	Cost     USD    `json:"cost"`
	Tokens   Tokens `json:"tokens"`
	Extra    Extra  `json:"-"`
}

// SnapshotPart identifies a state of the working tree.
type SnapshotPart struct {
	PartHead
	Snapshot string `json:"snapshot"`
	Extra    Extra  `json:"-"`
}

// PatchPart lists the files a step changed; Hash is the snapshot before it.
type PatchPart struct {
	PartHead
	Hash  string   `json:"hash"`
	Files []string `json:"files"`
	Extra Extra    `json:"-"`
}

// SubtaskPart requests the run of a subagent in a prompt.
type SubtaskPart struct {
	PartHead
	Prompt      string    `json:"prompt"`
	Description string    `json:"description"`
	Agent       string    `json:"agent"`
	Model       *ModelRef `json:"model,omitempty"`
	Command     string    `json:"command,omitempty"`
	Extra       Extra     `json:"-"`
}

// CompactionPart marks the user message that requests a summary of the messages before it. TailStartID is the first message that was kept
// verbatim. If it is an answer, the prompt of its turn was kept, too.
type CompactionPart struct {
	PartHead
	Auto        bool   `json:"auto"`
	Overflow    bool   `json:"overflow,omitempty"`
	TailStartID string `json:"tail_start_id,omitempty"`
	Extra       Extra  `json:"-"`
}

// RetryPart records one failed attempt of a step. Attempt counts from 1.
type RetryPart struct {
	PartHead
	Attempt int        `json:"attempt"`
	Error   NamedError `json:"error"`
	Time    RetryTime  `json:"time"`
	Extra   Extra      `json:"-"`
}

// RetryTime is the time of a failed attempt.
type RetryTime struct {
	Created Millis `json:"created"`
}

// UnknownPart keeps a part of an unknown type.
type UnknownPart struct {
	PartHead
	Raw json.RawMessage // the whole object, unchanged
}

// Type returns the part's type on the wire.
func (*TextPart) Type() string       { return PartTypeText }
func (*ReasoningPart) Type() string  { return PartTypeReasoning }
func (*FilePart) Type() string       { return PartTypeFile }
func (*AgentPart) Type() string      { return PartTypeAgent }
func (*StepStartPart) Type() string  { return PartTypeStepStart }
func (*StepFinishPart) Type() string { return PartTypeStepFinish }
func (*SnapshotPart) Type() string   { return PartTypeSnapshot }
func (*PatchPart) Type() string      { return PartTypePatch }
func (*SubtaskPart) Type() string    { return PartTypeSubtask }
func (*CompactionPart) Type() string { return PartTypeCompaction }
func (*RetryPart) Type() string      { return PartTypeRetry }
func (p *UnknownPart) Type() string  { return jsontext.StringField(p.Raw, "type") }

// Parts is an ordered list of parts.
type Parts []Part

// UnmarshalJSON decodes an array of parts, each by its type.
func (ps *Parts) UnmarshalJSON(data []byte) error {
	out, err := value.DecodeMembers[Part](data)
	if err == nil {
		*ps = out
	}
	return err
}

// MarshalJSON encodes the list. Nil is encoded as an empty array, which clients expect.
func (ps Parts) MarshalJSON() ([]byte, error) {
	if ps == nil {
		return []byte("[]"), nil
	}
	return jsontext.Marshal([]Part(ps))
}

// DecodePart decodes a part by its type. Errors wrap ErrWire.
func DecodePart(data []byte) (Part, error) { return value.DecodeMember[Part](data) }

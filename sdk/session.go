package sdk

import (
	"encoding/json"

	"github.com/tenonhq/tenon/internal/value"
)

// Prefixes of identifiers. An identifier is a prefix, an underscore, and 26 digits and letters.
const (
	PrefixSession    = "ses"
	PrefixMessage    = "msg"
	PrefixPart       = "prt"
	PrefixPermission = "per"
	PrefixQuestion   = "que"
	PrefixEvent      = "evt"
)

// Millis is a time in Unix milliseconds. Zero means not set.
type Millis = int64

// Session is one conversation with its totals.
type Session struct {
	ID          string          `json:"id"`
	Slug        string          `json:"slug"`
	ProjectID   string          `json:"projectID"`
	WorkspaceID string          `json:"workspaceID,omitempty"`
	Directory   string          `json:"directory"`
	Path        string          `json:"path,omitempty"` // Directory relative to the worktree
	ParentID    string          `json:"parentID,omitempty"`
	Title       string          `json:"title"`
	Agent       string          `json:"agent,omitempty"`
	Model       *SessionModel   `json:"model,omitempty"`
	Version     string          `json:"version"`
	Cost        USD             `json:"cost"`
	Tokens      Tokens          `json:"tokens"`
	Summary     *SessionSummary `json:"summary,omitempty"`
	Share       *Share          `json:"share,omitempty"`
	Metadata    Object          `json:"metadata,omitempty"`
	Permission  PermissionRules `json:"permission,omitempty"`
	Revert      *Revert         `json:"revert,omitempty"`
	Time        SessionTime     `json:"time"`
	Extra       Extra           `json:"-"`
}

// SessionModel is the model of a session. In JSON its key is id; messages use modelID (ModelRef).
type SessionModel struct {
	ID         string `json:"id"`
	ProviderID string `json:"providerID"`
	Variant    string `json:"variant,omitempty"`
}

// String returns provider/model, as in the configuration; empty without a model.
func (m *SessionModel) String() string {
	if m == nil {
		return ""
	}
	return m.ProviderID + "/" + m.ID
}

// Tokens counts the tokens of a step, or of all steps of a session.
type Tokens struct {
	Total     int64      `json:"total,omitempty"`
	Input     int64      `json:"input"`  // without cached tokens
	Output    int64      `json:"output"` // without reasoning tokens
	Reasoning int64      `json:"reasoning"`
	Cache     CacheCount `json:"cache"`
}

// CacheCount counts the prompt tokens read from and written to a provider's cache.
type CacheCount struct {
	Read  int64 `json:"read"`
	Write int64 `json:"write"`
}

// Sum returns the total: the part of the model's context that the step used.
func (t Tokens) Sum() int64 {
	return t.Input + t.Output + t.Reasoning + t.Cache.Read + t.Cache.Write
}

// Add returns the sum of two counts; Total is the sum of both sums.
func (t Tokens) Add(o Tokens) Tokens {
	return Tokens{
		Input: t.Input + o.Input, Output: t.Output + o.Output, Reasoning: t.Reasoning + o.Reasoning,
		Cache: CacheCount{Read: t.Cache.Read + o.Cache.Read, Write: t.Cache.Write + o.Cache.Write},
	}
}

// SessionSummary counts what a session changed in the working tree.
type SessionSummary struct {
	Additions int        `json:"additions"`
	Deletions int        `json:"deletions"`
	Files     int        `json:"files"`
	Diffs     []FileDiff `json:"diffs,omitempty"`
}

// FileDiff is the change of one file. Status is added, deleted or modified.
type FileDiff struct {
	File      string `json:"file,omitempty"`
	Patch     string `json:"patch,omitempty"`
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
	Status    string `json:"status,omitempty"`
}

// Share is the address of a published session.
type Share struct {
	URL string `json:"url"`
}

// Revert marks the point to which a session was reverted.
type Revert struct {
	MessageID string `json:"messageID"`
	PartID    string `json:"partID,omitempty"`
	Snapshot  string `json:"snapshot,omitempty"`
	Diff      string `json:"diff,omitempty"`
}

// SessionTime holds the times of a session.
type SessionTime struct {
	Created    Millis `json:"created"`
	Updated    Millis `json:"updated"`
	Compacting Millis `json:"compacting,omitempty"`
	Archived   Millis `json:"archived,omitempty"`
}

// UnmarshalJSON decodes a session and keeps its unknown fields.
func (s *Session) UnmarshalJSON(data []byte) error { return value.Unmarshal(data, s) }

// MarshalJSON encodes a session with its unknown fields.
func (s Session) MarshalJSON() ([]byte, error) { return value.Marshal(&s) }

// Statuses of a session.
const (
	StatusIdle  = "idle"
	StatusBusy  = "busy"
	StatusRetry = "retry"
)

// SessionStatus is the current status of a session. Attempt, Message and Next (the time of the next attempt) are set only for StatusRetry.
type SessionStatus struct {
	Type    string `json:"type"`
	Attempt int    `json:"attempt,omitempty"`
	Message string `json:"message,omitempty"`
	Next    Millis `json:"next,omitempty"`
}

// Todo is one entry of a session's task list. Status is pending, in_progress, completed or cancelled;
// Priority is high, medium or low.
type Todo struct {
	Content  string `json:"content"`
	Status   string `json:"status"`
	Priority string `json:"priority"`
}

// ModelRef identifies a model in messages and hooks.
type ModelRef struct {
	ProviderID string `json:"providerID"`
	ModelID    string `json:"modelID"`
	Variant    string `json:"variant,omitempty"`
}

// String returns provider/model, as in the configuration.
func (r ModelRef) String() string { return r.ProviderID + "/" + r.ModelID }

var (
	_ json.Marshaler   = Session{}
	_ json.Unmarshaler = (*Session)(nil)
)

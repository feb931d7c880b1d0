package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// Types of damaged data.
const (
	DamagedSession = "session"
	DamagedMessage = "message"
	DamagedPart    = "part"
	DamagedTodos   = "todos"
	DamagedLedger  = "ledger"
	DamagedPrompt  = "prompt"
	DamagedBlob    = "blob"
	// DamagedStore is damage to the store's structure: a range of rows, or an index.
	DamagedStore = "store"
)

// Damage names one row that cannot be read.
type Damage struct {
	Type    string `json:"type"` // one of the constants
	Session string `json:"sessionID,omitempty"`
	Message string `json:"messageID,omitempty"` // of a part, or of a ledger entry
	ID      string `json:"id,omitempty"`        // of the row, or the hash of a blob; empty if unknown
	Problem string `json:"problem"`             // never quotes the row's content
}

// String names the row and the problem.
func (d Damage) String() string {
	var b strings.Builder
	b.WriteString(d.Type)
	if d.ID != "" {
		b.WriteString(" " + d.ID)
	}
	if d.Message != "" {
		b.WriteString(" of message " + d.Message)
	}
	if d.Session != "" && d.Session != d.ID {
		b.WriteString(" of session " + d.Session)
	}
	return b.String() + ": " + d.Problem
}

// DamageError is returned in addition to a result that omits damaged rows. It wraps ErrCorrupt, so callers that do not use Readable fail and
// do not lose rows silently.
type DamageError struct {
	Store string // path of the store
	Rows  []Damage
}

// Error names the first row and the number of the others.
func (e *DamageError) Error() string {
	text := ErrCorrupt.Error() + ": "
	if e.Store != "" {
		text += e.Store + ": "
	}
	text += e.Rows[0].String()
	if more := len(e.Rows) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// Unwrap returns ErrCorrupt.
func (e *DamageError) Unwrap() error { return ErrCorrupt }

// Readable separates damaged rows, which a result omits, from other errors.
//
//	messages, err := s.Messages(ctx, id, page)
//	damaged, err := store.Readable(err)
func Readable(err error) ([]Damage, error) {
	if e, ok := errors.AsType[*DamageError](err); ok {
		return e.Rows, nil
	}
	return nil, err
}

// Damages collects damaged rows while a result is assembled.
type Damages struct{ found DamageError }

// Take adds the damaged rows of a *DamageError, and returns any other error.
func (d *Damages) Take(err error) error {
	e, ok := errors.AsType[*DamageError](err)
	if !ok {
		return err
	}
	d.found.Store = cmp.Or(d.found.Store, e.Store)
	for _, row := range e.Rows {
		if !slices.Contains(d.found.Rows, row) {
			d.found.Rows = append(d.found.Rows, row)
		}
	}
	return nil
}

// Err returns a *DamageError with all rows, or nil.
func (d *Damages) Err() error {
	if len(d.found.Rows) == 0 {
		return nil
	}
	return &d.found
}

// Aside is a damaged row that Repair removes.
type Aside struct {
	Damage
	// Data is the stored row, which may be neither JSON nor text; nil for a missing row.
	Data []byte `json:"data"`
}

// StandIn returns a message for parts whose message cannot be read. Its role and times are inferred from the parts and from the message
// before it, if any.
func StandIn(head sdk.MessageHead, before sdk.Message, parts sdk.Parts) sdk.Message {
	at := createdAt(before)
	if fromModel(parts) {
		a := &sdk.AssistantMessage{MessageHead: head}
		a.Time.Created, a.Time.Completed = at, max(at, 1) // closed, so that the host does not continue it
		if u, ok := before.(*sdk.UserMessage); ok {
			a.ParentID = u.ID
		}
		return a
	}
	u := &sdk.UserMessage{MessageHead: head}
	u.Time.Created = at
	return u
}

// createdAt returns when a message was created, in milliseconds since 1970; 0 for nil.
func createdAt(m sdk.Message) sdk.Millis {
	switch m := m.(type) {
	case *sdk.UserMessage:
		return m.Time.Created
	case *sdk.AssistantMessage:
		return m.Time.Created
	}
	return 0
}

// fromModel reports whether the parts belong to an assistant message. Text of the model has times, text of users has none.
func fromModel(parts sdk.Parts) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *sdk.ToolPart, *sdk.ReasoningPart, *sdk.StepStartPart, *sdk.StepFinishPart, *sdk.PatchPart, *sdk.RetryPart:
			return true
		case *sdk.TextPart:
			if p.Time != nil {
				return true
			}
		}
	}
	return false
}

// OutputPrefix precedes the hash of a blob in the reference of a tool call to its full output.
const OutputPrefix = "tool-output/"

// Output returns the hash of the blob with the full output of a tool call; empty if it has none.
func Output(t *sdk.ToolPart) string {
	path, _ := t.State.Metadata["outputPath"].(string)
	hash, ok := strings.CutPrefix(path, OutputPrefix)
	if !ok || len(hash) != HashLength || strings.Trim(hash, "0123456789abcdef") != "" {
		return ""
	}
	return hash
}

// OutputDamage turns an error about a damaged or missing blob, the full output of a call, into damage of the call's session.
func OutputDamage(t *sdk.ToolPart, err error) error {
	d := Damage{Type: DamagedBlob, Session: t.SessionID, Message: t.MessageID, ID: Output(t), Problem: "the row is missing"}
	rows, _ := Readable(err)
	switch {
	case len(rows) > 0:
		d.Problem = rows[0].Problem
	case !errors.Is(err, ErrNotFound):
		return err
	}
	return &DamageError{Rows: []Damage{d}}
}

// Package store defines the session store. Package sqlite implements it; its tests suite*_test.go check every promise made here.
//
// # Model
//
// A session consists of rows: the session itself, its messages and their parts, in the order in which they were first put. Every change of a
// row takes the next sequence number (seq) of the session; the creation is number 1. A reader that knows the session up to n asks for the
// changes after n. Turns, prompts, the ledger and blobs are not rows, and their changes take no number.
//
// # Ownership
//
// A node, which is an open store of a host process, owns a session while it works on it. Claim returns a Token with a higher epoch than any
// before. Writes with an older epoch fail with ErrFenced, so a node that was presumed dead cannot overwrite the work of its successor.
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenonhq/tenon/sdk"
)

var (
	// ErrNotFound is returned for a session, message or blob that does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists is returned for a new session whose identifier is in use.
	ErrExists = errors.New("already exists")
	// ErrFenced is returned if another node has claimed the session since the token was issued.
	ErrFenced = errors.New("session was taken over by another process")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("store is closed")
	// ErrNewer is returned for a database of a newer version of tenon.
	ErrNewer = errors.New("database is of a newer version")
	// ErrOlder is returned for a database of an older version that cannot be migrated now, because another process uses it.
	ErrOlder = errors.New("database is of an older version and in use")
	// ErrFull is returned if the disk has no space for the write. Nothing was written.
	ErrFull = errors.New("no space left for the session store")
	// ErrReadOnly is returned if the store's directory or file cannot be written.
	ErrReadOnly = errors.New("session store cannot be written")
	// ErrUnavailable is returned if the store cannot be used for another reason: another process keeps it locked, or its file was removed.
	ErrUnavailable = errors.New("session store cannot be used")
	// ErrCorrupt is returned for data that cannot be read.
	ErrCorrupt = errors.New("session store is damaged")
)

// OwnedError is returned by Claim when a live node owns the session.
type OwnedError struct {
	Session string
	PID     int // of the owner; 0 if unknown
}

// Error names the session and the process.
func (e *OwnedError) Error() string {
	return fmt.Sprintf("session %s is in use by process %d", e.Session, e.PID)
}

// Token proves that its holder owned the session when the token was issued.
type Token struct {
	Session string
	Epoch   uint64
}

// Store stores sessions. It may be used concurrently, also by several processes.
//
// Every method returns ErrClosed after Close. Methods that read omit damaged rows and return a *DamageError in addition to the result, see
// Readable. For a damaged session or message row, they return a value with the data that is known from elsewhere.
type Store interface {
	// Create stores a new session and claims it. The epoch is 1, or one higher than that of a deleted session with the same identifier.
	// Errors: ErrExists.
	Create(ctx context.Context, s *sdk.Session) (Token, error)
	// Claim makes this node the owner of the session. If it already owns the session, the earlier token is fenced. Errors: ErrNotFound,
	// *OwnedError.
	Claim(ctx context.Context, session string) (Token, error)
	// Release releases the session and fences the token. It does nothing and returns nil if the token is fenced already.
	Release(ctx context.Context, t Token) error

	// Append makes the changes, all or none, and returns the session's seq after them once they are durable. The caller may change the values
	// afterwards. Concurrent calls share a transaction; a refused call does not fail the others. If ctx ends first, the changes may
	// still be made. Without ops it only checks the token. Errors: ErrFenced, ErrNotFound for the session or for a row that an op needs,
	// ErrFull, ErrReadOnly.
	Append(ctx context.Context, t Token, ops []Op) (seq uint64, err error)

	// Session returns the session and its seq. Errors: ErrNotFound.
	Session(ctx context.Context, id string) (*sdk.Session, uint64, error)
	// Sessions lists sessions, the most recently updated first.
	Sessions(ctx context.Context, q Query) ([]sdk.Session, error)
	// List lists the same sessions in the same order as Sessions. It reads only the fields of Listed, which makes long listings several times as
	// fast.
	List(ctx context.Context, q Query) ([]Listed, error)
	// Messages returns a page of messages with their parts, oldest first. Parts include the text that was appended to them. The cost depends on
	// the page, not on the length of the session. Errors: ErrNotFound for the session or a message that the page names.
	Messages(ctx context.Context, session string, p Page) ([]sdk.MessageWithParts, error)
	// Changes returns at most limit rows (0: all) that changed after seq, in the order of their last change. Applied in this order, they
	// lead from the session at that seq to the current one.
	Changes(ctx context.Context, session string, after uint64, limit int) ([]Row, error)
	// Delete removes the session and its descendants with all their data, even if this node owns them. Errors: ErrNotFound, *OwnedError if
	// another live node owns one of them.
	Delete(ctx context.Context, id string) error

	// Interrupted lists the sessions with an open turn and without a live owner.
	Interrupted(ctx context.Context) ([]string, error)

	// Submit queues a prompt, which is durable when Submit returns. Any node may submit. A prompt whose identifier was submitted to the session
	// before is ignored, even if the earlier one was taken. Errors: ErrNotFound for the session.
	Submit(ctx context.Context, p Prompt) error
	// Prompts lists the waiting prompts of the session, oldest first.
	Prompts(ctx context.Context, session string) ([]Prompt, error)

	// Todos returns the task list of the session.
	Todos(ctx context.Context, session string) ([]sdk.Todo, error)
	// Ledger returns the ledger entries of the session, or of one message if messageID is not empty, in the order in which they were appended.
	Ledger(ctx context.Context, session, messageID string) ([]LedgerRow, error)
	// Blob returns the content with the hash. Errors: ErrNotFound.
	Blob(ctx context.Context, hash string) ([]byte, error)

	// Import stores sessions with all their data, all or none, without an owner. If replace is set, it first removes sessions with the same
	// identifiers and their descendants. Other processes can write in the meantime, however large the sessions are; the same holds for Delete
	// and Collect. Errors: ErrExists, *OwnedError.
	Import(ctx context.Context, sessions []Import, replace bool) error
	// Search finds sessions by words, the most recently created first. Errors: ErrSearch.
	Search(ctx context.Context, q SearchQuery) ([]Hit, error)
	// Check looks for damage in a session; if session is empty, in all sessions and in the structure of the store. It returns a *DamageError
	// with everything it found.
	Check(ctx context.Context, session string) error
	// Repair removes the damaged rows of a session after keep has stored them; keep may be called again. All rows are removed or none, even if
	// the process dies. A damaged session or message row is replaced by the data that is known from elsewhere; references to lost
	// outputs are removed. Damage that cannot be removed is returned as a *DamageError. Other errors: ErrNotFound, *OwnedError, those of keep.
	Repair(ctx context.Context, session string, keep func([]Aside) error) error
	// Collect removes unused data, except data of sessions in use.
	Collect(ctx context.Context, o GC) (Collected, error)

	// Approve stores approvals, all or none. An approval whose project, permission and pattern are stored already changes nothing. Other
	// processes see new approvals immediately.
	Approve(ctx context.Context, approvals []Approval) error
	// Approvals lists the approvals of a project, oldest first.
	Approvals(ctx context.Context, project string) ([]Approval, error)
	// Forget removes an approval of a project, or all of them if id is 0, and returns the number of removed ones. Errors: ErrNotFound for an
	// unknown ID.
	Forget(ctx context.Context, project string, id int64) (int, error)

	// Close waits for running writes and releases all sessions of this node. It may be called twice.
	Close() error
}

// Op is a change of a session: one of the types below. Values that name another session are refused.
type Op interface{ isOp() }

type (
	// PutSession replaces the session row.
	PutSession struct{ Session *sdk.Session }
	// PutMessage adds the message at the end, or replaces the message with its identifier in place.
	PutMessage struct{ Message sdk.Message }
	// PutPart adds the part at the end of its message, or replaces the part with its identifier, including appended text, in place. The message
	// must exist. A part cannot move to another message.
	PutPart struct {
		Part sdk.Part
		// Streamed is set if AppendText has stored the whole text of this text or reasoning part, or the arguments of this tool call. They are
		// not written again.
		Streamed bool
	}
	// AppendText appends to a field of a stored part: "text" of a text or reasoning part, or "raw" of a pending tool call.
	AppendText struct{ PartID, Field, Text string }
	// RemoveMessage removes the message and its parts, if it exists.
	RemoveMessage struct{ MessageID string }
	// SetTurn marks the turn of the session as open or closed.
	SetTurn struct{ Open bool }
	// TakePrompt removes a prompt from the queue. It fails if the prompt is not waiting, so that no prompt is answered twice.
	TakePrompt struct{ PromptID string }
	// PutTodos replaces the task list.
	PutTodos struct{ Todos []sdk.Todo }
	// PutLedger appends the ledger entries, an array, of the request that led to the message.
	PutLedger struct {
		MessageID string
		Purpose   sdk.Purpose
		Entries   json.RawMessage
	}
	// PutBlob stores content, compressed and once, under Hash(content). It is kept as long as a session that put it.
	PutBlob struct{ Content []byte }
)

func (PutSession) isOp()    {}
func (PutMessage) isOp()    {}
func (PutPart) isOp()       {}
func (AppendText) isOp()    {}
func (RemoveMessage) isOp() {}
func (SetTurn) isOp()       {}
func (TakePrompt) isOp()    {}
func (PutTodos) isOp()      {}
func (PutLedger) isOp()     {}
func (PutBlob) isOp()       {}

// Directory returns a path in the form that sessions store: JSON replaces bytes that are not UTF-8.
func Directory(path string) string { return string([]rune(path)) }

// Query selects sessions. The zero value selects the newest 100 root sessions of all projects.
type Query struct {
	ProjectID string // empty: all
	Directory string // empty: all
	ParentID  string // only the children of this session; overrides Children
	Children  bool   // include children
	Archived  bool   // include archived sessions
	Limit     int    // maximum number of sessions; 0: 100
	// Before selects the sessions after this one in the listing.
	Before *sdk.Session
}

// Page selects messages. The zero value selects all.
type Page struct {
	Before string // only messages before this one
	From   string // only this message and later ones
	Limit  int    // only the newest messages, at most so many; 0: all
}

// Row is a changed row of a session.
type Row struct {
	Seq  uint64
	Type string // session, message, part, todos, message.removed or part.removed
	ID   string // of todos: the session's
	// Data is the JSON of the row; empty if it was removed or is damaged. Parts that were removed with their message have no rows.
	Data json.RawMessage
}

// Prompt is a message that waits for an answer. The host defines Data.
type Prompt struct {
	ID        string
	SessionID string
	Data      json.RawMessage
}

// LedgerRow is a stored PutLedger.
type LedgerRow struct {
	MessageID string
	Purpose   sdk.Purpose
	Entries   json.RawMessage
}

// Approval is a permission that the user granted permanently with the answer "always". It belongs to a project, not to a session.
type Approval struct {
	ID         int64  `json:"id"` // set by the store, from 1
	Project    string `json:"-"`
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Created    int64  `json:"created"`           // milliseconds since 1970
	Session    string `json:"session,omitempty"` // in which it was granted
	Origin     string `json:"origin"`            // human-readable: the request
}

// HashLength is the length of the result of Hash.
const HashLength = 2 * sha256.Size

// Hash returns the name of a blob: the SHA-256 of its content in hex.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Package store defines how sessions are kept. sqlite implements Store; its tests suite*_test.go check every promise made here.
//
// # Model
//
// A session is a set of rows: the session itself, its messages and their parts, in the order they were
// first put. Every change of a row takes the next sequence number of the session (seq, from 1: the
// creation), so a reader that has seen everything up to n asks for what changed after n. Turns, prompts,
// ledger and blobs are not rows; their changes take no number.
//
// # Ownership
//
// One host process, a node, owns a session while it works on it. Claim gives it a Token whose epoch is
// one higher than any before; writes with an older epoch fail with ErrFenced. So a node that was thought
// dead and comes back cannot write over its successor.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenonhq/tenon/sdk"
)

var (
	// ErrNotFound means that the session, message or blob is not there.
	ErrNotFound = errors.New("not found")
	// ErrExists means that a session with the identifier is there already.
	ErrExists = errors.New("exists already")
	// ErrFenced means that another node has claimed the session since the token was given.
	ErrFenced = errors.New("session was taken over by another process")
	// ErrClosed means that the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrNewer means that the database was written by a newer version of tenon.
	ErrNewer = errors.New("database is of a newer version")
	// ErrOlder means that the database is of an older version and cannot be migrated now, because another process works
	// with it.
	ErrOlder = errors.New("database is of an older version and in use")
	// ErrFull means that the disk has no space for the write; none of it was kept.
	ErrFull = errors.New("no space left for the session store")
	// ErrReadOnly means that the place of the store cannot be written.
	ErrReadOnly = errors.New("session store cannot be written")
	// ErrUnavailable means that the store cannot be used for another reason: another process keeps it locked, its file was
	// removed.
	ErrUnavailable = errors.New("session store cannot be used")
	// ErrCorrupt means that the stored data cannot be read.
	ErrCorrupt = errors.New("session store is damaged")
)

// OwnedError is returned by Claim when a live node owns the session.
type OwnedError struct {
	Session string
	PID     int // of the owner, 0 if unknown
}

// Error names the session and the process.
func (e *OwnedError) Error() string {
	return fmt.Sprintf("session %s is in use by process %d", e.Session, e.PID)
}

// Token proves that its holder owned the session when it was given.
type Token struct {
	Session string
	Epoch   uint64
}

// Store keeps sessions. Safe for use from many goroutines; two processes may use one store at once.
//
// Every method returns ErrClosed after Close. Methods that read return what can be read: when damaged rows are left out, the
// result comes with a *DamageError, see Readable. In place of a damaged session or message row they return what is known without it.
type Store interface {
	// Create stores a new session and claims it. Errors: ErrExists. The epoch is 1, or one higher than
	// that of a deleted session with the same identifier.
	Create(ctx context.Context, s *sdk.Session) (Token, error)
	// Claim takes the session for this node. Errors: ErrNotFound, *OwnedError. A session this node owns
	// already is claimed again: the earlier token is fenced.
	Claim(ctx context.Context, session string) (Token, error)
	// Release gives the session up and fences the token. A fenced token is not an error, and changes
	// nothing: the session stays with a later claim.
	Release(ctx context.Context, t Token) error

	// Append makes the changes, all or none, and returns once they are durable. It returns the session's
	// seq after them. The values may be changed as soon as it returns. Concurrent calls share a
	// transaction of the disk, and one that is refused does not fail the others. When ctx ends first, the
	// changes may still be made. Without ops it only checks the token. Errors: ErrFenced, ErrNotFound for
	// the session or what an op needs, ErrFull, ErrReadOnly.
	Append(ctx context.Context, t Token, ops []Op) (seq uint64, err error)

	// Session returns the session and its seq, or ErrNotFound.
	Session(ctx context.Context, id string) (*sdk.Session, uint64, error)
	// Sessions lists sessions, the one updated last first.
	Sessions(ctx context.Context, q Query) ([]sdk.Session, error)
	// List lists the sessions that Sessions would, in the same order. It reads only what a listing shows, which makes long
	// listings several times as fast.
	List(ctx context.Context, q Query) ([]Listed, error)
	// Messages returns a page of messages with their parts, oldest first. Text that was appended to an
	// open part is in the part. Its cost depends on the page, not on the length of the session. Errors:
	// ErrNotFound for the session or a message the page names.
	Messages(ctx context.Context, session string, p Page) ([]sdk.MessageWithParts, error)
	// Changes returns at most limit rows (0: all) that changed after seq, in the order of their last
	// change. Whoever applies them in this order to what was known at seq knows the session as it is now.
	Changes(ctx context.Context, session string, after uint64, limit int) ([]Row, error)
	// Delete removes the session and its descendants with all that belongs to them, those of this node
	// too. Errors: ErrNotFound, *OwnedError when another live node owns one of them.
	Delete(ctx context.Context, id string) error

	// Interrupted lists the sessions with an open turn that no live node owns.
	Interrupted(ctx context.Context) ([]string, error)

	// Submit queues a prompt; it is durable when Submit returns. A prompt with an identifier that was
	// submitted to the session before is ignored, even when it was taken since. Any node may submit.
	// Errors: ErrNotFound for the session.
	Submit(ctx context.Context, p Prompt) error
	// Prompts lists the prompts of the session that wait, oldest first.
	Prompts(ctx context.Context, session string) ([]Prompt, error)

	// Todos returns the task list of the session.
	Todos(ctx context.Context, session string) ([]sdk.Todo, error)
	// Ledger returns the ledger entries of the session in the order they were appended; only those of
	// one message when messageID is not empty.
	Ledger(ctx context.Context, session, messageID string) ([]LedgerRow, error)
	// Blob returns the content with the hash, or ErrNotFound.
	Blob(ctx context.Context, hash string) ([]byte, error)

	// Import stores sessions with all that belongs to them, all or none; they have no owner then. With replace those that
	// are there by the same identifier go first, with their descendants. Errors: ErrExists, *OwnedError. Others can write
	// meanwhile, however large the sessions are; the same holds for Delete and Collect.
	Import(ctx context.Context, sessions []Import, replace bool) error
	// Search finds sessions by their words, the one that was created last first. Errors: ErrSearch.
	Search(ctx context.Context, q SearchQuery) ([]Hit, error)
	// Check looks for damage in the rows of a session; in those of all and in the structure of the store when it is empty. It
	// returns a *DamageError with all there is.
	Check(ctx context.Context, session string) error
	// Repair removes the damaged rows of a session: keep gets them first and must have stored them when it returns; it may be
	// called again. All is done or nothing, also when the process dies. In place of a damaged session or message row comes what
	// is known without it; parts refer no more to outputs that are lost. Data that cannot be removed is in a *DamageError. Errors:
	// ErrNotFound, *OwnedError, those of keep.
	Repair(ctx context.Context, session string, keep func([]Aside) error) error
	// Collect removes unused data. A session in use is left alone.
	Collect(ctx context.Context, o GC) (Collected, error)

	// Approve stores approvals, all or none. One that is there, of the same project, permission and pattern, stays as it is. Every
	// process sees what another one stored as soon as it is stored.
	Approve(ctx context.Context, approvals []Approval) error
	// Approvals lists those of a project, oldest first.
	Approvals(ctx context.Context, project string) ([]Approval, error)
	// Forget removes one approval of a project, or with ID 0 all, and returns how many there were. Errors: ErrNotFound for an ID that is
	// not there.
	Forget(ctx context.Context, project string, id int64) (int, error)

	// Close waits for the writes under way and gives up all sessions of this node. Safe twice.
	Close() error
}

// Op is one change of a session: one of the types below. A value that names another session is refused.
type Op interface{ isOp() }

type (
	// PutSession replaces the session row.
	PutSession struct{ Session *sdk.Session }
	// PutMessage adds the message behind all others, or replaces it where it stands.
	PutMessage struct{ Message sdk.Message }
	// PutPart adds the part behind all others of its message, or replaces it where it stands, appended
	// text included. Its message must be there, and a part stays with its message.
	PutPart struct {
		Part sdk.Part
		// Streamed: AppendText already stored the whole text of this text or reasoning part, or the arguments of this tool call as they
		// are, which are not written a second time.
		Streamed bool
	}
	// AppendText adds to a field of a part that is there: "text" of text and reasoning, or "raw" of a
	// pending tool call.
	AppendText struct{ PartID, Field, Text string }
	// RemoveMessage removes the message and its parts. One that is not there is not an error.
	RemoveMessage struct{ MessageID string }
	// RemovePart removes the part. One that is not there is not an error.
	RemovePart struct{ PartID string }
	// SetTurn marks the turn of the session open or closed.
	SetTurn struct{ Open bool }
	// TakePrompt removes a prompt from the queue. It must be waiting, so that none is answered twice.
	TakePrompt struct{ PromptID string }
	// PutTodos replaces the task list.
	PutTodos struct{ Todos []sdk.Todo }
	// PutLedger appends ledger entries, an array, of the request that led to the message.
	PutLedger struct {
		MessageID string
		Purpose   sdk.Purpose
		Entries   json.RawMessage
	}
	// PutBlob keeps content under Hash(content), compressed, once however often it is put. It stays as
	// long as a session that put it.
	PutBlob struct{ Content []byte }
)

func (PutSession) isOp()    {}
func (PutMessage) isOp()    {}
func (PutPart) isOp()       {}
func (AppendText) isOp()    {}
func (RemoveMessage) isOp() {}
func (RemovePart) isOp()    {}
func (SetTurn) isOp()       {}
func (TakePrompt) isOp()    {}
func (PutTodos) isOp()      {}
func (PutLedger) isOp()     {}
func (PutBlob) isOp()       {}

// Directory returns a path as sessions have it: JSON replaces bytes that are not UTF-8.
func Directory(path string) string { return string([]rune(path)) }

// Query selects sessions. The zero value selects the newest 100 root sessions of all projects.
type Query struct {
	ProjectID string // empty: all
	Directory string // empty: all
	ParentID  string // the children of a session; overrides Children
	Children  bool   // children too
	Search    string // in the title, without regard to case
	Archived  bool   // archived ones too
	Limit     int    // 0: 100
	// Before continues a listing: only sessions behind this one.
	Before *sdk.Session
}

// Page selects messages. The zero value selects all.
type Page struct {
	Before string // only messages before this one
	From   string // only this message and those after it
	Limit  int    // the newest so many; 0: all
}

// Row is a changed row of a session.
type Row struct {
	Seq  uint64
	Type string // session, message, part, todos, message.removed or part.removed
	ID   string // of todos: the session's
	// Data is the row as the wire has it; empty when it was removed or is damaged. Parts that went with their message
	// have no rows.
	Data json.RawMessage
}

// Prompt is a message that waits to be answered. Data belongs to the host.
type Prompt struct {
	ID        string
	SessionID string
	Data      json.RawMessage
}

// LedgerRow is one PutLedger as it was stored.
type LedgerRow struct {
	MessageID string
	Purpose   sdk.Purpose
	Entries   json.RawMessage
}

package store

import (
	"errors"

	"github.com/tenonhq/tenon/sdk"
)

// ErrSearch means that a search cannot be made of the words.
var ErrSearch = errors.New("search")

// Listed is what a listing shows of a session.
type Listed struct {
	ID, ParentID, ProjectID, Directory, Title string

	Cost                       sdk.USD
	Created, Updated, Archived sdk.Millis // Archived is zero unless it is
}

// Import is a session with all that belongs to it, to be stored in one go.
type Import struct {
	Session *sdk.Session
	Ops     []Op // as Append takes them; they must stay as they are until Import returns
}

// SearchQuery selects sessions by words in their title or text.
type SearchQuery struct {
	// All words must be in the title, or all in one text part. Case and accents do not count. A word of several, such
	// as go.mod, means them in this order; a word that ends in * means all that begin with it, at least three letters.
	Words     []string
	ProjectID string // empty: all
	Directory string // empty: all
	Archived  bool   // archived ones too
	Limit     int    // most sessions; 0: 20
}

// Hit is a session that a search found, by its latest text that matches.
type Hit struct {
	Session   sdk.Session `json:"session"`
	MessageID string      `json:"messageID,omitempty"` // of Text; empty when the title matches and no text does
	Text      string      `json:"text"`                // of the whole part
}

// GC says what Collect removes beside blobs that no part mentions.
type GC struct {
	// DryRun counts and removes nothing.
	DryRun bool
	// Untouched removes the memory of answered prompts, which refuses the same prompt twice, of sessions that were
	// updated last before it.
	Untouched sdk.Millis
	// Archived deletes sessions that were archived before it, with their descendants. Zero deletes none.
	Archived sdk.Millis
}

// Collected is what Collect removed, or would remove.
type Collected struct {
	Sessions  []string // archived roots
	Blobs     int
	BlobBytes int64 // as stored, compressed; those of the sessions are not among them
	Prompts   int
	Leftovers int // invisible sessions that a killed process had partly imported or deleted
	Skipped   int // sessions that were in use, or changed while they were looked at
}

package store

import (
	"errors"

	"github.com/tenonhq/tenon/sdk"
)

// ErrSearch is returned for words that cannot be searched for.
var ErrSearch = errors.New("search")

// Listed holds the fields of a session that listings show.
type Listed struct {
	ID, ParentID, ProjectID, Directory, Title string

	Cost                       sdk.USD
	Created, Updated, Archived sdk.Millis // Archived is zero if it is not archived
}

// Import is a session with all its data.
type Import struct {
	Session *sdk.Session
	Ops     []Op // its data, without PutSession; must not be changed until Import returns
}

// SearchQuery selects sessions by words in their title or text.
type SearchQuery struct {
	// Words must all occur in the title, or all in one text part. Case and accents are ignored. A compound such as go.mod matches its words in
	// this order.
	Words     []string
	ProjectID string // empty: all
	Directory string // empty: all
	Archived  bool   // include archived sessions
	Limit     int    // maximum number of sessions; 0: 20
}

// Hit is a session that matches a search, with its latest matching text.
type Hit struct {
	Session   sdk.Session `json:"session"`
	MessageID string      `json:"messageID,omitempty"` // of Text; empty if only the title matches
	Text      string      `json:"text"`                // the whole part, or the title
}

// GC are the options of Collect, which always removes blobs that no part mentions.
type GC struct {
	// DryRun only counts.
	DryRun bool
	// Archived is the time before which a session must have been archived for Collect to delete it with its descendants. Zero deletes none.
	Archived sdk.Millis
}

// Collected counts the data that Collect removed, or would remove.
type Collected struct {
	Sessions  []string // archived roots
	Blobs     int
	BlobBytes int64 // compressed; without the blobs of Sessions
	Leftovers int   // invisible sessions that a killed process had partly imported or deleted
	Skipped   int   // sessions that were in use or changed in the meantime
}

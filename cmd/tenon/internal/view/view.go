package view

import (
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// Turn is what views know of the turn before it begins.
type Turn struct {
	Session     *sdk.Session
	Directory   string
	Retries     int                 // how often a step is tried again
	LogsNotices bool                // the log tells of plugins that failed
	Clean       func(string) string // takes secrets out of the text of errors
	// Remedy returns the text of an error that ends a turn, without secrets, what the user can do about it, and the exit code.
	Remedy func(error) (text, fix string, code int)
	Talks  bool // the turn is one of a conversation, which says at its end how to go on
}

// Outcome is how a turn ended.
type Outcome struct {
	Message *sdk.MessageWithParts // the last one; nil when the turn did not get that far
	Err     error
	Took    time.Duration
	Leave   bool // a signal asked for more than the end of the turn: that of the process
}

package view

import (
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// Turn describes a turn to a view before the turn starts.
type Turn struct {
	Session     *sdk.Session
	Directory   string
	Retries     int                 // maximum retries of a step
	LogsNotices bool                // the log reports failed plugins
	Clean       func(string) string // removes secrets from the text of an error
	// Remedy returns the text without secrets, the remedy, and the exit code of an error that ends the turn.
	Remedy func(error) (text, fix string, code int)
	Raw    bool // Markdown is printed as it is, and tool output is not shown
	InChat bool // the turn belongs to a chat, which prints at its end how to continue
}

// Outcome is how a turn ended.
type Outcome struct {
	Message *sdk.MessageWithParts // the last message; nil if the turn ended before it
	Err     error
	Took    time.Duration
	Leave   bool // a signal requested the end of the process, not only of the turn
}

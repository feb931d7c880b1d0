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
	LogsNotices bool                // the log shows notices of plugins
	Clean       func(string) string // masks secrets
	// Remedy returns the text (with masked secrets), the remedy and the exit code of an error that ends the turn.
	Remedy func(error) (text, fix string, code int)
	Raw    bool // print Markdown unrendered and omit tool output
	InChat bool // the turn belongs to a chat, which itself prints how to continue
}

// Outcome is how a turn ended.
type Outcome struct {
	Message *sdk.MessageWithParts // the last message; nil if the turn ended before it
	Err     error
	Took    time.Duration
	Leave   bool // a signal requested the end of the process, not only of the turn
}

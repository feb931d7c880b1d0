package sdk

import (
	"errors"
	"fmt"
)

// ErrHeadless is returned if a question has no user to answer it, because tenon runs without a terminal.
var ErrHeadless = errors.New("no user to ask")

// Refusal is the error of a tool call that was not permitted.
type Refusal struct {
	// Halt ends the turn. Otherwise Reason is sent to the model, which may try another way.
	Halt   bool
	Reason string
	// By is the source of the refusal: "user", "rule", "plugin NAME", "headless".
	By string
}

// Error returns the reason and the source.
func (r *Refusal) Error() string {
	if r.By == "" {
		return r.Reason
	}
	return fmt.Sprintf("%s (refused by %s)", r.Reason, r.By)
}

// Deny returns an error by which a hook at tool.execute.before refuses the call.
func Deny(reason string) error { return &Refusal{Reason: reason} }

// Halt returns an error by which a hook at tool.execute.before refuses the call and stops the turn.
func Halt(reason string) error { return &Refusal{Reason: reason, Halt: true} }

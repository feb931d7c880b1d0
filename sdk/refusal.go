package sdk

import (
	"errors"
	"fmt"
)

// ErrHeadless means that the user would have to be asked and is not there.
var ErrHeadless = errors.New("no user to ask")

// Verdict is what a gate, or a transform that may deny, decides.
type Verdict string

// The verdicts. The zero value abstains.
const (
	VerdictAbstain  Verdict = ""
	VerdictAllow    Verdict = "allow"
	VerdictAsk      Verdict = "ask"
	VerdictDeny     Verdict = "deny"     // refuses one tool call; the model may try another way
	VerdictHalt     Verdict = "halt"     // stops the turn; the user takes over
	VerdictContinue Verdict = "continue" // turn.stop: go on with a message
)

// Decision is the answer of a gate.
type Decision struct {
	Verdict Verdict
	Reason  string
}

// Refusal is the error of a tool call that was not permitted.
type Refusal struct {
	// Halt ends the turn; otherwise the model gets Reason and may try another way.
	Halt   bool
	Reason string
	// By says who refused: "user", "rule", "plugin NAME", "headless".
	By string
}

// Error returns the reason and who gave it.
func (r *Refusal) Error() string {
	if r.By == "" {
		return r.Reason
	}
	return fmt.Sprintf("%s (refused by %s)", r.Reason, r.By)
}

// Deny returns the error with which a hook at tool.execute.before refuses a call.
func Deny(reason string) error { return &Refusal{Reason: reason} }

// Halt returns the error with which a hook at tool.execute.before refuses a call and stops the turn.
func Halt(reason string) error { return &Refusal{Reason: reason, Halt: true} }

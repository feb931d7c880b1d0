package hooks

import (
	"errors"
	"fmt"
)

// Causes of a failed call of a hook; wrapped in an *Error.
var (
	// ErrTimeout is the cause if the hook did not answer before its deadline.
	ErrTimeout = errors.New("timed out")
	// ErrPanic is the cause if the handler panicked or ended its goroutine.
	ErrPanic = errors.New("panicked")
	// ErrAnswer is the cause if the answer is not valid at the hook's point.
	ErrAnswer = errors.New("bad answer")
	// ErrQuarantined is the cause if the plugin is quarantined: it is not called until the user enables it again.
	ErrQuarantined = errors.New("quarantined")
)

// Error is an error of a hook.
type Error struct {
	Plugin string
	Hook   string // the point, followed by the hook's name if it has one
	Err    error
}

// Error names the plugin, the hook and the cause.
func (e *Error) Error() string { return fmt.Sprintf("plugin %s: hook %s: %v", e.Plugin, e.Hook, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

package hooks

import (
	"errors"
	"fmt"
)

// Causes of a failed call of a hook; wrapped in an *Error.
var (
	// ErrTimeout means that the hook did not answer before its deadline.
	ErrTimeout = errors.New("timed out")
	// ErrPanic means that the handler panicked or ended its goroutine.
	ErrPanic = errors.New("panicked")
	// ErrAnswer means that the hook answered something its point does not allow.
	ErrAnswer = errors.New("bad answer")
	// ErrQuarantined means that the plugin is not called until the user enables it again.
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

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
	// ErrNotReady is wrapped by the error of a hook that cannot be called yet for a reason that is not its plugin's fault, such as a module that
	// is still being compiled. The hook's OnError applies as for any failure, but the failure does not count towards quarantine.
	ErrNotReady = errors.New("not ready yet")
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

package hooks

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
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

// ErrOverride is wrapped by errors about the user's settings for the hooks of a plugin.
var ErrOverride = errors.New("hook override")

// ErrNotCalled is wrapped by the error of a hook that cannot be called for a reason that is not its plugin's fault: its module is still being
// compiled, or the conversation is too large to be sent. The hook's OnError applies as for any failure, but the failure does not count towards
// quarantine.
var ErrNotCalled = errors.New("not called")

// shortages are errors of a machine that lacks files, processes, memory or disk space.
var shortages = []error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT}

// Blameless reports whether the plugin is not at fault for an error: ErrNotCalled, a shortage of the machine, or an error with a method
// Blameless. Such an error does not count towards quarantine, and the user gets one notice until the hook can be called again.
func Blameless(err error) bool {
	return errors.Is(err, ErrNotCalled) || errors.As(err, new(interface{ Blameless() })) ||
		slices.ContainsFunc(shortages, func(s error) bool { return errors.Is(err, s) })
}

// ErrInputSize is the ErrNotCalled of a hook whose input is too large. The user gets one notice for each session: a conversation stays large
// for many steps.
var ErrInputSize = fmt.Errorf("%w", ErrNotCalled)

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

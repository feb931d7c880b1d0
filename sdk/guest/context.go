package guest

import (
	"context"
	"time"
)

// Detached returns a context that never ends, for calls that the host bounds by other means.
func Detached() context.Context { return detached{} }

type detached struct{}

// Deadline returns false.
func (detached) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done returns nil.
func (detached) Done() <-chan struct{} { return nil }

// Err returns nil.
func (detached) Err() error { return nil }

// Value returns nil.
func (detached) Value(any) any { return nil }

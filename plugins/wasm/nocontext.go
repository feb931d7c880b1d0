package wasm

import "time"

// noContext is the context of what cannot be interrupted and has no caller: ending an instance. It never ends and has no values.
type noContext struct{}

// Deadline returns false.
func (noContext) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done returns nil.
func (noContext) Done() <-chan struct{} { return nil }

// Err returns nil.
func (noContext) Err() error { return nil }

// Value returns nil.
func (noContext) Value(any) any { return nil }

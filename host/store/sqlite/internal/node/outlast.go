package node

import (
	"context"
	"errors"
	"time"

	"github.com/tenonhq/tenon/host/store"
)

// A killed process may seem to live a moment longer: a child that it was about to start shares its lock until
// the child's program begins.
const (
	lingerTimeout = 500 * time.Millisecond
	lingerPoll    = 5 * time.Millisecond
)

// Outlast calls f again for a moment while it returns a *store.OwnedError that names a process that has ended.
// The lock still decides whether the owner lives: the process may run where its number means nothing here.
func Outlast(ctx context.Context, f func() error) error {
	deadline := time.After(lingerTimeout)
	for {
		err := f()
		var owned *store.OwnedError
		if !errors.As(err, &owned) || owned.PID == 0 || !gone(owned.PID) {
			return err
		}
		select {
		case <-time.After(lingerPoll):
		case <-deadline:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

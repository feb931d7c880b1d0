package node

import (
	"context"
	"errors"
	"time"

	"github.com/tenonhq/tenon/host/store"
)

// A killed process may seem to be live for another moment: a child that it was starting shares its lock until it executes its program.
const (
	lingerTimeout = 500 * time.Millisecond
	lingerPoll    = 5 * time.Millisecond
)

// Outlast calls f, and retries it for a moment while it returns a *store.OwnedError that names an ended process. The lock still decides whether
// the owner is live: the process may run in another PID namespace.
func Outlast(ctx context.Context, f func() error) error {
	deadline := time.After(lingerTimeout)
	for {
		err := f()
		if owned, ok := errors.AsType[*store.OwnedError](err); !ok || owned.PID == 0 || !gone(owned.PID) {
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

// Package filelock runs functions while it holds a lock between processes.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// ErrLocked is wrapped by the error if another process holds the lock for too long, or the context ends first.
var ErrLocked = errors.New("locked by another tenon process")

// retry is the time between attempts to take a lock. No system call waits for both a lock and a context.
const retry = 10 * time.Millisecond

// Do runs f while this process holds the lock on the file at path, and returns the error of f. It creates the file (mode 0600) and its directory (mode
// 0700), and keeps the file. It waits for the lock no longer than limit. The lock also excludes other calls of the same process. The system releases it
// when the process ends.
func Do(ctx context.Context, path string, limit time.Duration, f func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	defer lock.Close() // Close unlocks the file
	switch _, err := lock.TryLockContext(ctx, retry); {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%s: %w: %w", path, ErrLocked, err)
	case err != nil:
		return err // the error names the file
	}
	return f()
}

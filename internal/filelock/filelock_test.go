package filelock_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenonhq/tenon/internal/filelock"
)

// Only one call runs at a time, and every call runs.
func TestCallsExclude(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "lock")
	const calls = 20
	var running, done atomic.Int32
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			err := filelock.Do(t.Context(), path, time.Minute, func() error {
				if others := running.Add(1) - 1; others > 0 {
					t.Errorf("%d others run at the same time", others)
				}
				done.Add(1)
				running.Add(-1)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if done.Load() != calls {
		t.Errorf("%d calls ran, want %d", done.Load(), calls)
	}
}

func TestLockIsHeldTooLong(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("broken")
	err := filelock.Do(t.Context(), path, time.Minute, func() error {
		for name, wait := range map[string]struct {
			ctx   context.Context
			limit time.Duration
			want  error
		}{
			"limit":    {t.Context(), time.Millisecond, context.DeadlineExceeded},
			"canceled": {canceled, time.Minute, context.Canceled},
		} {
			err := filelock.Do(wait.ctx, path, wait.limit, func() error {
				t.Errorf("%s: ran", name)
				return nil
			})
			if !errors.Is(err, filelock.ErrLocked) || !errors.Is(err, wait.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v, want ErrLocked, %v and the path", name, err, wait.want)
			}
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the function", err)
	}
	if err := filelock.Do(t.Context(), path, time.Minute, func() error { return nil }); err != nil {
		t.Errorf("after an error: %v", err)
	}
}

func TestLockFileCannotBeOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := filelock.Do(t.Context(), dir, time.Minute, func() error { return nil })
	if err == nil || errors.Is(err, filelock.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v, want one that names the path and is not ErrLocked", err)
	}
}

package files

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// locks lets only one call at a time use a file.
type locks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when the file is released
}

func newLocks() *locks { return &locks{held: map[string]chan struct{}{}} }

// lock waits until all files are free and locks them. unlock must be called once. The paths must be real paths. Names that
// differ only in case share a lock because they are one file on some systems.
func (l *locks) lock(ctx context.Context, files ...string) (unlock func(), err error) {
	keys := make([]string, len(files))
	for i, file := range files {
		keys[i] = strings.ToLower(file)
	}
	slices.Sort(keys) // one order for all callers prevents deadlocks
	keys = slices.Compact(keys)
	for i, key := range keys {
		if err := l.take(ctx, key); err != nil {
			l.release(keys[:i])
			return nil, err
		}
	}
	return func() { l.release(keys) }, nil
}

func (l *locks) take(ctx context.Context, key string) error {
	for {
		l.mu.Lock()
		released, held := l.held[key]
		if !held {
			l.held[key] = make(chan struct{})
		}
		l.mu.Unlock()
		if !held {
			return nil
		}
		select {
		case <-released:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *locks) release(keys []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		close(l.held[key])
		delete(l.held, key)
	}
}

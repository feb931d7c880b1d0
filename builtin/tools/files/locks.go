package files

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// locks lets one call at a time work on a file.
type locks struct {
	mu   sync.Mutex
	held map[string]*fileLock
}

// fileLock is held by whoever has put a token into it.
type fileLock struct {
	token chan struct{}
	users int // who hold it or wait for it; guarded by locks.mu
}

func newLocks() *locks { return &locks{held: map[string]*fileLock{}} }

// lock waits until all files are free and takes them. unlock must be called once. The paths must be real
// ones. Names that differ in case share a lock, as they are one file on some systems.
func (l *locks) lock(ctx context.Context, files ...string) (unlock func(), err error) {
	keys := make([]string, len(files))
	for i, file := range files {
		keys[i] = strings.ToLower(file)
	}
	slices.Sort(keys) // everybody takes them in one order, so nobody waits in a circle
	keys = slices.Compact(keys)
	taken := 0
	unlock = func() {
		for _, key := range keys[:taken] {
			l.release(key)
		}
	}
	for _, key := range keys {
		if err := l.take(ctx, key); err != nil {
			unlock()
			return nil, err
		}
		taken++
	}
	return unlock, nil
}

func (l *locks) take(ctx context.Context, key string) error {
	l.mu.Lock()
	f := l.held[key]
	if f == nil {
		f = &fileLock{token: make(chan struct{}, 1)}
		l.held[key] = f
	}
	f.users++
	l.mu.Unlock()
	select {
	case f.token <- struct{}{}:
		return nil
	case <-ctx.Done():
		l.forget(key, f)
		return ctx.Err()
	}
}

func (l *locks) release(key string) {
	l.mu.Lock()
	f := l.held[key]
	l.mu.Unlock()
	<-f.token
	l.forget(key, f)
}

func (l *locks) forget(key string, f *fileLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.users--; f.users == 0 {
		delete(l.held, key)
	}
}

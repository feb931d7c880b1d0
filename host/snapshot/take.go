package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
)

const (
	// pins is the directory of references to trees.
	pins = "refs/tenon"
	// saveFiles is the number of files read, and saveAfter the time, after which the state is written to the disk for the next process. That
	// process reads the files that changed since.
	saveFiles = 100
	saveAfter = 10 * time.Second
)

// errSlow is returned if a Take exceeds Limits.MaxTime.
var errSlow = errors.New("a snapshot of this project takes too long")

// Take keeps the current state of the files. Without changes since the last Take it only checks the stamps of files; git runs only to decide
// whether it ignores a new name, and to store many files together. Errors: ErrOff if it takes longer than Limits.MaxTime, and from then on
// for a day. Record and Run work anyway.
func (r *Repo) Take(ctx context.Context) (*Tree, error) {
	if r.slow.Load() {
		return nil, r.tooSlow()
	}
	limited, cancel := context.WithTimeoutCause(ctx, r.limits.MaxTime, errSlow)
	defer cancel()
	var t *Tree
	err := r.exclusive(limited, func() (err error) {
		if t, err = r.scan(limited); err == nil || limited.Err() != nil {
			return err
		}
		t, err = r.scan(limited) // something may have been changed while it was looked at
		return err
	})
	if err != nil && context.Cause(limited) == errSlow {
		r.slow.Store(true)
		err = errors.Join(r.tooSlow(), os.WriteFile(filepath.Join(r.dir, slowMark), nil, 0o600))
	}
	return t, err
}

func (r *Repo) tooSlow() error {
	return fmt.Errorf("%w for a day: %w: more than %s", ErrOff, errSlow, r.limits.MaxTime)
}

// scan returns the current state of the files. The caller holds the lock.
func (r *Repo) scan(ctx context.Context) (*Tree, error) {
	if r.last == nil || !r.pinned(r.last.Hash) { // new here, or removed with its contents by another process
		r.saved, r.since = time.Now(), 0
		if r.last = r.load(); r.last != nil && !r.pinned(r.last.Hash) {
			r.last = nil
		}
	}
	s := &scan{r: r, begun: time.Now()}
	root, err := s.look(ctx, r.last)
	if err != nil {
		return nil, err
	}
	if r.last == nil || r.last.Hash != root.Hash {
		if err := r.pin(root.Hash); err != nil {
			return nil, err
		}
	}
	isNew := r.last == nil
	r.since += s.read
	r.last = root
	if isNew || r.since > saveFiles || r.since > 0 && time.Since(r.saved) > saveAfter {
		if err := r.save(root); err != nil {
			return nil, err
		}
		r.saved, r.since = time.Now(), 0
	}
	return &Tree{Hash: root.Hash, LeftOut: root.leftOut(""), root: root}, nil
}

// pin keeps a tree from being removed: one file may be in the states of weeks, and must stay as long as the last of them.
func (r *Repo) pin(tree string) error {
	// An empty one, for want of space, would stop git gc.
	return atomicfile.Write(filepath.Join(r.dir, filepath.FromSlash(pins), tree), []byte(tree+"\n"), atomicfile.Options{MakeDirs: 0o700})
}

// pinned reports whether a tree is kept, and makes it young again.
func (r *Repo) pinned(tree string) bool {
	now := time.Now()
	return os.Chtimes(filepath.Join(r.dir, filepath.FromSlash(pins), tree), now, now) == nil
}

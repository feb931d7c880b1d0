package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
)

const (
	// pins is the directory of references to trees, below the git directory.
	pins = "refs/tenon"
	// saveFiles is the number of files read, and saveAfter the time, after which the state is written to the disk for the next process. That
	// process reads the files that changed since.
	saveFiles = 100
	saveAfter = 10 * time.Second
)

// errSlow is the cause of the end of a scan that takes too long.
var errSlow = errors.New("a snapshot of this project takes too long")

// Take records the current state of the files. Without changes since the last Take it only checks the stamps of files; git runs only to store many
// files together. Errors: that of Off; it is also returned if a state takes longer than Limits.MaxTime, and from then on for a day;
// filelock.ErrLocked.
func (r *Repo) Take(ctx context.Context) (tree *Tree, err error) {
	if err := r.Off(); err != nil {
		return nil, err
	}
	err = r.exclusive(ctx, func() (err error) {
		limited, cancel := context.WithTimeoutCause(ctx, r.limits.MaxTime, errSlow)
		defer cancel()
		if tree, err = r.take(limited); err != nil && context.Cause(limited) == errSlow {
			r.slow.Store(true)
			err = errors.Join(r.Off(), os.WriteFile(filepath.Join(r.dir, slowMark), nil, 0o600))
		}
		return err
	})
	return tree, err
}

// Off returns why Take records no states in this project; nil if it does. Record and Run work anyway. Errors: ErrOff.
func (r *Repo) Off() error {
	switch {
	case r.off != "":
		return fmt.Errorf("%w when commands make them: %s", ErrOff, r.off)
	case r.slow.Load():
		return fmt.Errorf("%w for a day when commands make them: %w: more than %s", ErrOff, errSlow, r.limits.MaxTime)
	}
	return nil
}

// Never reports whether Take records no states because of what the project is.
func (r *Repo) Never() bool { return r.off != "" }

// take does the work of Take. The caller holds mu and the lock.
func (r *Repo) take(ctx context.Context) (*Tree, error) {
	if r.last == nil {
		r.last, r.saved = r.load(), time.Now()
	}
	if r.last != nil && !r.pinned(r.last.Hash) { // another process removed it with its contents
		r.last = nil
	}
	scanning, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s := &scan{
		Repo: r, ctx: scanning, fail: fail, begun: time.Now(),
		store: &packer{repo: r, ctx: scanning}, room: make(chan struct{}, 2*runtime.GOMAXPROCS(0)),
	}
	root := s.dir("/", r.last, noRules())
	if err := errors.Join(context.Cause(scanning), s.store.close()); err != nil {
		return nil, err
	}
	if err := r.pin(root.Hash); err != nil {
		return nil, err
	}
	isNew := r.last == nil
	r.last, r.since = root, r.since+int(s.looked.Load())
	if isNew || r.since > saveFiles || r.since > 0 && time.Since(r.saved) > saveAfter {
		if err := r.save(root); err != nil {
			return nil, err
		}
		r.saved, r.since = time.Now(), 0
	}
	slices.Sort(s.leftOut)
	return &Tree{Hash: root.Hash, LeftOut: s.leftOut, root: root}, nil
}

// pin protects a tree from removal. A content may be part of weeks of states, and must stay as long as the last of them.
func (r *Repo) pin(tree string) error {
	if r.pinned(tree) {
		return nil
	}
	// An empty reference, left on a full disk, would make git gc fail.
	return atomicfile.Write(filepath.Join(r.dir, pins, tree), []byte(tree+"\n"), atomicfile.Options{MakeDirs: 0o700})
}

// pinned reports whether a tree is protected, and restarts its age.
func (r *Repo) pinned(tree string) bool {
	now := time.Now()
	return os.Chtimes(filepath.Join(r.dir, pins, tree), now, now) == nil
}

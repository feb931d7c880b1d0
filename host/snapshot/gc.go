package snapshot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tenonhq/tenon/internal/filelock"
)

const (
	// collectEvery is how often states that are too old are removed.
	collectEvery = 24 * time.Hour
	collectMark  = "collected"
)

// Collect removes states older than Limits.KeepFor, at most once a day, and all but the latest when the store is larger than Limits.MaxBytes after
// that. It also removes the states of projects that were not used for so long that none can be restored: they may no longer exist. It reports whether it was due; if another process has the lock, it stays due.
func (r *Repo) Collect(ctx context.Context) (bool, error) {
	mark := filepath.Join(r.dir, collectMark)
	info, err := os.Stat(mark)
	switch {
	case err == nil && time.Since(info.ModTime()).Abs() < collectEvery: // absolute, because the clock may have been ahead
		return false, nil
	case errors.Is(err, os.ErrNotExist): // a new store has nothing to remove
		return false, ignoreMissing(os.WriteFile(mark, nil, 0o600))
	}
	if err = r.exclusive(ctx, func() error { return r.collect(ctx, mark) }); errors.Is(err, filelock.ErrLocked) {
		return false, nil
	}
	return true, errors.Join(err, r.removeUnused(ctx))
}

// removeUnused removes the stores of other projects in which no state is young enough to be restored.
func (r *Repo) removeUnused(ctx context.Context) error {
	all := filepath.Dir(r.dir)
	stores, err := os.ReadDir(all)
	for _, e := range stores {
		if !e.IsDir() {
			continue
		}
		other := &Repo{dir: filepath.Join(all, e.Name())}
		lockErr := filelock.Do(ctx, filepath.Join(other.dir, lockFile), lockRetry, func() error {
			if other.usedSince(time.Now().Add(-r.limits.KeepFor - collectEvery)) {
				return nil
			}
			return other.clear()
		})
		if !errors.Is(lockErr, filelock.ErrLocked) {
			err = errors.Join(err, lockErr)
		}
	}
	return err
}

// usedSince reports whether the store is new, was used since a time, or is needed to complete a change of files.
func (r *Repo) usedSince(since time.Time) bool {
	old := func(name string) bool {
		info, err := os.Stat(filepath.Join(r.dir, name))
		return err == nil && info.ModTime().Before(since)
	}
	trees, _ := os.ReadDir(filepath.Join(r.dir, pins)) // missing if only files were recorded
	pending, _ := os.ReadDir(r.pendingDir())
	return !old(collectMark) || len(pending) > 0 || slices.ContainsFunc(trees, func(e os.DirEntry) bool { return !old(filepath.Join(pins, e.Name())) })
}

// clear removes the states, so that the store is made again when it is used. The mark comes last: if the process is killed, another one continues. The
// lock stays, because other processes may wait for it.
func (r *Repo) clear() error {
	for _, name := range []string{stateFile, descriptionFile, "refs", "objects", collectMark} {
		if err := os.RemoveAll(filepath.Join(r.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Repo) collect(ctx context.Context, mark string) error {
	if r.last != nil {
		if err := r.save(r.last); err != nil {
			return err
		}
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return err
	}
	if err := r.prune(ctx, time.Now().Add(-r.limits.KeepFor)); err != nil {
		return err
	}
	size, err := sizeOf(r.dir)
	if err == nil && size > r.limits.MaxBytes {
		err = r.prune(ctx, time.Now())
	}
	return err
}

// prune removes states that were last used before a time, except the state that the next Take begins with. git fails at an empty reference,
// which earlier versions left on a full disk.
func (r *Repo) prune(ctx context.Context, before time.Time) error {
	keep := ""
	if n := r.load(); n != nil {
		keep = n.Hash
	}
	dir := filepath.Join(r.dir, pins)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && (info.Size() == 0 || e.Name() != keep && info.ModTime().Before(before)) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	_, err = r.run(ctx, nil, "gc", "--quiet", "--prune="+before.UTC().Format(time.RFC3339))
	return err
}

// sizeOf returns the size of the files below a directory, in bytes.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreMissing(err)
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return ignoreMissing(err)
	})
	return size, err
}

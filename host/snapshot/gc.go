package snapshot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tenonhq/tenon/internal/filelock"
)

const (
	// collectEvery is how often states that are too old are removed.
	collectEvery = 24 * time.Hour
	collectMark  = "collected"
)

// Collect removes states older than Limits.KeepFor, at most once a day, and all but the latest when the store is larger than Limits.MaxBytes after
// that. Then, and with the first state of a project, it removes those of projects that were not used for that time, because they may no longer
// exist. It reports whether it was due; if another process has the lock, it stays due.
func (r *Repo) Collect(ctx context.Context) (bool, error) {
	mark := filepath.Join(r.dir, collectMark)
	info, err := os.Stat(mark)
	switch {
	case err == nil && time.Since(info.ModTime()).Abs() < collectEvery: // absolute, because the clock may have been ahead
		return false, nil
	case errors.Is(err, os.ErrNotExist): // a new store has nothing to remove
		if err = os.WriteFile(mark, nil, 0o600); err == nil {
			err = r.removeUnused(ctx)
		}
		return false, ignoreMissing(err) // nothing was recorded yet
	}
	if err = r.exclusive(ctx, func() error { return r.collect(ctx, mark) }); errors.Is(err, filelock.ErrLocked) {
		return false, nil
	}
	if err == nil {
		err = r.removeUnused(ctx)
	}
	return true, err
}

// removeUnused removes the states of other projects in which none is young enough to be restored, until Limits.MaxRemoval has passed, because a tool
// call waits for it. It skips those of another user. The lock does not exclude contents that are stored in that moment, of the first edit after a week.
func (r *Repo) removeUnused(ctx context.Context) error {
	all, start := filepath.Dir(r.dir), time.Now()
	stores, err := os.ReadDir(all)
	if err != nil {
		return err
	}
	for _, e := range stores {
		other := &Repo{dir: filepath.Join(all, e.Name()), limits: r.limits}
		if !e.IsDir() || other.dir == r.dir || other.used() {
			continue
		}
		err := filelock.Do(ctx, filepath.Join(other.dir, lockFile), lockRetry, func() error {
			if other.used() { // since it was looked at
				return nil
			}
			return other.clear()
		})
		if errors.Is(err, filelock.ErrLocked) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil || time.Since(start) >= r.limits.MaxRemoval {
			return err
		}
	}
	return nil
}

// used reports whether a file in the store is younger than Limits.KeepFor or needed to complete a change of files. It also returns true if the store
// has no contents or cannot be read.
func (r *Repo) used() bool {
	pending, err := os.ReadDir(r.pendingDir())
	if len(pending) > 0 || ignoreMissing(err) != nil {
		return true
	}
	if _, err := os.Stat(filepath.Join(r.dir, objectsDir)); err != nil {
		return true
	}
	young := false
	err = filepath.WalkDir(r.dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == lockFile {
			return err
		}
		info, err := d.Info()
		if young = err == nil && time.Since(info.ModTime()) < r.limits.KeepFor; young {
			return fs.SkipAll
		}
		return err
	})
	return young || err != nil
}

// clear removes the states, so that the store is made again when it is used. The contents come last: if the process is killed, another one
// continues. The lock stays, because other processes may wait for it.
func (r *Repo) clear() error {
	for _, name := range []string{stateFile, descriptionFile, "refs", collectMark, objectsDir} {
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

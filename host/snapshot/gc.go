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
// that. It reports whether it was due; if another process has the lock, it stays due.
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
	return true, err
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

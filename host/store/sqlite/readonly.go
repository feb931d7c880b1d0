package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/tenonhq/tenon/host/store"
)

// openReadOnly opens the database for reading alone, after opening it failed because its place cannot be written. Every write is
// refused with that error. A directory without a database is an empty store.
func (s *Store) openReadOnly(ctx context.Context, cause error) error {
	info, err := os.Stat(filepath.Dir(s.path))
	if err != nil || !info.IsDir() {
		return cause
	}
	s.readOnly = cause
	if _, err := os.Lstat(s.path); errors.Is(err, os.ErrNotExist) {
		return s.openEmpty(ctx)
	}
	// Without a log beside it the file is whole and nobody writes to it: a writer would have one. SQLite needs to be told, as it
	// cannot make the files with which it would find out.
	s.readers.options = "&immutable=1"
	if log, err := os.Stat(s.path + "-wal"); err == nil && log.Size() > 0 {
		s.readers.options = "&mode=ro"
	}
	c, err := s.readers.connect(ctx)
	if err == nil {
		err = errors.Join(s.settled(ctx, c), c.close())
	}
	if errors.Is(err, store.ErrNewer) || errors.Is(err, store.ErrCorrupt) || corrupt(err) {
		return s.explain(err)
	}
	if err != nil {
		return cause // of an older version, or it cannot be read either
	}
	return nil
}

func (s *Store) openEmpty(ctx context.Context) error {
	c, err := connectTo(ctx, "file::memory:?_error_rc=1")
	for i := 0; err == nil && i < len(s.steps); i++ {
		if err = c.script(ctx, s.steps[i].sql); err == nil && s.steps[i].fill != nil {
			err = s.steps[i].fill(ctx, c)
		}
	}
	if err != nil {
		return s.explain(err)
	}
	s.readers.alone(c)
	return nil
}

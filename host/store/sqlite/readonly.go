package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// openReadOnly opens the database for reading alone, after opening it failed because its place cannot be written or is full. Every write is
// refused with that error. A directory without a database, or one that is missing and cannot be created, is an empty store.
func (s *Store) openReadOnly(ctx context.Context, cause error) error {
	info, err := os.Stat(filepath.Dir(s.path))
	if err != nil && !errors.Is(err, os.ErrNotExist) || err == nil && !info.IsDir() {
		return cause
	}
	s.readOnly = cause
	if _, err := os.Lstat(s.path); errors.Is(err, os.ErrNotExist) {
		return s.openEmpty(ctx)
	}
	// Without a log the file is complete and has no writer: a writer would have a log. SQLite needs this option, because it
	// cannot make the files with which it would find out.
	uri := database.URI(s.path) + "&immutable=1"
	if log, err := os.Stat(s.path + "-wal"); err == nil && log.Size() > 0 {
		uri = database.URI(s.path) + "&mode=ro"
	}
	s.readers = database.NewPool(uri)
	c, err := database.ConnectToRead(ctx, uri)
	if err == nil {
		err = errors.Join(s.current(ctx, c), c.Close())
	}
	if errors.Is(err, store.ErrNewer) || errors.Is(err, store.ErrCorrupt) || database.Corrupt(err) {
		return s.explain(err)
	}
	if err != nil {
		return cause // of an older version, or it cannot be read either
	}
	return nil
}

func (s *Store) openEmpty(ctx context.Context) error {
	c, err := database.Connect(ctx, database.Memory)
	if err == nil {
		err = s.runSteps(ctx, c, 0)
	}
	if err != nil {
		return s.explain(err)
	}
	s.readers = database.NewPoolOf(c)
	return nil
}

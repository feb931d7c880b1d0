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
	// A log, even an empty one, may have a writer. Otherwise the file is complete, and SQLite needs the other option because it cannot make
	// the files with which it would find out.
	log, err := os.Stat(s.path + "-wal")
	empty := err != nil || log.Size() == 0
	if err == nil {
		err = s.readAt(ctx, database.URI(s.path)+"&mode=ro")
	}
	if err != nil && empty {
		err = s.readAt(ctx, database.URI(s.path)+"&immutable=1")
	}
	if errors.Is(err, store.ErrNewer) || errors.Is(err, store.ErrCorrupt) || database.Corrupt(err) {
		return s.explain(err)
	}
	if err != nil {
		return cause // of an older version, or it cannot be read either
	}
	return nil
}

// readAt has readers open the database under this name, if it can be read and is current.
func (s *Store) readAt(ctx context.Context, uri string) error {
	c, err := database.ConnectToRead(ctx, uri)
	if err != nil {
		return err
	}
	s.readers = database.NewPool(uri)
	return errors.Join(s.current(ctx, c), c.Close())
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

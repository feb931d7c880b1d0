package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// openReadOnly opens the database only for reading, after opening it for writing failed with cause, because it cannot be written or the disk is
// full. Every write fails with cause. A directory without a database, or one that is missing and cannot be created, is an empty store.
func (s *Store) openReadOnly(ctx context.Context, cause error) error {
	info, err := os.Stat(filepath.Dir(s.path))
	if err != nil && !errors.Is(err, os.ErrNotExist) || err == nil && !info.IsDir() {
		return cause
	}
	s.readOnly = cause
	if _, err := os.Lstat(s.path); errors.Is(err, os.ErrNotExist) {
		return s.openEmpty(ctx)
	}
	// A log, even an empty one, may have a writer. Without one the file is complete. SQLite cannot find that out, because it cannot create its
	// files, so it needs the option immutable.
	log, err := os.Stat(s.path + "-wal")
	empty := err != nil || log.Size() == 0
	if err == nil {
		err = s.readAt(ctx, database.URI(s.path)+"&mode=ro")
	}
	if err != nil && empty {
		err = s.readAt(ctx, database.URI(s.path)+"&immutable=1")
	}
	if errors.Is(err, errNotCurrent) {
		return cause // empty, or of an older version
	}
	if errors.Is(err, store.ErrNewer) || errors.Is(err, store.ErrCorrupt) || database.Corrupt(err) {
		return s.explain(err)
	}
	if err != nil {
		return cause // it cannot be read either
	}
	return nil
}

// readAt sets the URI for readers, if the database can be read and has the current schema.
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
	if err != nil {
		return s.explain(err)
	}
	x := &database.Tx{Ctx: ctx, Conn: c}
	if s.runSteps(x, 0); x.Err() != nil {
		return s.explain(x.Err())
	}
	s.readers = database.NewPoolOf(c)
	return nil
}

package sqlite

import (
	"context"
	"errors"
	"fmt"

	lib "modernc.org/sqlite/lib"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/node"
)

// refusal is an error that was found before any change, so the other jobs of the transaction can continue.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func refuse(err error) error { return refusal{err} }

// explain adds the sentinel and the path to an error of the disk or the database.
func (s *Store) explain(err error) error {
	if r, ok := errors.AsType[refusal](err); ok {
		return r.error
	}
	code := database.Code(err)
	if code == 0 || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	switch {
	// The second is the error of growing the shared index of the log on a full disk.
	case code&0xff == lib.SQLITE_FULL, code == lib.SQLITE_IOERR_SHMSIZE:
		return fmt.Errorf("%w: %s: %w", store.ErrFull, s.path, err)
	// A quota or a file size limit. The second is the error if even the shared index of the log exceeds it.
	case code == lib.SQLITE_IOERR_WRITE, code == lib.SQLITE_IOERR_SHMOPEN:
		return fmt.Errorf("%w: %s, or a quota or the file size limit is reached: %w", store.ErrFull, s.path, err)
	case code&0xff == lib.SQLITE_READONLY, code&0xff == lib.SQLITE_CANTOPEN, code&0xff == lib.SQLITE_PERM:
		return fmt.Errorf("%w: %s: %w", store.ErrReadOnly, s.path, err)
	case code&0xff == lib.SQLITE_CORRUPT, code&0xff == lib.SQLITE_NOTADB:
		return fmt.Errorf("%w: %s: move the file away to start with an empty store, or restore a copy: %w", store.ErrCorrupt, s.path, err)
	case database.Busy(err):
		return fmt.Errorf("%w: %s is locked by another process: end it and try again: %w", store.ErrUnavailable, s.path, err)
	case code == lib.SQLITE_ERROR: // such as a missing table: the statements themselves are correct
		return fmt.Errorf("%w: %s: %w", store.ErrCorrupt, s.path, err)
	}
	return fmt.Errorf("%w: %s: %w", store.ErrUnavailable, s.path, err)
}

// explainFile is explain for the other files of the store.
func (s *Store) explainFile(err error) error {
	if node.IsFull(err) {
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return fmt.Errorf("%w: %w", store.ErrReadOnly, err)
}

// damageError returns the error for a result that omits the rows; nil if there are none.
func (s *Store) damageError(rows []store.Damage) error {
	if len(rows) == 0 {
		return nil
	}
	return &store.DamageError{Store: s.path, Rows: rows}
}

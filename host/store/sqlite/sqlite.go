package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/node"
)

var _ store.Store = (*Store)(nil)

// Options are the options of Open.
type Options struct {
	// Path is the path of the database file (mode 0600). Its directory is created if it is missing (mode 0700). While the database is open,
	// SQLite creates the files -wal and -shm next to it, and the store a directory -nodes.
	Path string
	// Version is the version of tenon, for errors.
	Version string
	// Logger receives messages about migrations. Nil logs nothing.
	Logger *slog.Logger
	// ReadFull opens the store for reading if the disk is too full to open it for writing. It stays read-only until it is closed.
	ReadFull bool
}

// Store is a store.Store in one SQLite file. Each Store is a node, so two stores on one file, in one process or in two, share it like two hosts.
type Store struct {
	path    string
	version string

	file     os.FileInfo   // the database that was opened for writing
	readOnly error         // the reason why nothing can be written; nil if the store can be written
	busyWait time.Duration // maximum wait for the write lock of another process; shorter in tests

	log     *slog.Logger
	steps   []step
	node    *node.Node
	readers *database.Pool

	closing sync.RWMutex // held for reading while a job is queued
	closed  bool
	queue   chan *job
	done    chan struct{} // closed when the writer has ended

	closeOnce sync.Once
	closeErr  error
}

// Open opens the database, or creates it. It migrates a database of an older version after it made a copy. A database that cannot be
// written is opened for reading. ctx bounds only the opening. Errors: store.ErrNewer, store.ErrOlder, store.ErrFull, store.ErrReadOnly,
// store.ErrCorrupt.
func Open(ctx context.Context, o Options) (*Store, error) {
	return open(ctx, o, schema())
}

func open(ctx context.Context, o Options, steps []step) (*Store, error) {
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, fmt.Errorf("session store %q: %w", o.Path, err)
	}
	s := &Store{
		path: path, version: o.Version, log: o.Logger, steps: steps, busyWait: busyWait,
		node:    node.New(path + "-nodes"),
		readers: database.NewPool(database.URI(path)),
		queue:   make(chan *job, queueSize),
		done:    make(chan struct{}),
	}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	c, err := s.openCurrent(ctx)
	if errors.Is(err, store.ErrReadOnly) || o.ReadFull && errors.Is(err, store.ErrFull) {
		if err := s.openReadOnly(ctx, err); err != nil {
			return nil, err
		}
		close(s.done) // without a writer
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	go s.write(context.WithoutCancel(ctx), c) // ends when Close closes the queue; Close waits for it
	return s, nil
}

// openCurrent connects to the file and migrates it. It starts over if another process replaces the file by a repaired one in the meantime.
func (s *Store) openCurrent(ctx context.Context) (*database.Conn, error) {
	for {
		before, _ := os.Stat(s.path) // nil if it is missing
		c, err := s.openFile(ctx, "")
		if err != nil {
			return nil, err
		}
		if err = s.ready(ctx, c); err == nil {
			err = c.Script(ctx, "PRAGMA journal_mode=WAL") // a Rebuild that was killed left another mode
		}
		if err == nil {
			err = s.removeRebuild()
		}
		if err != nil {
			return nil, errors.Join(s.explain(err), c.Close(), s.node.Drop())
		}
		after, err := os.Stat(s.path)
		if err == nil && (before == nil || os.SameFile(before, after)) {
			s.file = after
			return c, nil
		}
		if err := c.Close(); err != nil {
			return nil, s.explain(err)
		}
	}
}

// openFile connects to the file. It sets the mode of a new file, which is still empty, by its name: opening and closing the file here would
// release the locks of another Store of this process. options are added to the URI.
func (s *Store) openFile(ctx context.Context, options string) (*database.Conn, error) {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return nil, s.explainFile(err)
	}
	info, err := os.Stat(s.path)
	isNew := errors.Is(err, os.ErrNotExist)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() { // opening a pipe would block
		return nil, fmt.Errorf("%w: %s is not a regular file: move it away", store.ErrCorrupt, s.path)
	}
	if err == nil {
		for _, part := range []string{"-wal", "-shm"} { // SQLite created them with the mode of a read-only database, and keeps them
			if of, err := os.Stat(s.path + part); err == nil && of.Mode().Perm() != info.Mode().Perm() {
				_ = os.Chmod(s.path+part, info.Mode().Perm()) // if it matters, opening fails
			}
		}
	}
	c, err := database.Connect(ctx, database.URI(s.path)+options)
	if err != nil {
		return nil, s.explain(err)
	}
	if isNew {
		if err := os.Chmod(s.path, 0o600); err != nil {
			return nil, errors.Join(s.explainFile(err), c.Close())
		}
	}
	return c, nil
}

// Close waits for running writes and releases all sessions of this node.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.closing.Lock()
		s.closed = true
		close(s.queue)
		s.closing.Unlock()
		<-s.done
		s.closeErr = errors.Join(s.closeErr, s.readers.Close(), s.node.Drop())
	})
	return s.closeErr
}

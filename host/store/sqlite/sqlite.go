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

// Options tells where sessions are kept.
type Options struct {
	// Path of the database file. Its folder is made (mode 0700) if it is not there; files get mode 0600.
	// SQLite puts two more files beside it while it is open, -wal and -shm, and we a folder, -nodes.
	Path string
	// Version of tenon, for the text of errors.
	Version string
	// Logger receives messages about migrations. Nil logs nothing.
	Logger *slog.Logger
	// ReadFull opens a store for reading that cannot be opened for writing because the disk is full. It stays so, so it is for short work.
	ReadFull bool
}

// Store is a store.Store in one SQLite file. While it owns sessions it is a node of its own: two stores
// on one file, in one process or in two, share it like two hosts.
type Store struct {
	path    string
	version string

	file os.FileInfo // the database, as it was opened for writing

	readOnly error // why nothing can be written; nil when all can

	busyWait time.Duration // for the write lock, while it is with another process; the constant outside of tests

	log     *slog.Logger
	steps   []step
	node    *node.Node
	readers *database.Pool

	closing sync.RWMutex // held for reading while a job is put into the queue
	closed  bool
	queue   chan *job
	done    chan struct{} // closed when the writer has ended

	closeOnce sync.Once
	closeErr  error
}

// Open opens the database, creates it if it is not there, and migrates one of an older version after it
// made a copy beside it. Where nothing can be written the store can be read. ctx bounds only the opening. Errors: store.ErrNewer, store.ErrOlder, store.ErrFull,
// store.ErrReadOnly, store.ErrCorrupt.
func Open(ctx context.Context, o Options) (*Store, error) {
	return open(ctx, o, schema())
}

func open(ctx context.Context, o Options, steps []step) (*Store, error) {
	path, err := filepath.Abs(o.Path)
	if err == nil && o.Path == "" {
		err = errors.New("no path is given")
	}
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

// openCurrent connects to the file and makes it ready. Another process may put a repaired file in its place meanwhile.
func (s *Store) openCurrent(ctx context.Context) (*database.Conn, error) {
	for {
		before, _ := os.Stat(s.path) // nil: it is made
		c, err := s.openFile(ctx)
		if err != nil {
			return nil, err
		}
		if err = s.ready(ctx, c); err == nil {
			err = s.afterRebuild(ctx, c)
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

// openFile connects to the file. A new one gets its mode while it is still empty, and by its name: to
// open it here, and close it again, would drop the locks of another Store of this process.
func (s *Store) openFile(ctx context.Context) (*database.Conn, error) {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return nil, s.explainFile(err)
	}
	info, err := os.Stat(s.path)
	isNew := errors.Is(err, os.ErrNotExist)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() { // to open a pipe would wait for whoever is at its other end
		return nil, fmt.Errorf("%w: %s is not a regular file: move it away", store.ErrCorrupt, s.path)
	}
	if err == nil {
		for _, part := range []string{"-wal", "-shm"} { // SQLite made them with the mode of a database that could not be written, and leaves them
			if of, err := os.Stat(s.path + part); err == nil && of.Mode().Perm() != info.Mode().Perm() {
				_ = os.Chmod(s.path+part, info.Mode().Perm()) // if it matters, opening fails
			}
		}
	}
	c, err := database.Connect(ctx, database.URI(s.path))
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

// Close waits for the writes under way and gives up all sessions of this node. Safe twice.
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

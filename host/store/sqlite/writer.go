package sqlite

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

const (
	// lockPoll is how often a writer looks whether the lock of another process is gone.
	lockPoll = time.Millisecond

	queueSize = 128
	maxBatch  = 256 // jobs in one transaction, so that none waits for an endless one
)

// job is one write. It runs inside a transaction, perhaps twice: results must be set, not added to.
type job struct {
	run  func(*database.Tx)
	err  error
	done chan struct{} // closed when the outcome is final
}

// submit queues a write and waits until it is durable. When ctx ends first it returns, the write may
// still happen, and the result of run must not be used.
func (s *Store) submit(ctx context.Context, run func(*database.Tx)) error {
	j := &job{run: run, done: make(chan struct{})}
	if err := s.enqueue(ctx, j); err != nil {
		return err
	}
	select {
	case <-j.done:
		return s.explain(j.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) enqueue(ctx context.Context, j *job) error {
	s.closing.RLock()
	defer s.closing.RUnlock()
	if s.closed {
		return store.ErrClosed
	}
	if s.readOnly != nil {
		return s.readOnly
	}
	select {
	case s.queue <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write is the writer: the only one to use c. It puts all jobs that wait into one transaction, so that
// they share the cost of making it durable.
func (s *Store) write(ctx context.Context, c *database.Conn) {
	defer close(s.done)
	for j := range s.queue {
		s.commit(ctx, c, s.drain([]*job{j}))
	}
	s.closeErr = c.Close()
}

func (s *Store) drain(batch []*job) []*job {
	for len(batch) < maxBatch {
		select {
		case j, ok := <-s.queue:
			if !ok {
				return batch
			}
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// commit runs the jobs in one transaction. When one fails half-way, or all of them need more space than there is,
// each gets its own transaction.
func (s *Store) commit(ctx context.Context, c *database.Conn, batch []*job) {
	err := s.transact(ctx, c, batch)
	if err != nil && len(batch) > 1 && !database.Busy(err) {
		for _, j := range batch {
			s.commit(ctx, c, []*job{j})
		}
		return
	}
	for _, j := range batch {
		if err != nil {
			j.err = err
		}
		close(j.done)
	}
}

func (s *Store) transact(ctx context.Context, c *database.Conn, batch []*job) error {
	if err := s.begin(ctx, c); err != nil {
		return err
	}
	err := s.runAll(ctx, c, batch)
	if err == nil {
		_, err = c.Exec(ctx, "COMMIT")
	}
	if err == nil {
		return nil
	}
	s.rollback(ctx, c)
	return err
}

// begin takes the write lock, or fails when another process keeps it for longer than busyWait. SQLite would wait by itself,
// but with pauses that grow to 100 ms, in which one misses the moments that a large change leaves the lock to others.
func (s *Store) begin(ctx context.Context, c *database.Conn) error {
	for deadline := time.Now().Add(s.busyWait); ; {
		_, err := c.Exec(ctx, "BEGIN IMMEDIATE")
		if !database.Busy(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(lockPoll)
	}
}

func (s *Store) runAll(ctx context.Context, c *database.Conn, batch []*job) error {
	if now, err := os.Stat(s.path); err != nil || !os.SameFile(s.file, now) {
		return s.errReplaced()
	}
	// Another process may have migrated the file since it was opened.
	version, err := c.Number(ctx, "PRAGMA user_version")
	if err == nil {
		err = s.newer(version)
	}
	if err != nil {
		return err
	}
	for _, j := range batch {
		x := &database.Tx{Ctx: ctx, Conn: c}
		j.run(x)
		j.err = x.Err()
		if j.err != nil && !errors.As(j.err, new(refusal)) {
			return j.err
		}
	}
	return nil
}

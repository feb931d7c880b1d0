package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

const (
	// lockPoll and maxLockPoll bound the time between attempts to take the lock that another process holds.
	lockPoll    = time.Millisecond
	maxLockPoll = 100 * time.Millisecond

	queueSize = 128
	maxBatch  = 256 // maximum number of jobs in one transaction, which bounds its duration
)

// job is one write. It may run twice, in different transactions: run must set its results, not add to them.
type job struct {
	run  func(*database.Tx)
	err  error
	done chan struct{} // closed when err is final
}

// submit queues a write and waits until it is durable. If ctx ends first, the write may still happen, and the results of run must not be
// used.
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

// write is the writer, the only user of c. It runs all waiting jobs in one transaction, so that they share the cost of making it durable.
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

// commit runs the jobs in one transaction. If one fails halfway, or the disk has no space for all of them, each gets its own transaction.
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
	if err != nil {
		s.rollback(ctx, c)
	}
	return err
}

// begin takes the write lock, or fails if another process holds it for longer than busyWait. Unlike SQLite's own waiting, its pauses are short
// while an attempt costs little: the moments in which a large change releases the lock are short, too.
func (s *Store) begin(ctx context.Context, c *database.Conn) error {
	for deadline := time.Now().Add(s.busyWait); ; {
		begun := time.Now()
		_, err := c.Exec(ctx, "BEGIN IMMEDIATE")
		if !database.Busy(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(min(max(lockPoll, 50*time.Since(begun)), maxLockPoll)) // many waiting processes must not take the processor from the one with the lock
	}
}

func (s *Store) runAll(ctx context.Context, c *database.Conn, batch []*job) error {
	if now, err := os.Stat(s.path); err != nil || !os.SameFile(s.file, now) {
		// The write would be lost: no process opens the removed file again.
		return fmt.Errorf("%w: %s was removed or replaced while it was open; earlier data is in the removed file", store.ErrUnavailable, s.path)
	}
	x := &database.Tx{Ctx: ctx, Conn: c}
	x.Fail(s.newer(x.Number("PRAGMA user_version"))) // another process may have migrated the file in the meantime
	if x.Err() != nil {
		return x.Err()
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

package sqlite

import (
	"context"
	"errors"

	"github.com/tenonhq/tenon/host/store"
)

// maxReaders bounds the connections that read. More would only take memory: reading is bound by the CPU.
const maxReaders = 3

// readers is a pool of connections, opened when first needed and used last first, so that a process that
// reads one thing at a time has one.
type readers struct {
	path    string
	options string // of the URI, each behind an ampersand
	size    int    // of the pool
	idle    chan *conn
	spare   chan struct{} // a token for each connection not opened yet
	closed  chan struct{}
}

func newReaders(path string) readers {
	p := readers{
		path:   path,
		size:   maxReaders,
		idle:   make(chan *conn, maxReaders),
		spare:  make(chan struct{}, maxReaders),
		closed: make(chan struct{}),
	}
	for range maxReaders {
		p.spare <- struct{}{}
	}
	return p
}

// read calls f with a connection whose reads all see one state of the database.
func (s *Store) read(ctx context.Context, f func(*conn) error) error {
	c, err := s.readers.take(ctx)
	if err != nil {
		return s.explain(err)
	}
	defer s.readers.give(c)
	if _, err := c.exec(ctx, "BEGIN"); err != nil {
		return s.explain(err)
	}
	err = f(c)
	_, end := c.exec(ctx, "COMMIT")
	// Damage that f came upon is told once more, though the transaction has ended; and so is the failure of a read.
	if err == nil && !corrupt(end) {
		err = end
	}
	return s.explain(err)
}

func (p *readers) take(ctx context.Context) (*conn, error) {
	select {
	case <-p.closed:
		return nil, store.ErrClosed
	default:
	}
	select {
	case c := <-p.idle:
		return c, nil
	default:
	}
	select {
	case c := <-p.idle:
		return c, nil
	case <-p.spare:
	case <-p.closed:
		return nil, store.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c, err := p.connect(ctx)
	if err != nil {
		p.spare <- struct{}{}
		return nil, err
	}
	return c, nil
}

func (p *readers) connect(ctx context.Context) (*conn, error) {
	c, err := connectTo(ctx, dsn(p.path)+p.options)
	if err != nil {
		return nil, err
	}
	if err := c.script(ctx, "PRAGMA query_only=1"); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// alone makes c the only connection of the pool.
func (p *readers) alone(c *conn) {
	for range maxReaders {
		<-p.spare
	}
	p.size = 1
	p.idle <- c
}

func (p *readers) give(c *conn) { p.idle <- c }

// close waits for the reads under way.
func (p *readers) close() error {
	close(p.closed)
	var errs []error
	for range p.size {
		select {
		case c := <-p.idle:
			errs = append(errs, c.close())
		case <-p.spare:
		}
	}
	return errors.Join(errs...)
}

package database

import (
	"context"
	"errors"

	"github.com/tenonhq/tenon/host/store"
)

// maxReaders is the maximum number of connections. More would only take memory, because reading is limited by the CPU.
const maxReaders = 3

// Pool holds read-only connections. It opens one only if no other is idle, so that a process without concurrent reads has one.
type Pool struct {
	uri    string
	size   int
	idle   chan *Conn
	spare  chan struct{} // a token for each connection that is not open
	closed chan struct{}
}

// NewPool returns a pool without open connections.
func NewPool(uri string) *Pool {
	p := &Pool{uri: uri, size: maxReaders, idle: make(chan *Conn, maxReaders), spare: make(chan struct{}, maxReaders), closed: make(chan struct{})}
	for range maxReaders {
		p.spare <- struct{}{}
	}
	return p
}

// NewPoolOf returns a pool with c as its only connection, which it owns.
func NewPoolOf(c *Conn) *Pool {
	p := &Pool{size: 1, idle: make(chan *Conn, 1), closed: make(chan struct{})}
	p.idle <- c
	return p
}

// Read calls f with a transaction whose reads all see the same state of the database. Errors: store.ErrClosed.
func (p *Pool) Read(ctx context.Context, f func(*Tx)) error {
	c, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer func() { p.idle <- c }()
	x := &Tx{Ctx: ctx, Conn: c}
	if x.Exec("BEGIN"); x.err != nil {
		return x.err
	}
	f(x)
	_, end := c.Exec(ctx, "COMMIT")
	// COMMIT fails again with the error of a read, such as damage that f handled. The transaction has ended anyway.
	if !Corrupt(end) {
		x.Fail(end)
	}
	return x.err
}

// take prefers an idle connection. There is none after Close.
func (p *Pool) take(ctx context.Context) (*Conn, error) {
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
	c, err := ConnectToRead(ctx, p.uri)
	if err != nil {
		p.spare <- struct{}{}
		return nil, err
	}
	return c, nil
}

// ConnectToRead is Connect for a read-only connection.
func ConnectToRead(ctx context.Context, uri string) (*Conn, error) {
	c, err := Connect(ctx, uri)
	if err != nil {
		return nil, err
	}
	if err := c.Script(ctx, "PRAGMA query_only=1"); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close waits for running reads. Later ones fail.
func (p *Pool) Close() error {
	close(p.closed)
	var errs []error
	for range p.size {
		select {
		case c := <-p.idle:
			errs = append(errs, c.Close())
		case <-p.spare:
		}
	}
	return errors.Join(errs...)
}

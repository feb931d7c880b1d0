package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
)

// conn is one connection and its prepared statements, for one goroutine at a time. It uses the driver
// without database/sql, whose pool and background goroutine cost more than the statements do.
//
// Contexts only carry values here: a statement is short, and one that was interrupted in the middle of a
// transaction would take its neighbours with it.
type conn struct {
	raw   driver.Conn
	stmts map[string]stmt
	args  []driver.NamedValue // reused by every call
}

type stmt interface {
	driver.StmtExecContext
	driver.StmtQueryContext
	io.Closer
}

// lockWait is how long a statement waits for a single lock of another process.
const lockWait = 10 * time.Second

// connect opens the database file, which is made if it is not there. Its statements wait that long for the locks of others.
func connect(ctx context.Context, path string) (*conn, error) { return connectTo(ctx, dsn(path)) }

// connectTo is connect with a URI.
func connectTo(ctx context.Context, uri string) (*conn, error) {
	raw, err := new(sqlite.Driver).Open(uri)
	if err != nil {
		return nil, err
	}
	c := &conn{raw: raw, stmts: map[string]stmt{}}
	if err := c.script(ctx, fmt.Sprintf("PRAGMA busy_timeout=%d; PRAGMA synchronous=FULL", lockWait.Milliseconds())); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// dsn returns the path as a URI: in any other form the driver would take a question mark in the name of
// a folder for the start of its options.
func dsn(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/...
	}
	return "file://" + (&url.URL{Path: path}).EscapedPath() + "?_error_rc=1"
}

// script runs several statements that take no arguments.
func (c *conn) script(ctx context.Context, sql string) error {
	_, err := c.raw.(driver.ExecerContext).ExecContext(context.WithoutCancel(ctx), sql, nil)
	return err
}

// exec runs a statement and returns how many rows it changed. Arguments are int64, string, []byte or nil.
func (c *conn) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	s, err := c.prepare(ctx, sql)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(context.WithoutCancel(ctx), c.named(args))
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// execAll runs several statements with the same arguments.
func (c *conn) execAll(ctx context.Context, statements []string, args ...any) error {
	for _, sql := range statements {
		if _, err := c.exec(ctx, sql, args...); err != nil {
			return err
		}
	}
	return nil
}

// row is one row of a result, valid until the next.
type row []driver.Value

func (r row) int(i int) int64   { n, _ := r[i].(int64); return n }
func (r row) text(i int) string { s, _ := r[i].(string); return s }

// bytes returns a column that was cast to a blob; the caller owns the result.
func (r row) bytes(i int) []byte { b, _ := r[i].([]byte); return b }

// query calls f for each row of the result, until f fails or ctx ends.
func (c *conn) query(ctx context.Context, sql string, f func(row) error, args ...any) error {
	s, err := c.prepare(ctx, sql)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.WithoutCancel(ctx), c.named(args))
	if err != nil {
		return err
	}
	r := make(row, len(rows.Columns()))
	for {
		if err = ctx.Err(); err == nil {
			err = rows.Next(r)
		}
		if err == nil {
			err = f(r)
		}
		if err == io.EOF {
			return rows.Close()
		}
		if err != nil {
			return errors.Join(err, rows.Close())
		}
	}
}

// first calls f for the first row, if there is one. The result must not have more.
func (c *conn) first(ctx context.Context, sql string, f func(row), args ...any) (found bool, err error) {
	err = c.query(ctx, sql, func(r row) error {
		found = true
		f(r)
		return nil
	}, args...)
	return found, err
}

// number returns the only column of the only row, or zero.
func (c *conn) number(ctx context.Context, sql string, args ...any) (n int64, err error) {
	_, err = c.first(ctx, sql, func(r row) { n = r.int(0) }, args...)
	return n, err
}

// numberOr is number with another query for when pages that the first one needs are damaged.
func (c *conn) numberOr(ctx context.Context, sql, other string, args ...any) (int64, error) {
	n, err := c.number(ctx, sql, args...)
	if corrupt(err) {
		n, err = c.number(ctx, other, args...)
	}
	return n, err
}

func (c *conn) prepare(ctx context.Context, sql string) (stmt, error) {
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	prepared, err := c.raw.(driver.ConnPrepareContext).PrepareContext(context.WithoutCancel(ctx), sql)
	if err != nil {
		return nil, err
	}
	s := prepared.(stmt)
	c.stmts[sql] = s
	return s, nil
}

func (c *conn) named(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

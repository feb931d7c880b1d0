// Package database runs SQL statements on one SQLite file. It has connections for one goroutine each, transactions that remember their first
// error, and a pool for readers. Only this package and the errors of host/store/sqlite use the driver.
package database

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
	lib "modernc.org/sqlite/lib"
)

// Conn is a connection with its prepared statements, for one goroutine at a time. It uses the driver without database/sql, whose
// pool and background goroutine cost more than the statements do.
//
// Contexts do not interrupt statements: they are short, and an interrupt would fail the other changes of the transaction. Arguments are int64,
// string, []byte or nil.
type Conn struct {
	raw   driver.Conn
	stmts map[string]stmt
	args  []driver.NamedValue // reused by every call
}

type stmt interface {
	driver.StmtExecContext
	driver.StmtQueryContext
	io.Closer
}

// lockWait is the maximum time for which a statement waits for a lock of another process.
const lockWait = 10 * time.Second

// Memory is the URI of an empty database in memory.
const Memory = "file::memory:?_error_rc=1"

// URI returns the path of a file as a URI, to which options can be added after an ampersand. In any other form, the driver would take a question
// mark in the path for the start of its options.
func URI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/...
	}
	return "file://" + (&url.URL{Path: path}).EscapedPath() + "?_error_rc=1"
}

// Connect opens the database, and creates a missing file.
func Connect(ctx context.Context, uri string) (*Conn, error) {
	raw, err := new(sqlite.Driver).Open(uri)
	if err != nil {
		return nil, err
	}
	c := &Conn{raw: raw, stmts: map[string]stmt{}}
	if err := c.Script(ctx, fmt.Sprintf("PRAGMA busy_timeout=%d; PRAGMA synchronous=FULL", lockWait.Milliseconds())); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Script runs several statements without arguments.
func (c *Conn) Script(ctx context.Context, sql string) error {
	_, err := c.raw.(driver.ExecerContext).ExecContext(context.WithoutCancel(ctx), sql, nil)
	return err
}

// Exec runs a statement and returns the number of changed rows.
func (c *Conn) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
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

// Row is a row of a result, valid until the next one. A column of another type reads as zero.
type Row []driver.Value

// Int returns an integer column.
func (r Row) Int(i int) int64 { n, _ := r[i].(int64); return n }

// Text returns a text column.
func (r Row) Text(i int) string { s, _ := r[i].(string); return s }

// Bytes returns a column that was cast to a blob; the caller owns the result.
func (r Row) Bytes(i int) []byte { b, _ := r[i].([]byte); return b }

// Query calls f for each row of the result, until f fails or ctx ends.
func (c *Conn) Query(ctx context.Context, sql string, f func(Row) error, args ...any) error {
	s, err := c.prepare(ctx, sql)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.WithoutCancel(ctx), c.named(args))
	if err != nil {
		return err
	}
	r := make(Row, len(rows.Columns()))
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

func (c *Conn) prepare(ctx context.Context, sql string) (stmt, error) {
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

func (c *Conn) named(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// Close ends the connection.
func (c *Conn) Close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// Code returns the extended result code of an error of SQLite, or zero. See https://www.sqlite.org/rescode.html
func Code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// Busy reports whether another connection has the lock.
func Busy(err error) bool { return Code(err)&0xff == lib.SQLITE_BUSY }

// Corrupt reports whether SQLite found its own structures damaged.
func Corrupt(err error) bool { return Code(err)&0xff == lib.SQLITE_CORRUPT }

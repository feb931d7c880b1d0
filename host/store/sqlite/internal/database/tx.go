package database

import (
	"cmp"
	"context"
	"fmt"
)

// Tx runs the statements of one transaction. After the first error, its methods do nothing and return zero values, so callers check Err only
// before they act on a result. A Tx neither begins nor commits the transaction.
type Tx struct {
	Ctx  context.Context
	Conn *Conn
	// Written is the number of bytes in arguments of Exec so far.
	Written int

	err error
}

// Err returns the first error.
func (x *Tx) Err() error { return x.err }

// Fail sets the error if it is the first; nil is ignored.
func (x *Tx) Fail(err error) {
	x.err = cmp.Or(x.err, err)
}

// Annotate adds a prefix to the error, if any.
func (x *Tx) Annotate(format string, args ...any) {
	if x.err != nil {
		x.err = fmt.Errorf(format+": %w", append(args, x.err)...)
	}
}

// Exec runs a statement and returns the number of changed rows.
func (x *Tx) Exec(sql string, args ...any) (n int64) {
	for _, a := range args {
		switch a := a.(type) {
		case string:
			x.Written += len(a)
		case []byte:
			x.Written += len(a)
		}
	}
	if x.err == nil {
		n, x.err = x.Conn.Exec(x.Ctx, sql, args...)
	}
	return n
}

// ExecAll runs several statements with the same arguments.
func (x *Tx) ExecAll(statements []string, args ...any) {
	for _, sql := range statements {
		x.Exec(sql, args...)
	}
}

// Each calls f for each row of the result. f must not use the connection.
func (x *Tx) Each(sql string, f func(Row), args ...any) {
	if x.err == nil {
		x.err = x.Conn.Query(x.Ctx, sql, func(r Row) error { f(r); return nil }, args...)
	}
}

// First calls f for the only row, and reports whether the result has one.
func (x *Tx) First(sql string, f func(Row), args ...any) (found bool) {
	if x.err == nil {
		found, x.err = x.Conn.First(x.Ctx, sql, f, args...)
	}
	return found
}

// Number returns the only column of the only row, or zero.
func (x *Tx) Number(sql string, args ...any) (n int64) {
	if x.err == nil {
		n, x.err = x.Conn.Number(x.Ctx, sql, args...)
	}
	return n
}

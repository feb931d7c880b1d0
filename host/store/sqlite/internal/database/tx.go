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

// Each calls f for each row of the result, until the transaction fails. f must not use the connection.
func (x *Tx) Each(sql string, f func(Row), args ...any) {
	if x.err == nil {
		x.err = x.Conn.Query(x.Ctx, sql, func(r Row) error { f(r); return x.err }, args...)
	}
}

// All returns the results of f for the rows, as far as they can be read.
func All[T any](x *Tx, sql string, f func(Row) T, args ...any) (out []T) {
	x.Each(sql, func(r Row) { out = append(out, f(r)) }, args...)
	return out
}

// First calls f for the only row, and reports whether the result has one.
func (x *Tx) First(sql string, f func(Row), args ...any) (found bool) {
	x.Each(sql, func(r Row) { found = true; f(r) }, args...)
	return found && x.err == nil
}

// Number returns the only column of the only row, or zero.
func (x *Tx) Number(sql string, args ...any) (n int64) {
	x.First(sql, func(r Row) { n = r.Int(0) }, args...)
	return n
}

// Bytes returns the only column of the only row, which is cast to a blob, and reports whether the result has a row.
func (x *Tx) Bytes(sql string, args ...any) (data []byte, found bool) {
	found = x.First(sql, func(r Row) { data = r.Bytes(0) }, args...)
	return data, found
}

// Damaged reports whether a statement found SQLite's own structures damaged. The transaction then continues, which only a reader may do.
func (x *Tx) Damaged() bool {
	damaged := Corrupt(x.err)
	if damaged {
		x.err = nil
	}
	return damaged
}

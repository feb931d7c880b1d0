// Package jsontext reads and writes JSON as text: one pass over the bytes, without Go types. Package value decodes Go values with it, and
// keeps the fields that a type does not declare as text.
//
// It imports the standard library only: it is part of every plugin.
package jsontext

// Package sqlite keeps sessions in one SQLite file. It is the store tenon ships, and the only package
// that knows the SQLite driver, the file lock and the compressor.
//
// # The picture
//
//	Append, Create, Claim, Submit, Delete ─► queue ─► writer goroutine ─► one connection, one transaction
//	                                                  (writer.go)          for all that waits (group commit)
//	Session, Sessions, Messages, Changes  ─────────► readers (reader.go), at most three connections,
//	                                                  opened when first needed
//
// A write returns when its transaction is on the disk (WAL, synchronous=FULL). Values are encoded before
// they are queued, so a caller may change them as soon as the call returns.
//
// # Keys
//
// Rows of one session lie side by side and in order, because their keys are made of the numbers of what
// holds them (key.go): reading a session is a few range scans, without joins and without sorting.
//
// # Ownership
//
// An open Store is a node. While it owns sessions it holds an operating system lock on a file of its own
// (node.go), so the death of the process frees them at once, with no clock involved.
package sqlite

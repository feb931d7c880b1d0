// Package sqlite is tenon's session store: one SQLite file. Its internal packages run statements (database), track which process owns
// a session (node) and translate texts for the full-text index (words).
//
// # The picture
//
//	Append, Create, Claim, Import, … ─► queue ─► writer goroutine ─► one connection, one transaction
//	                                                  (writer.go)          for all that waits (group commit)
//	Session, Messages, Search, … ─────────► readers (database.Pool), at most three connections,
//	                                                  opened when first needed
//
// A write returns when its transaction is on the disk (WAL, synchronous=FULL). Values are encoded before
// they are queued, so a caller may change them as soon as the call returns.
//
// # Large changes
//
// One process at a time can write to a SQLite file. An import, a deletion or a collection of garbage may have to write for
// seconds; it does so in many short transactions, to rows that no reader finds, with the lock free in between (hidden.go). A single
// short transaction makes the change visible.
//
// # Writing
//
// A job gets a database.Tx, which does nothing after its first error: changes (ops.go) read like a list of statements, and the writer
// looks at the error once. The schema is a list of steps (schema/*.sql, schema.go).
//
// # Keys
//
// Rows of one session lie side by side and in order, because their keys are made of the numbers of what
// holds them (key.go): reading a session is a few range scans, without joins and without sorting.
//
// # Searching
//
// Titles and texts go into a full-text index in the transaction that stores them (index.go), a text once it is whole.
// Keys of the index are keys of parts, so a search leaps from session to session (search.go).
//
// # Damage
//
// A row that cannot be decoded, or that a damaged page hides, is left out and named (messages.go, salvage.go): a scan that
// fails is followed by reading each row that an index knows. Check looks for all damage (check.go), Repair sets rows aside
// (repair.go), and Rebuild replaces a file whose structure is damaged (rebuild.go). A place that cannot be written can be
// read (readonly.go).
//
// # Ownership
//
// An open Store is a node. While it owns sessions it holds an operating system lock on its own file, so the death of the process
// frees them immediately, without a clock.
package sqlite

// Package sqlite is tenon's session store: one SQLite file. Its internal packages run statements (database), track which process owns
// a session (node) and translate texts for the full-text index (words).
//
// # Overview
//
//	Append, Create, Claim, Import, … ─► queue ─► writer goroutine ─► one connection, one transaction
//	                                                  (writer.go)          for all waiting jobs (group commit)
//	Session, Messages, Search, … ─────────► readers (database.Pool), at most three connections,
//	                                                  opened when first needed
//
// A write returns once its transaction is on the disk (WAL, synchronous=FULL). Values are encoded before they are queued, so callers may
// change them afterwards.
//
// # Large changes
//
// Only one process at a time can write to a SQLite file. An import, a deletion or a garbage collection may write for seconds. It uses many
// short transactions, on rows that no reader finds, and leaves the lock free in between (hidden.go). A single short transaction makes the
// change visible.
//
// # Writing
//
// A job receives a database.Tx, which does nothing after its first error. So changes (ops.go) read like a list of statements, and only the
// writer checks the error. The schema is a list of steps (schema/*.sql, schema.go).
//
// # Keys
//
// The rows of a session are adjacent and in order, because a key is composed of the numbers of the session, the message and the part
// (key.go). Reading a session takes a few range scans, without joins or sorting.
//
// # Searching
//
// The transaction that stores a title or a complete text also adds it to a full-text index (index.go). Keys of the index are keys of parts, so
// a search can jump from session to session (search.go).
//
// # Damage
//
// Rows that cannot be decoded or are on a damaged page are omitted and reported (messages.go, salvage.go). If a scan fails, each row that an
// index lists is read individually. Check finds all damage (check.go), Repair removes damaged rows (repair.go), and Rebuild replaces a file
// with a damaged structure (rebuild.go). A database that cannot be written can be read (readonly.go).
//
// # Ownership
//
// An open Store is a node. While it owns sessions, it holds an operating system lock on its own file, so the death of the process releases
// them immediately, without a timeout.
package sqlite

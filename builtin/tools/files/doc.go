// Package files is the built-in plugin "files": the tools read, list, write, edit and apply_patch.
//
// # Rules for changes
//
// The model must have seen the content it changes: an existing file can be changed only if its current
// content was read or written in the same session (history). Only one call at a time uses a file (locks).
// A change is computed in memory and then put in place with a rename, so that no file is ever half
// written (atomic.go); byte order mark, line endings and mode are preserved (document).
//
//	edit, write ─► plan: load ─► history.check ─► match ─► change ─► diff ─► permission
//	            ─► lock ─► plan again ─► writeAtomic ─► history.note
//	apply_patch ─► parsePatch ─► plan: every hunk of every file in memory ─► the same
package files

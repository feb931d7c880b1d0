// Package files is the built-in plugin "files": the tools read, list, write, edit and apply_patch.
//
// # The rules of changing a file
//
// The model must have seen what it changes: a file that exists can be changed only when its current
// content was read, or written, in the same session (history). One call at a time works on a file (locks).
// A change is computed in memory first and then put in place with a rename, so that a file is never half
// written (atomic.go); byte order mark, line endings and mode stay as they were (document).
//
// # The picture
//
//	edit, write ─► plan: load ─► history.check ─► match ─► change ─► diff ─► permission
//	            ─► lock ─► plan again ─► writeAtomic ─► history.note
//	apply_patch ─► parsePatch ─► plan: every hunk of every file in memory ─► the same, all files or none
package files

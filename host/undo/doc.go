// Package undo records the file changes of a session's tool calls, and reverts them.
//
//	tool call ─► Session.Begin (tracking.go): files before and after ─► a patch part of the step's message
//	Session.Revert, Unrevert (revert.go): patch parts (changes.go) ─► snapshot ─► files, all or none
//
// FinishReverts, or the session's next prompt (Drop), completes an interrupted revert.
package undo

// Package undo notes what the tool calls of a session do to files, and takes it back.
//
//	tool call ─► Session.Begin (tracking.go): how files are before and after ─► a patch part of the step's message
//	Session.Revert, Unrevert (revert.go, room.go): patch parts (changes.go) ─► snapshot ─► files, all or none
//
// A revert that was cut off is finished by FinishReverts or by the session's next prompt (Drop).
package undo

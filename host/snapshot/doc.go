// Package snapshot keeps states of a project's files, so that what a session did to them can be undone.
//
// The states are trees and blobs in a git directory of our own; git computes and stores them. Nothing in it refers to the
// user's repository, which is neither read (but for its list of ignored files) nor written: no hook, filter, attribute or setting of
// the user has a say, so every file is kept byte for byte.
//
//	Take   ──► Tree: all files that are not ignored and not too large, repositories inside of the project too
//	Record ──► Entry: one file, whatever it is and wherever; for tools that say what they write
//	Run    ──► files go from one Entry to another, all or none; a Journal survives a crash in the middle
package snapshot

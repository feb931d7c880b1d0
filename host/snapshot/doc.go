// Package snapshot keeps states of a project's files, so that the changes of a session can be reverted.
//
// The states are trees and blobs in tenon's own git directory. This package detects changed files itself, by their stamps (size, times,
// inode, permissions), as git does with its index; package gitignore decides which names are ignored. git packs many files together,
// returns contents and removes old ones. It knows neither the user's repository, of which only the lists of ignored files are read, nor the
// project's files. So no hook, filter, attribute or setting of the user has any effect, and every file is kept byte for byte.
//
//	Take   ──► Tree: all files that are not ignored and not too large, repositories inside of the project too
//	           (take.go; scan.go goes through the directories, ignored.go has the rules, contents.go stores, state.go remembers)
//	Record ──► Entry: one file, whatever it is and wherever; for tools that say what they write
//	Run    ──► files go from one Entry to another, all or none; what is Pending survives a crash in the middle
package snapshot

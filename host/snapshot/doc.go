// Package snapshot keeps states of a project's files, so that the changes of a session can be reverted.
//
// The states are trees and blobs in a git directory of our own. Which files changed we find out ourselves, by their stamps (size,
// times, inode, permissions), as git does with its index, and package gitignore says which names are ignored. git packs many files at once,
// returns contents and removes what is old. It knows neither the user's repository, of which only the lists of ignored files are read, nor
// the project's files: no hook, filter, attribute or setting of the user has a say, so every file is kept byte for byte.
//
//	Take   ──► Tree: all files that are not ignored and not too large, repositories inside of the project too
//	           (take.go; scan.go goes through the directories, ignored.go has the rules, contents.go stores, state.go remembers)
//	Record ──► Entry: one file, whatever it is and wherever; for tools that say what they write
//	Run    ──► files go from one Entry to another, all or none; what is Pending survives a crash in the middle
package snapshot

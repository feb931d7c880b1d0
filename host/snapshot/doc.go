// Package snapshot keeps states of a project's files, so that the changes of a session can be reverted.
//
// The states are trees and blobs in a git directory of our own. Which files changed we find out ourselves, by their stamps (size,
// times, inode, permissions), as git does with its index; git says which names are ignored, packs many files at once and removes what is
// old. Nothing of it refers to the user's repository, which is neither read (except its list of ignored files) nor written, and git
// is not asked to convert a file: no hook, filter, attribute or setting of the user has a say, so every file is kept byte for byte.
//
//	Take   ──► Tree: all files that are not ignored and not too large, repositories inside of the project too
//	           (take.go; scan.go goes through the directories, ignored.go asks git, contents.go stores, state.go remembers)
//	Record ──► Entry: one file, whatever it is and wherever; for tools that say what they write
//	Run    ──► files go from one Entry to another, all or none; what is Pending survives a crash in the middle
package snapshot

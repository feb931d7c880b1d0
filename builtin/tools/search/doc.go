// Package search is the built-in plugin "search": the tools glob, which finds files by name, and grep,
// which finds lines by regular expression. Both skip ignored files (see package ignore)
// and need no installed program.
//
//	glob ─► scope ─► ignore.Walk ─► newest 100 names
//	grep ─► scope ─► ignore.Walk ─► workers: scanner + matcher ─► first 100 lines, in path order
package search

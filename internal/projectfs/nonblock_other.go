//go:build !unix

package projectfs

// Nonblock is zero: opening a file never blocks here.
const Nonblock = 0

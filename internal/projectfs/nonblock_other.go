//go:build !unix

package projectfs

// Nonblock is zero: on this system, opening a file never blocks.
const Nonblock = 0

//go:build !unix

package projectfs

// Nonblock is empty: files here never wait in open.
const Nonblock = 0

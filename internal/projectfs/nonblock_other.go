//go:build !unix

package projectfs

// nonblock is empty: files here never wait in open.
const nonblock = 0

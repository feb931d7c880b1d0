//go:build !unix

package manifest

// nonblock is not needed: no file waits for another process to open it.
const nonblock = 0

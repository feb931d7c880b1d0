//go:build !unix

package paths

// openFlags is empty: files here never wait in open.
const openFlags = 0

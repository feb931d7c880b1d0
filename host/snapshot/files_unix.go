//go:build !windows

package snapshot

import "syscall"

// inPlace are flags for opening a file: a link or a pipe, which would wait for a writer, may have taken its place.
const inPlace = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

//go:build unix

package projectfs

import "syscall"

// Nonblock is the flag that keeps open from waiting for the other end of a named pipe.
const Nonblock = syscall.O_NONBLOCK

//go:build unix

package projectfs

import "syscall"

// nonblock keeps an open from waiting for the other end of a named pipe.
const nonblock = syscall.O_NONBLOCK

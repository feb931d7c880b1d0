//go:build unix

package paths

import "syscall"

// openFlags keep an open from waiting for the other end of a named pipe.
const openFlags = syscall.O_NONBLOCK

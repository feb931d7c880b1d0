//go:build unix

package manifest

import "syscall"

// nonblock keeps opening from waiting for the other end of a pipe.
const nonblock = syscall.O_NONBLOCK

//go:build unix

package trust

import "syscall"

// nonblock keeps opening from waiting for the other end of a pipe.
const nonblock = syscall.O_NONBLOCK

// executableSuffix ends the name of a program.
const executableSuffix = ""

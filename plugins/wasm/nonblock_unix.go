//go:build unix

package wasm

import "syscall"

// openNonblock lets opening a pipe return at once.
const openNonblock = syscall.O_NONBLOCK
